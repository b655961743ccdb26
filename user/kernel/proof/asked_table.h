/* SPDX-License-Identifier: GPL-2.0-only */
/* The table of what this machine asks (bpf/proof/asked.h): one for all instances of a network
 * namespace.
 */
#pragma once

#include <net/if.h>
#include <stdbool.h>

#include "kernel/instance/instance.h"

/* Gives the instance that of the others, else a new one, unless it has one. Call with the writers'
 * lock. */
int asked_make(const struct instance *instance);

/* ---- uplinks: the devices that lead to other networks */

/* Beside the device of the instance, an uplink itself, there is one by which clients may come
 * unseen: no instance on it, or below it, asks whether UDP is established. Its name. Silent. */
bool uplink_unseen(const struct instance *instance, char out[IF_NAMESIZE]);
