/* SPDX-License-Identifier: GPL-2.0-only */
/* The guard against lockout: whether a policy would cut off the SSH session that applies it. */
#ifndef RLCTL_GUARD_H
#define RLCTL_GUARD_H

#include "decide.h"
#include "policy.h"

#define GUARD_PACKETS 10   /* per second: with less, a session is unusable */
#define GUARD_BYTES   1280 /* per second: the same in small packets */

/* The effect of a policy on a session. */
struct verdict {
	enum { SESSION_SAFE, SESSION_SLOW, SESSION_DENIED } danger;
	uint64_t packets_a_day; /* SESSION_SLOW */
	struct rule rule;       /* the rule that causes it */
};

/* Pure. 0 or -ENOMEM. */
int verdict_find(const struct policy *policy, bool by_dest, const struct flow *session,
		 struct verdict *out);
bool verdict_worse(const struct verdict *next, const struct verdict *current);

/* The guard of one command. */
struct guard {
	bool wanted; /* there is an SSH session */
	struct flow session;
	bool agreed;     /* the user has confirmed */
	bool only_warns; /* --yes, or --try, which undoes the policy by itself */
	char question[RULE_TEXT_MAX + 256];
	char remedy[RULE_TEXT_MAX + 256];
};

void guard_start(struct guard *guard, bool only_warns);

/* Whether the guard applies to an instance of this context; `addr` is the (mapped) lookup address
 * of the session's packets: guard_pass looks only at rules of prefixes that contain it, of `any`
 * and of `device`. */
bool guard_address(const struct guard *guard, const struct policy_context *ctx, uint8_t addr[16]);

/* Whether `next` may replace `current` (NULL: none). 0, or GUARD_ASKS: release all locks, call
 * guard_ask(), and if it returns 0 start over. */
#define GUARD_ASKS 1
int guard_pass(struct guard *guard, const struct policy *current, const struct policy *next,
	       const struct policy_context *ctx);
int guard_ask(struct guard *guard);

/* Whether a policy without rules, of the file `name`, may replace one of `rules` rules. 0 or
 * GUARD_ASKS. */
int guard_empty(struct guard *guard, size_t rules, const char *name);

#endif
