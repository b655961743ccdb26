/* SPDX-License-Identifier: GPL-2.0-only */
/* Counts a decided packet, per CPU. Never changes a verdict: a counter that is not there is not
 * counted.
 */
#ifndef RLCTL_ACCOUNT_H
#define RLCTL_ACCOUNT_H

#include "classify.h"

static __always_inline void amount_add(struct rl_amount *amount, const struct packet *p)
{
	amount->packets += packet_count(p);
	amount->bytes += p->bytes;
}

static __always_inline bool reason_passes(enum rl_reason reason)
{
	return reason < RL_REASON_DENIED;
}

/* The rule that decided alone. */
static __always_inline void account_slot(__u32 slot, bool passed, const struct packet *p)
{
	struct rl_rule_counters *c = bpf_map_lookup_elem(&rule_counters, &slot);

	if (c)
		amount_add(passed ? &c->passed : &c->dropped, p);
}

/* A packet that passed counts for every limit that it was held to. */
static __always_inline void account_limit(struct decision *d, __u32 i)
{
	struct rl_rule *rule = picked_rule(d, i);
	struct rl_rule_counters *c = rule ? bpf_map_lookup_elem(&rule_counters, &rule->slot) : NULL;

	if (c)
		amount_add(d->shadowed & 1u << i ? &c->shadow : &c->passed, &d->p);
}

__noinline int account_limits(struct decision *d)
{
	if (!d)
		return 0;
	for (__u32 i = 0; i < DECISION_MAX && d->picked >> i; i++)
		if (d->picked & 1u << i)
			account_limit(d, i);
	return 0;
}

static __always_inline int account(struct decision *d, int reason)
{
	struct rl_amount *total = bpf_map_lookup_elem(&reasons, &reason);

	if (!d)
		return 0;
	if (total)
		amount_add(total, &d->p);
	if (d->decided)
		account_slot(d->slot, reason_passes(reason), &d->p);
	else if (reason_passes(reason) && d->picked == 1)
		account_limit(d, 0);
	else if (reason_passes(reason) && d->picked)
		account_limits(d);
	return 0;
}

#endif
