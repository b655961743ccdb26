/* SPDX-License-Identifier: GPL-2.0-only */
/* The table of what this machine asks (bpf/proof/asked.h): one for all instances of a network
 * namespace.
 */
#pragma once

#include <stdbool.h>

#include "kernel/instance/instance.h"

/* Gives the instance that of the others, else a new one, unless it has one. Call with the writers'
 * lock. */
int asked_make(const struct instance *instance);

/* Has the instance pinned at path the table, and its device is here? */
bool asked_is_there(const char *path, const char *device);
