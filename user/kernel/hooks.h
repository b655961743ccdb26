/* SPDX-License-Identifier: GPL-2.0-only */
/* Which hooks of a device have an instance. */
#ifndef RLCTL_HOOKS_H
#define RLCTL_HOOKS_H

#include <stdbool.h>

#include "instance.h"
#include "rlctl_abi.h"

/* Which hooks of target->device have an instance, of whatever version, that lives; where none does,
 * which have what is left of one. Bits. */
int instance_hooks(const struct target *target, unsigned int *out);

/* Takes the qdiscs of an instance without a program off the device and then clears its pins, whose
 * lock is held. Silent. */
int instance_leave(const char *root, const char *path, const char *device);

/* Are there pins, and is their program on the device, as far as can be told? */
bool instance_lives(const char *root, const char *device, enum rl_hook hook);

/* The hook that is named, or the only one that lives; where none does, any that has pins. Reports.
 */
int hook_choose(const char *root, const struct target *target, enum rl_hook *out);

/* Clears pins at the device's hooks, but for one, whose program is gone. With no lock held, for an
 * attach or a detach may be under way there. Silent. */
void hooks_clear(const char *root, const char *device, enum rl_hook except);

#endif
