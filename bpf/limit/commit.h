/* SPDX-License-Identifier: GPL-2.0-only */
/* Commits a packet to all its limits at once, or to none. All are peeked at before the first is
 * charged, so that a packet that is refused has written nothing. Between the two another CPU may
 * consume what this packet was promised: those that were charged are then refunded.
 *
 * Buckets that packets share are asked first: they are in the cache, and where one refuses, no line
 * of the source is touched. In a policy with a limit that bans, each is asked in its turn:
 * whether a ban begins depends on what is asked before it.
 */
#pragma once

#include "limit/account.h"
#include "match/classify.h"
#include "limit/limiter.h"
#include "limit/shared_refusal.h"

/* The limit of bit i of `bits`; NULL: it is not among them. */
static __always_inline struct rl_rule *limit_at(const struct decision *d, __u32 bits, __u32 i)
{
	return bits & 1u << i ? matched_rule(d, i) : NULL;
}

/* The plan of bit i. Through memory, where the verifier forgets which bit that is: it would follow
 * what is done with the plan for each anew. */
static __always_inline struct plan *plan_at(struct decision *d, __u32 i)
{
	d->current = i;
	return &d->plan[READ_ONCE(d->current) & (DECISION_MAX - 1)];
}

/* The clock of a limit; now_ns: clock_tick(), read once for all. */
static __always_inline __u64 limit_clock(struct decision *d, const struct rl_rule *rule,
					 __u64 now_ns)
{
	return rule->clock == RL_CLOCK_TICK ? now_ns : clock_precise(&d->p);
}

/* ---- buckets; as one piece, because the return of a function may cost more than a limit */

/* So many limits of a packet are asked and charged in that piece. Those after them are asked by
 * functions of their own: the verifier follows each turn of such a loop anew, in all the ways that
 * a bucket may go, and hardly a packet meets more. */
#define TOGETHER 4

/* Those of the bits `from`..`to` - 1 that packets share, or those in the hot table. enum outcome.
 */
static __always_inline int buckets_peek(struct decision *d, const struct rl_policy_header *header,
					__u64 now_ns, bool shared, __u32 from, __u32 to)
{
	for (__u32 i = from; i < to && (shared ? i < d->limits : d->unasked >> i); i++) {
		struct rl_rule *rule = shared ? matched_rule(d, i) : limit_at(d, d->unasked, i);
		struct plan *plan = plan_at(d, i);
		bool admits;

		if (!rule || rule->backend != (shared ? RL_BACKEND_SHARED : RL_BACKEND_HOT) ||
		    rule->flags & RL_RULE_SHADOW)
			continue;
		d->unasked &= ~(1u << i);
		plan_begin(plan, rule);
		if (from >= TOGETHER)
			admits = shared ? shared_admits_apart(&d->p, rule, plan)
					: hot_admits_apart(&d->p, rule, plan);
		else if (shared)
			admits = shared_admits(rule, limit_clock(d, rule, now_ns),
					       limit_amount(&d->p, rule), plan);
		else
			admits = hot_admits(&d->p, rule, limit_clock(d, rule, now_ns),
					    limit_amount(&d->p, rule), plan);
		if (admits)
			continue;
		if (shared)
			shared_refusal_keep(d, header, rule, now_ns);
		return OUTCOME_OVER;
	}
	return OUTCOME_WITHIN;
}

__noinline int shared_peek_more(struct decision *d, const struct rl_policy_header *header,
				__u64 now_ns)
{
	return d && header ? buckets_peek(d, header, now_ns, true, TOGETHER, DECISION_MAX)
			   : OUTCOME_NO_ROOM;
}

__noinline int hot_peek_more(struct decision *d, __u64 now_ns)
{
	return d ? buckets_peek(d, NULL, now_ns, false, TOGETHER, DECISION_MAX) : OUTCOME_NO_ROOM;
}

static __always_inline void buckets_commit(struct decision *d)
{
	for (__u32 i = 0; i < TOGETHER && i < d->limits; i++) {
		struct plan *plan = plan_at(d, i);

		if (limit_commit(plan))
			d->uncharged &= ~(1u << i);
	}
}

