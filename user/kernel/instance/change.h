/* SPDX-License-Identifier: GPL-2.0-only */
/* Changes that this process has made to an instance, for who keeps a journal of them. As with
 * messages (message.h) there is one sink, which the program sets; without it nothing is told.
 * Simulations are not told of. */
#pragma once

#include <stdint.h>

#include "kernel/instance/instance.h"
#include "rlctl_abi.h"

enum change_kind {
	CHANGE_ATTACHED,
	CHANGE_DETACHED,
	CHANGE_POLICY, /* number: rules of the policy in force */
	CHANGE_RULES,  /* of one prefix: number: those that it has now */
	CHANGE_TRIAL_UNDONE,
	CHANGE_SET_FULL, /* number: members that were refused */
	CHANGE_FLEET_JOINED,
	CHANGE_FLEET_LOST,
};

struct instance_change {
	enum change_kind kind;
	const char *path; /* of its pins, which may be gone by now */
	const char *device;
	enum rl_hook hook;
	uint64_t time_ns; /* CLOCK_REALTIME; 0: now */
	uint64_t number;
	const char *name; /* of the set or the fleet; NULL: none */
};

/* Must not fail a command: whatever goes wrong in it is its own affair. NULL removes it. */
typedef void (*change_fn)(const struct instance_change *change);
void change_sink_set(change_fn sink);

void change_tell(const struct instance_change *change);
/* The same of an open instance that packets see. */
void instance_change_tell(const struct instance *instance, enum change_kind kind, uint64_t number,
			  const char *name);
