/* SPDX-License-Identifier: GPL-2.0-only */
/* Changes that this process has made to an instance, for who keeps a journal of them. As with
 * messages (message.h) there is one sink, which the program sets; without it nothing is reported,
 * nor is anything of simulations.
 */
#pragma once

#include <stdint.h>

#include "compile/member_table.h"
#include "kernel/instance/instance.h"
#include "policy/policy.h"
#include "rlctl_abi.h"

enum change_kind {
	CHANGE_ATTACHED, /* number: rules of its policy */
	CHANGE_DETACHED,
	CHANGE_POLICY,       /* from, to: the whole policies, or their rules of one prefix */
	CHANGE_TRIAL_UNDONE, /* number: 1 if the limiter itself was on trial */
	CHANGE_SET_ADD,      /* number: members that were added; name, members */
	CHANGE_SET_DEL,      /* the same; `became` of its members is 0 */
	CHANGE_SET_FULL,     /* number: members that were refused */
	CHANGE_FLEET_JOINED,
	CHANGE_FLEET_LOST,
};

/* Members that do not apply are zero. */
struct instance_change {
	enum change_kind kind;
	const char *path; /* of its pins, which may be gone by now */
	const char *device;
	enum rl_hook hook;
	uint64_t time_ns; /* CLOCK_REALTIME; 0: now */
	uint64_t number;
	const char *name; /* of the set or the fleet */
	const struct policy *from, *to;
	const struct policy_context *ctx; /* of their rules */
	const struct member_entry *members;
	size_t member_count;
};

/* Must not fail a command: whatever goes wrong in it is its own affair. NULL removes it. */
typedef void (*change_fn)(const struct instance_change *change);
void change_sink_set(change_fn sink);

void change_tell(const struct instance_change *change);
/* The same of an open instance that packets see, whose path, device and hook are filled in. */
void instance_change_tell(const struct instance *instance, struct instance_change change);