/* Peeks at all limits that are buckets. If all limits are, charges them; the rest stay in
 * d->unasked. A bucket that cannot be charged as planned stays in d->uncharged. */
__noinline int buckets_apply(struct decision *d, const struct rl_policy_header *header)
{
	__u64 now_ns = clock_tick();
	int outcome = OUTCOME_WITHIN;

	if (!d || !header)
		return OUTCOME_NO_ROOM;
	if (header->uses & RL_USE_SHARED) {
		outcome = buckets_peek(d, header, now_ns, true, 0, TOGETHER);
		if (outcome == OUTCOME_WITHIN && d->limits > TOGETHER)
			outcome = shared_peek_more(d, header, now_ns);
	}
	if (outcome != OUTCOME_WITHIN)
		return outcome;
	outcome = buckets_peek(d, header, now_ns, false, 0, TOGETHER);
	if (outcome == OUTCOME_WITHIN && d->unasked >> TOGETHER)
		outcome = hot_peek_more(d, now_ns);
	if (outcome == OUTCOME_WITHIN && !d->unasked)
		buckets_commit(d);
	if (!d->uncharged)
		limits_count(d);
	return outcome;
}

/* ---- limits of any kind */

/* The limits over which the packet passes: shadows; for one that is established those that spare
 * it; for a packet that is answered those that answer it, and for a SYN that is let through. */
#define FLAGS_PASSING     RL_RULE_SHADOW
#define FLAGS_SPARING     (RL_RULE_SHADOW | RL_RULE_UNLESS)
#define FLAGS_CHALLENGING (RL_RULE_SHADOW | RL_RULE_CHALLENGE)
#define FLAGS_TRUNCATING  (RL_RULE_SHADOW | RL_RULE_TRUNCATE)

/* Those that senders share, or those that they do not. */
static __always_inline int some_peek(struct decision *d, __u16 passing, bool parts)
{
	for (__u32 i = 0; i < DECISION_MAX && d->unasked >> i; i++) {
		struct rl_rule *rule = limit_at(d, d->unasked, i);
		struct plan *plan = plan_at(d, i);
		int outcome;

		if (!rule || parts_are_of(rule) != parts)
			continue;
		plan_begin(plan, rule);
		if (rule->flags & passing)
			continue;
		outcome = limit_peek(&d->p, rule, plan);
		if (outcome != OUTCOME_WITHIN)
			return outcome;
	}
	return OUTCOME_WITHIN;
}

/* Limits that senders share are asked after all others: each look is charged to the sender. */
static __always_inline int limits_peek(struct decision *d, __u16 passing)
{
	int outcome = some_peek(d, passing, false);

	if (config.shares_limits && outcome == OUTCOME_WITHIN)
		outcome = some_peek(d, passing, true);
	return outcome;
}

static __always_inline int limits_commit(struct decision *d, __u16 passing)
{
	for (__u32 i = 0; i < DECISION_MAX && d->uncharged >> i; i++) {
		struct rl_rule *rule = limit_at(d, d->uncharged, i);
		struct plan *plan = plan_at(d, i);
		int outcome = OUTCOME_WITHIN;

		if (!rule)
			continue;
		if (parts_are_of(rule) && rule->flags & passing && !parts_admits(&d->p, rule)) {
			outcome = OUTCOME_OVER; /* of a shadow, which no peek has asked */
		} else if (!limit_commit(plan)) {
			outcome = limit_consume(&d->p, rule);
			plan->receipt = d->p.receipt;
		}
		if (outcome != OUTCOME_WITHIN && !(rule->flags & passing))
			return outcome;
		if (outcome != OUTCOME_WITHIN)
			d->shadowed |= 1u << i;
		d->uncharged &= ~(1u << i);
	}
	return OUTCOME_WITHIN;
}

