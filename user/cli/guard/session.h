/* SPDX-License-Identifier: GPL-2.0-only */
/* An instance that a verb has opened, with rules read from it. */
#pragma once

#include "cli/cmd.h"
#include "kernel/instance/instance.h"
#include "policy/policy.h"

/* An open instance, rules read from it, and the context for parsing and printing rules. */
struct session {
	struct instance instance;
	struct policy policy;
	struct policy_context ctx;
};

enum session_use {
	SESSION_LOOK,   /* reads no rule */
	SESSION_READ,   /* with the whole policy */
	SESSION_SHARED, /* the same, and may change states without the writers' lock */
	SESSION_LOCK,   /* holds the writers' lock, and reads no rule */
	SESSION_WRITE,  /* the same, with the whole policy */
};

/* 0 or a negative errno; reports. */
int session_open(const struct target *target, enum session_use use, struct session *out);
void session_close(struct session *session);

/* Runs on the open instance that the command names, and closes it; or on each that it selects, by
 * targets_read() or targets_change(). */
typedef int (*session_fn)(const struct command *command, struct session *session, void *arg);
int session_run(const struct command *command, enum session_use use, session_fn run, void *arg);
int sessions_read(const struct command *command, enum session_use use, session_fn run, void *arg);
int sessions_change(const struct command *command, enum session_use use, session_fn run, void *arg);

struct guard;
/* The changes of sessions_change(), each with its guard, and again, in a session of its own, where
 * that asks and the user agrees. `once` returns 0, an error, or GUARD_ASKS. */
int guarded_changes(const struct command *command, struct guard *guard, enum session_use use,
		    session_fn once, void *arg);
/* One of them. */
int guarded_change(const struct command *command, struct guard *guard, bool only_warns,
		   targets_fn once, void *arg);

/* Appends without sorting. Exits if out of memory. */
void rules_append(struct policy *list, const struct rule *rule);
