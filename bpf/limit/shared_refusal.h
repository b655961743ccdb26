/* SPDX-License-Identifier: GPL-2.0-only */
/* A limit that every packet meets (`device limit …`, or `per rule` under `any` where there are no
 * prefixes), or every packet of a new source: once it has refused, it refuses until the tick clock
 * advances, for nothing flows into its bucket before. This CPU remembers the last such refusal, and
 * refuses what comes in the same tick before it looks for a prefix, a rule or a bucket: a flood
 * then costs the same from one source and from millions.
 *
 * Which rules may be remembered is decided when a policy is compiled (refusals.c: group_refuses),
 * and none is where another rule could let packets of any address pass or begin a ban
 * (RL_USE_ALLOWS_ANY, RL_USE_BANS). Where a prefix allows, the refusal holds for addresses around
 * which no prefix lies (SHARED_GUARDED).
 *
 * Races: what another CPU gives back to the bucket in the meantime is not seen before the next
 * tick: packets too few in this tick, never one too many. A rule that allows may be added between
 * two loads of the header: the generation is read first, so that a refusal under the new one knows
 * of the rule.
 */
#pragma once

#include "match/classify.h"

/* In the place of RL_RULE_REFUSES_ANY: first look for a prefix, and whether the source is new. */
#define SHARED_GUARDED (1u << 16)
#define SHARED_NEW     (1u << 17)

/* now_ns: the tick in which the limit was asked. */
static __always_inline void shared_refusal_keep(struct decision *d,
						const struct rl_policy_header *header,
						const struct rl_rule *rule, __u64 now_ns)
{
	const __u32 excluded = RL_USE_ALLOWS_ANY | RL_USE_BANS;
	struct shared_refusal *r = &d->shared_refusal;
	__u32 uses;

	if (!(rule->flags & RL_RULE_REFUSES_ANY) || READ_ONCE(header->uses) & excluded)
		return;
	r->generation = READ_ONCE(header->generation);
	full_barrier(&r->scratch);
	uses = READ_ONCE(header->uses);
	if (uses & excluded)
		r->generation = 0;
	r->now_ns = now_ns;
	r->amount = limit_amount(&d->p, rule);
	r->counter_id = rule->counter_id;
	r->flags = rule->flags;
	if (uses & RL_USE_ALLOWS)
		r->flags = (r->flags & ~RL_RULE_REFUSES_ANY) | SHARED_GUARDED |
			   (r->flags & RL_RULE_REFUSES_NEW ? SHARED_NEW : 0);
}

/* Has a limit refused such a packet in this tick? Then its flags, else 0. */
static __always_inline __u32 shared_refusal_find(const struct decision *d,
						 const struct rl_policy_header *header)
{
	const struct shared_refusal *r = &d->shared_refusal;
	__u64 amount;

	if (r->now_ns != clock_tick() || r->generation != header->generation)
		return 0;
	amount = READ_ONCE(r->flags) & RL_RULE_BYTES ? d->p.bytes : packet_count(&d->p);
	return amount < r->amount ? 0 : r->flags;
}
