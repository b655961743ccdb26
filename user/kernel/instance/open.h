/* SPDX-License-Identifier: GPL-2.0-only */
/* Lists instances and opens the one that a target names. */
#pragma once

#include <stdbool.h>

#include "kernel/instance/instance.h"
#include "rlctl_abi.h"

/* Opens the instance that the target names for reading: at its hook, else at xdp, else at the only
 * one; of the only device if it names none. With `write`, opens it for writing and holds the
 * writers' lock until instance_close. Reports. */
int instance_open(const struct target *target, bool write, struct instance *out);
/* Opens it for writes that need no lock: watchers, states. Reports. */
int instance_open_shared(const struct target *target, struct instance *out);

/* Like instance_open, with the maps that sets.h needs and no others. */
int instance_open_sets(const struct target *target, bool write, struct instance *out);

/* Calls `visit` for every attached instance of this network namespace that the target matches, in
 * order of name, until it returns non-zero, and returns that. No instance: 0, but a part of a list
 * or a pattern that matches none is reported. An instance that cannot be opened is reported, and
 * its error is returned after all others were visited. */
int instance_for_each(const struct target *target,
		      int (*visit)(struct instance *instance, void *arg), void *arg);

/* USE_WRITE takes the writers' lock; USE_SHARED does not. */
enum use { USE_READ, USE_SHARED, USE_WRITE };

/* Opens the attached instance at path. Silent: -ENOENT, -ESTALE if its program is detached, -EPROTO
 * for another version; pass the error to report_open_error. */
int instance_open_at(const char *path, const char *device, enum rl_hook hook, enum use use,
		     struct instance *out);
