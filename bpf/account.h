/* SPDX-License-Identifier: GPL-2.0-only */
/* Counts a decided packet, per CPU. Never changes a verdict: a counter that is not there is not
 * counted.
 */
#ifndef RLCTL_BPF_ACCOUNT_H
#define RLCTL_BPF_ACCOUNT_H

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

/* Counters that are in a chunk: apart, and with arguments that are in registers anyway, so that
 * others pay nothing for it. */
__noinline int account_rule_chunk(struct decision *d, __u32 passed)
{
	struct rl_rule_counters *c = d ? chunk_find(&counters_chunks, d->counter_id) : NULL;

	if (c)
		amount_add(passed ? &c->passed : &c->dropped, &d->p);
	return 0;
}

__noinline int account_limit_chunk(struct decision *d, __u32 counter_id, __u32 shadow)
{
	struct rl_rule_counters *c = chunk_find(&counters_chunks, counter_id);

	if (c && d)
		amount_add(shadow ? &c->shadow : &c->passed, &d->p);
	return 0;
}

/* The rule that decided alone. */
static __always_inline void account_rule(struct decision *d, bool passed)
{
	struct rl_rule_counters *c = bpf_map_lookup_elem(&rule_counters, &d->counter_id);

	if (__builtin_expect(c != NULL, 1))
		amount_add(passed ? &c->passed : &c->dropped, &d->p);
	else
		account_rule_chunk(d, passed);
}

/* A packet that passed counts for every limit that it was held to. */
static __always_inline void account_limit(struct decision *d, __u32 i, __u32 counter_id)
{
	struct rl_rule_counters *c = bpf_map_lookup_elem(&rule_counters, &counter_id);
	__u32 shadow = d->shadowed & 1u << i;

	if (__builtin_expect(c != NULL, 1))
		amount_add(shadow ? &c->shadow : &c->passed, &d->p);
	else
		account_limit_chunk(d, counter_id, shadow);
}

static __always_inline void limits_count(struct decision *d)
{
	d->counted = 1;
	for (__u32 i = 0; i < DECISION_MAX && d->matched >> i; i++)
		if (d->matched & 1u << i)
			account_limit(d, i, d->plan[i].counter_id);
}

/* Apart: packets of several limits have most often been counted with the last charge. */
__noinline int account_limits(struct decision *d)
{
	if (d)
		limits_count(d);
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
		account_rule(d, reason_passes(reason));
	else if (!reason_passes(reason) || d->counted)
		return 0;
	else if (d->matched == 1)
		account_limit(d, 0, d->plan[0].counter_id);
	else if (d->matched)
		account_limits(d);
	return 0;
}

#endif