/* Asks what is in d->unasked and charges what is in d->uncharged. enum outcome. */
__noinline int limits_apply_rest(struct decision *d)
{
	int outcome;

	if (!d)
		return OUTCOME_NO_ROOM;
	outcome = limits_peek(d, FLAGS_PASSING);
	return outcome == OUTCOME_WITHIN ? limits_commit(d, FLAGS_PASSING) : outcome;
}

/* The two halves of it for a packet that one limit has refused, of those over which it may pass. */
__noinline int limits_peek_passing(struct decision *d, __u32 passing)
{
	return d ? limits_peek(d, passing) : OUTCOME_NO_ROOM;
}

__noinline int limits_commit_passing(struct decision *d, __u32 passing)
{
	return d ? limits_commit(d, passing) : OUTCOME_NO_ROOM;
}

/* Gives back what was charged. */
__noinline int limits_refund(struct decision *d)
{
	__u32 charged = d ? limits_bits(d) & ~d->uncharged & ~d->shadowed : 0;

	if (!d)
		return 0;
	for (__u32 i = 0; i < DECISION_MAX && charged >> i; i++) {
		struct rl_rule *rule = limit_at(d, charged, i);

		d->p.receipt = d->plan[i].receipt;
		if (rule)
			limit_refund(&d->p, rule);
	}
	return 0;
}

/* The limit that was asked last has refused. */
static __always_inline int refused(struct decision *d, const struct rl_rule *rule, int outcome)
{
	bool matters = rule->flags & RL_RULE_BAN ||
		       (rule->flags & RL_RULE_REFUSAL_CACHED && refusal_has_room(&d->p));

	if (outcome == OUTCOME_OVER && matters)
		limit_refused(&d->p, rule);
	d->counter_id = rule->counter_id;
	d->decided = 1;
	return outcome;
}

/* A bucket that is the packet's only limit is committed at once: nothing else could refuse it. */
static __always_inline int alone_commit(struct decision *d, const struct rl_rule *rule)
{
	__u64 now_ns = clock_of(&d->p, rule);

	d->plan[0].counter_id = rule->counter_id;
	if (EXTENDED)
		d->current = 0;
	if (hot_consume_now(&d->p, rule, gcra_now(now_ns), limit_amount(&d->p, rule)))
		return OUTCOME_WITHIN;
	return refused(d, rule, OUTCOME_OVER);
}

/* A limit has refused, d->current says which: gives back what others were charged. */
static __always_inline int limits_refused(struct decision *d, int outcome)
{
	struct rl_rule *rule;

	if (d->uncharged != limits_bits(d))
		limits_refund(d);
	rule = matched_rule(d, READ_ONCE(d->current));
	return rule ? refused(d, rule, outcome) : outcome;
}

/* Consumes from every limit, or from none. enum outcome. */
static __always_inline int limits_apply(struct decision *d, const struct rl_policy_header *header)
{
	struct rl_rule *first = d->limits == 1 ? matched_rule(d, 0) : NULL;
	int outcome = OUTCOME_WITHIN;

	if (first && first->backend == RL_BACKEND_HOT &&
	    !(first->flags & (RL_RULE_SHADOW | RL_RULE_BAN)))
		return alone_commit(d, first);
	d->unasked = limits_bits(d);
	d->uncharged = limits_bits(d);
	if (!(header->uses & RL_USE_BANS) && !config.no_shortcuts)
		outcome = buckets_apply(d, header);
	if (outcome == OUTCOME_WITHIN && d->uncharged)
		outcome = limits_apply_rest(d);
	return outcome == OUTCOME_WITHIN ? outcome : limits_refused(d, outcome);
}

/* The reason of a packet with that outcome. */
static __always_inline enum rl_reason limits_reason(int outcome, __u32 shadowed)
{
	switch (outcome) {
	case OUTCOME_OVER:
		return RL_REASON_OVER;
	case OUTCOME_BANNED:
		return RL_REASON_BANNED;
	case OUTCOME_NO_ROOM:
		return RL_REASON_NO_ROOM;
	}
	return shadowed ? RL_REASON_SHADOW : RL_REASON_WITHIN;
}
