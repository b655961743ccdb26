/* SPDX-License-Identifier: GPL-2.0-only */
/* Lists the instances that have pins, chooses those that a target names, and opens them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "kernel/instance/instance.h"
#include "kernel/instance/pins.h"
#include "rlctl_abi.h"

/* In order of device. */
struct places {
	struct pinned *items;
	size_t count;
	bool many; /* the target selects by a list, a pattern or `all` */
};

/* All that the target selects in this network namespace, attached or not. Reports. */
int places_list(const struct target *target, struct places *out);
/* One instance for each device that the target selects: at the target's hook, else at xdp, else at
 * the only one. If the target names one device or none, there is one place, whose program may no
 * longer be attached. Reports. */
int places_choose(const struct target *target, struct places *out);
void places_clear(struct places *places);

/* One of them, as a target like that which chose it. */
static inline struct target target_of(const struct target *like, const struct pinned *at)
{
	return (struct target){.bpffs = like->bpffs, .device = at->device, .hook = at->hook};
}

/* The hooks of target->device that have an attached instance of any version, as bits; if none has,
 * the hooks that have pins. Reports. */
int instance_hooks(const struct target *target, unsigned int *out);
/* The hook of a command that names none: xdp if it is one of the bits, else the only one; -1 if
 * there is none or more than one. */
int hook_meant(unsigned int hooks);

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
