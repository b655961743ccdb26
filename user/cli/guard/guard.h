/* SPDX-License-Identifier: GPL-2.0-only */
/* The guard against lockout: whether a policy would cut off an SSH session of this machine. */
#pragma once

#include "cli/guard/ssh_sessions.h"
#include "cli/policy/verdict.h"
#include "policy/packets/level.h"
#include "policy/policy.h"

/* The guard of one command. */
struct guard {
	struct ssh_sessions sessions;
	bool agreed;     /* the user has confirmed */
	bool only_warns; /* --yes, or --try, which undoes the policy by itself */
	struct flow cut; /* the session that GUARD_ASKS is about, as the instance sees it */
	char question[RULE_TEXT_MAX + 256];
	char remedy[RULE_TEXT_MAX + 256];
};

void guard_start(struct guard *guard, bool only_warns);
/* The same, for a command that is to be quick: it guards only the session it is called from. */
void guard_start_own(struct guard *guard, bool only_warns);
void guard_clear(struct guard *guard);

/* False: guard_pass has nothing to look at. */
bool guard_wanted(const struct guard *guard);

/* A change of the rules of an instance. */
struct guarded {
	int ifindex;
	const struct policy_context *ctx;
	/* Points *before and *after to the rules that may decide for the (mapped) lookup address:
	 * those of prefixes that contain it, of `any` and of `device`; others do no harm. They are
	 * valid until the next call. 0 or an error. */
	int (*rules)(void *arg, const uint8_t addr[16], const struct policy **before,
		     const struct policy **after);
	void *arg;
	const struct set_members *members; /* before and after; NULL: nothing is known */
	const struct set_members *then; /* after, where the change is one of members; else NULL */
};

/* Whether the change may be made. 0, an error, or GUARD_ASKS: release all locks, call guard_ask(),
 * and if it returns 0 start over. */
#define GUARD_ASKS 1
int guard_pass(struct guard *guard, const struct guarded *change);
int guard_ask(struct guard *guard);

/* The same for whole policies at hand; `before` may be NULL: none. members: those that its sets
 * have now; a set that is new is empty, unless it has a file. */
int guard_policies(struct guard *guard, int ifindex, const struct policy_context *ctx,
		   const struct policy *before, const struct policy *after,
		   const struct set_members *members);

/* Whether a policy without rules, of the file `name`, may replace one of `rules` rules. 0 or
 * GUARD_ASKS. */
int guard_empty(struct guard *guard, size_t rules, const char *name);
