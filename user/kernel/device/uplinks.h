/* SPDX-License-Identifier: GPL-2.0-only */
/* The devices that lead to other networks, and whether one of them is without an instance that
 * notes who asked whom (bpf/proof/asked.h). */
#pragma once

#include <net/if.h>
#include <stdbool.h>

#include "kernel/instance/instance.h"

/* Beside the device of the instance, an uplink itself, there is one by which clients may come
 * unseen: no instance on it, or below it, asks whether UDP is established. Its name. Silent. */
bool uplink_unseen(const struct instance *instance, char out[IF_NAMESIZE]);
