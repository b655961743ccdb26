/* SPDX-License-Identifier: GPL-2.0-only */
/* Finds the hooks of a device that have an instance, and removes stale pins. */
#pragma once

#include <stdbool.h>

#include "kernel/instance/instance.h"
#include "rlctl_abi.h"

/* The hooks of target->device that have an attached instance of any version, as bits; if none has,
 * the hooks that have pins. */
int instance_hooks(const struct target *target, unsigned int *out);

/* Restores the qdiscs of an instance whose program is detached, then removes its pins, with their
 * lock held. Silent. */
int instance_clean(const char *root, const char *path, const char *device);

/* Are there pins, and is their program attached? True if that cannot be determined. */
bool instance_is_attached(const char *root, const char *device, enum rl_hook hook);

/* The hook of a command that names none: xdp if it is one of the bits, else the only one; -1 if
 * there is none or more than one. */
int hook_meant(unsigned int hooks);

/* The hook that the target names, else hook_meant() of those with an attached instance; if none is
 * attached, any hook with pins. Reports. */
int hook_choose(const char *root, const struct target *target, enum rl_hook *out);

/* Removes the pins of detached instances at all hooks of the device but one. Call with no lock
 * held, as an attach or a detach may be in progress. Silent. */
void hooks_clear(const char *root, const char *device, enum rl_hook except);
