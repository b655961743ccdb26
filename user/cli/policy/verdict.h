/* SPDX-License-Identifier: GPL-2.0-only */
/* The effect of a policy on an SSH session. Pure. */
#pragma once

#include "policy/packets/decide.h"
#include "policy/packets/level.h"
#include "policy/policy.h"

#define GUARD_PACKETS 10   /* per second: with less, a session is unusable */
#define GUARD_BYTES   1280 /* per second: the same in small packets */

struct verdict {
	/* From harmless to worst. MAY_BE_BANNED: if packets of its source exceed a limit that only
	 * fast senders exceed, or that leaves open sessions alone; BANNED: if it makes a few new
	 * connections. */
	enum {
		SESSION_SAFE,
		SESSION_MAY_BE_BANNED,
		SESSION_BANNED,
		SESSION_SLOW,
		SESSION_DENIED
	} danger;
	uint64_t packets_a_day; /* of the limit */
	struct rule rule;       /* the rule that causes it */
	bool guessed;           /* it does if its set holds the address, which nobody knows */
};

/* The machine's answers to these packets. */
struct flow flow_reversed(const struct flow *flow);

/* members: NULL: nothing is known of any set; then their rules that deny or limit count, and those
 * that allow do not. 0 or -ENOMEM. */
int verdict_find(const struct policy *policy, bool by_dest, const struct flow *session,
		 const struct set_members *members, struct verdict *out);
/* The worst verdict that the change of policies brings about, whatever the sets hold of which
 * nothing is known; safe if it makes nothing worse. 0 or -ENOMEM. */
int verdict_of_change(const struct policy *before, const struct policy *after, bool by_dest,
		      const struct flow *session, const struct set_members *members,
		      struct verdict *out);
bool verdict_worse(const struct verdict *next, const struct verdict *current);
