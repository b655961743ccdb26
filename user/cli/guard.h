/* SPDX-License-Identifier: GPL-2.0-only */
/* The guard against locking oneself out: would a policy cut the SSH session it is applied from? */
#ifndef RLCTL_GUARD_H
#define RLCTL_GUARD_H

#include "decide.h"
#include "policy.h"

#define GUARD_PACKETS 10   /* a second: a session that gets less is as good as cut */
#define GUARD_BYTES   1280 /* a second: the same in small packets */

/* What a policy does to a session, worst first when compared. */
struct verdict {
	enum { SESSION_SAFE, SESSION_SLOW, SESSION_DENIED } danger;
	uint64_t packets_a_day; /* SESSION_SLOW */
	struct rule rule;       /* that does it */
};

/* Pure. 0 or -ENOMEM. */
int verdict_find(const struct policy *policy, bool by_dest, const struct flow *session,
		 struct verdict *out);
bool verdict_worse(const struct verdict *next, const struct verdict *current);

/* For one command. */
struct guard {
	bool wanted; /* there is a session to be guarded */
	struct flow session;
	bool agreed;     /* asked and answered */
	bool only_warns; /* --yes, or --try, which takes the policy back by itself */
	char question[RULE_TEXT_MAX + 256];
	char remedy[RULE_TEXT_MAX + 256];
};

void guard_start(struct guard *guard, bool only_warns);

/* Whether the guard has a say for an instance of this context, and the address (mapped) that the
 * session's packets meet rules by: only rules of prefixes around it, of `any` and of `device`
 * matter to guard_pass. */
bool guard_address(const struct guard *guard, const struct policy_context *ctx, uint8_t addr[16]);

/* Whether `next` may take the place of `current` (NULL: nothing). 0, or GUARD_ASKS: guard_ask() is
 * to be called once no lock is held, and if that is 0 everything is to be tried again. */
#define GUARD_ASKS 1
int guard_pass(struct guard *guard, const struct policy *current, const struct policy *next,
	       const struct policy_context *ctx);
int guard_ask(struct guard *guard);

#endif
