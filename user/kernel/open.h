/* SPDX-License-Identifier: GPL-2.0-only */
/* Which instances there are, and opening the one that is meant. */
#ifndef RLCTL_OPEN_H
#define RLCTL_OPEN_H

#include <stdbool.h>

#include "instance.h"
#include "rlctl_abi.h"

/* Opens the one instance that the target names (the only one there is where it names none), to
 * read. With `write` also to write, and it holds the writers' lock until instance_close. */
int instance_open(const struct target *target, bool write, struct instance *out);
/* To write what needs no lock: places of watchers, states. */
int instance_open_shared(const struct target *target, struct instance *out);

/* Calls `visit` for every living instance of this network namespace that the target allows, in
 * order of name, until it returns non-zero, which is then returned. None: 0, nothing called. One
 * that could not be opened is reported, and the error returned when all others were visited. */
int instance_for_each(const struct target *target,
		      int (*visit)(struct instance *instance, void *arg), void *arg);

/* What is done with an instance: USE_WRITE alone takes the writers' lock. */
enum use { USE_READ, USE_SHARED, USE_WRITE };

/* The same, as instance_open does it, of one that lives. Silent: -ENOENT, -ESTALE where its program
 * is gone, -EPROTO where it is of another version; what report_closed says. */
int instance_open_at(const char *path, const char *device, enum rl_hook hook, enum use use,
		     struct instance *out);

#endif
