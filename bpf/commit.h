/* SPDX-License-Identifier: GPL-2.0-only */
/* Commits a packet to all its limits at once, or to none: peek, commit, refund. */
#ifndef RLCTL_BPF_COMMIT_H
#define RLCTL_BPF_COMMIT_H

#include "classify.h"
#include "limiter.h"

static __always_inline int refused_by(struct decision *d, const struct rl_rule *rule, int outcome)
{
	bool matters = rule->flags & RL_RULE_BAN ||
		       (rule->flags & RL_RULE_REFUSAL_CACHED && refusal_has_room(&d->p));

	if (outcome == OUTCOME_OVER && matters)
		limit_refused(&d->p, rule);
	d->counter_id = rule->counter_id;
	d->decided = 1;
	return outcome;
}

/* Would every limit admit it? enum outcome. */
static __always_inline int limits_peek(struct decision *d)
{
	for (__u32 i = 0; i < DECISION_MAX && d->matched >> i; i++) {
		struct rl_rule *rule;
		int outcome;

		if (!(d->matched & 1u << i))
			continue;
		barrier_var(d); /* or addresses in it are computed before the loop, for nothing */
		rule = matched_rule(d, i);
		if (!rule || rule->flags & RL_RULE_SHADOW)
			continue;
		outcome = limit_peek(&d->p, rule);
		barrier_var(outcome);
		if (outcome != OUTCOME_WITHIN)
			return refused_by(d, rule, outcome);
	}
	return OUTCOME_WITHIN;
}

__noinline int limits_refund(struct decision *d, __u32 count)
{
	if (!d)
		return 0;
	for (__u32 i = 0; i < DECISION_MAX && i < count; i++) {
		struct rl_rule *rule = matched_rule(d, i);

		d->p.receipt = d->receipt[i];
		if (rule && d->matched & ~d->shadowed & 1u << i)
			limit_refund(&d->p, rule);
	}
	return 0;
}

/* Consumes from one limit after the other; when one refuses, the others are refunded. */
__noinline int limits_commit(struct decision *d)
{
	int outcome = OUTCOME_WITHIN;
	__u32 i;

	if (!d)
		return OUTCOME_NO_ROOM;
	for (i = 0; i < DECISION_MAX && d->matched >> i; i++) {
		struct rl_rule *rule = matched_rule(d, i);

		if (!rule || !(d->matched & 1u << i))
			continue;
		outcome = limit_consume(&d->p, rule);
		d->receipt[i] = d->p.receipt;
		if (outcome != OUTCOME_WITHIN) {
			if (!(rule->flags & RL_RULE_SHADOW)) {
				outcome = refused_by(d, rule, outcome);
				break;
			}
			d->shadowed |= 1u << i;
			outcome = OUTCOME_WITHIN;
		}
	}
	if (outcome != OUTCOME_WITHIN)
		limits_refund(d, i);
	return outcome;
}

/* A bucket that is the packet's only limit is committed at once: nothing else could refuse it. */
static __always_inline int alone_commit(struct decision *d, const struct rl_rule *rule)
{
	__u64 now_ns = clock_of(&d->p, rule);

	if (hot_consume_now(&d->p, rule, gcra_now(now_ns), limit_amount(&d->p, rule)))
		return OUTCOME_WITHIN;
	return refused_by(d, rule, OUTCOME_OVER);
}

static __always_inline bool is_alone(const struct rl_rule *rule)
{
	return rule->backend == RL_BACKEND_HOT && !(rule->flags & (RL_RULE_SHADOW | RL_RULE_BAN));
}

/* Consumes from every limit, or from none. All are peeked at before the first is committed, so that
 * a packet that is refused has written nothing. Between the two another CPU may consume what this
 * packet was promised: limits_commit then refunds. */
static __always_inline int limits_apply(struct decision *d)
{
	struct rl_rule *first = d->matched == 1 ? matched_rule(d, 0) : NULL;
	int outcome;

	if (first && is_alone(first))
		return alone_commit(d, first);
	outcome = limits_peek(d);
	return outcome == OUTCOME_WITHIN ? limits_commit(d) : outcome;
}

#endif
