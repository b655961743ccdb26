/* SPDX-License-Identifier: GPL-2.0-only */
/* Counts a decided packet, per CPU. Never changes a verdict: a counter that is not there is not
 * counted.
 */
#pragma once

#include "match/classify.h"

/* packets: packet_count(p), or what the caller knows of it. */
static __always_inline void amount_add(struct rl_amount *amount, const struct packet *p,
				       __u32 packets)
{
	amount->packets += packets;
	amount->bytes += p->bytes;
}

static __always_inline bool reason_passes(enum rl_reason reason)
{
	return reason < RL_REASON_DENIED;
}

/* Does the program send an answer itself? */
static __always_inline bool reason_answers(enum rl_reason reason)
{
	return reason >= RL_REASON_CHALLENGED;
}

static __always_inline void verdict_add(struct rl_counters_block *b, const struct decision *d,
					bool passed, __u32 packets)
{
	__u32 at = counters_at(d->counter_id);

	if (b)
		amount_add(passed ? &b->passed[at] : &b->dropped[at], &d->p, packets);
}

/* A limit that the packet was held to. */
static __always_inline void limit_add(struct rl_counters_block *b, const struct decision *d,
				      __u32 counter_id, __u32 shadow)
{
	__u32 at = counters_at(counter_id);

	if (b)
		amount_add(shadow ? &b->shadow[at] : &b->passed[at], &d->p, packet_count(&d->p));
}

/* Counters that are in a chunk: apart, and with arguments that are in registers anyway, so that
 * others pay nothing for it. */
__noinline int account_rule_chunk(struct decision *d, __u32 passed)
{
	if (d)
		verdict_add(counters_find_chunk(d->counter_id), d, passed, packet_count(&d->p));
	return 0;
}

__noinline int account_limit_chunk(struct decision *d, __u32 counter_id, __u32 shadow)
{
	if (d)
		limit_add(counters_find_chunk(counter_id), d, counter_id, shadow);
	return 0;
}

/* The rule that decided alone. */
static __always_inline void account_rule(struct decision *d, bool passed, __u32 packets)
{
	struct rl_counters_block *b = counters_find(d->counter_id, counters_cpu());

	if (__builtin_expect(b != NULL, 1))
		verdict_add(b, d, passed, packets);
	else
		account_rule_chunk(d, passed);
}

/* A packet that passed counts for every limit that it was held to. */
static __always_inline void account_limit(struct decision *d, __u32 i, __u32 counter_id, __u32 cpu)
{
	struct rl_counters_block *b = counters_find(counter_id, cpu);
	__u32 shadow = d->shadowed & 1u << i;

	if (__builtin_expect(b != NULL, 1))
		limit_add(b, d, counter_id, shadow);
	else
		account_limit_chunk(d, counter_id, shadow);
}

static __always_inline void limits_count(struct decision *d)
{
	__u32 cpu = counters_cpu();

	d->counted = 1;
	for (__u32 i = 0; i < DECISION_MAX && i < d->limits; i++)
		account_limit(d, i, d->plan[i].counter_id, cpu);
}

/* Apart: packets of several limits have most often been counted with the last charge. */
__noinline int account_limits(struct decision *d)
{
	if (d)
		limits_count(d);
	return 0;
}

/* packets: as of amount_add(). */
static __always_inline void account(struct decision *d, int reason, __u32 packets)
{
	struct rl_amount *total = bpf_map_lookup_elem(&reasons, &reason);

	if (total)
		amount_add(total, &d->p, packets);
	if (d->decided)
		account_rule(d, reason_passes(reason), packets);
	else if (!reason_passes(reason) || d->counted)
		return;
	else if (d->limits == 1)
		account_limit(d, 0, d->plan[0].counter_id, counters_cpu());
	else if (d->limits)
		account_limits(d);
}
