/* SPDX-License-Identifier: GPL-2.0-only */
/* Holds a packet to its limits: finds the state of each, takes from it, gives back. Only
 * state_find and state_create know where state lives.
 */
#ifndef RLCTL_LIMITER_H
#define RLCTL_LIMITER_H

#include "algorithm/gcra.h"
#include "classify.h"

enum outcome { OUTCOME_WITHIN, OUTCOME_OVER, OUTCOME_NO_ROOM };

static __always_inline struct rl_state *
state_find(const struct packet *p, const struct rl_rule *rule, struct rl_state_key *key)
{
	struct shared_state *state;

	if (rule->limit.key != RL_KEY_RULE) {
		key_build(key, p, rule);
		return bpf_map_lookup_elem(&sources, key);
	}
	state = bpf_map_lookup_elem(&shared, &rule->slot);
	return state ? &state->state : NULL;
}

/* A fresh state for the key that state_find did not find. Another CPU may be first: then its state
 * is the one, and what it took stands. NULL when the map has no room. */
static __always_inline struct rl_state *state_create(const struct rl_rule *rule,
						     const struct rl_state_key *key)
{
	struct rl_state fresh = {};

	if (rule->limit.key == RL_KEY_RULE)
		return NULL;
	bpf_map_update_elem(&sources, key, &fresh, BPF_NOEXIST);
	return bpf_map_lookup_elem(&sources, key);
}

static __always_inline __u64 limit_amount(const struct packet *p, const struct rl_rule *rule)
{
	return rule->limit.unit == RL_PACKETS ? 1 : p->bytes;
}

/* Would the limit admit the packet? Writes nothing. enum outcome. */
__noinline int limit_peek(struct packet *p, const struct rl_rule *rule)
{
	struct rl_state_key key;
	struct rl_state *state;
	__u64 now, next;

	if (!p || !rule)
		return OUTCOME_NO_ROOM;
	now = gcra_now(clock_of(p, rule));
	state = state_find(p, rule, &key);
	return gcra_admits(&rule->gcra, state ? state->word : 0, now, limit_amount(p, rule), &next)
		       ? OUTCOME_WITHIN
		       : OUTCOME_OVER;
}

/* Takes what the packet costs; p->taken is then what limit_refund gives back. enum outcome. */
__noinline int limit_take(struct packet *p, const struct rl_rule *rule)
{
	struct rl_state_key key;
	struct rl_state *state;
	__u64 now, amount;

	if (!p || !rule)
		return OUTCOME_NO_ROOM;
	amount = limit_amount(p, rule);
	if (amount > rule->gcra.cost_max)
		return OUTCOME_OVER;
	now = gcra_now(clock_of(p, rule));
	state = state_find(p, rule, &key);
	if (!state)
		state = state_create(rule, &key);
	if (!state)
		return OUTCOME_NO_ROOM;
	return gcra_take(&rule->gcra, &state->word, now, amount, &p->taken) ? OUTCOME_WITHIN
									    : OUTCOME_OVER;
}

/* An LRU may have given the state's memory to another key since: that key is then owed less by at
 * most the one packet given back. */
__noinline int limit_refund(struct packet *p, const struct rl_rule *rule)
{
	struct rl_state_key key;
	struct rl_state *state;

	if (!p || !rule)
		return 0;
	if (!p->taken)
		return 0;
	state = state_find(p, rule, &key);
	if (state)
		gcra_refund(&state->word, p->taken);
	return 0;
}

static __always_inline int refused_by(struct decision *d, const struct rl_rule *rule, int outcome)
{
	d->slot = rule->slot;
	d->decided = 1;
	return outcome;
}

/* Would every limit admit it? enum outcome. */
__noinline int limits_peek(struct decision *d)
{
	if (!d)
		return OUTCOME_NO_ROOM;
	for (__u32 i = 0; i < DECISION_MAX && i < d->count; i++) {
		struct rl_rule *rule = rule_at(d->rule[i]);
		int outcome;

		if (!rule || rule->limit.over == RL_OVER_SHADOW)
			continue;
		outcome = limit_peek(&d->p, rule);
		if (outcome != OUTCOME_WITHIN)
			return refused_by(d, rule, outcome);
	}
	return OUTCOME_WITHIN;
}

static __always_inline void limits_refund(struct decision *d, __u32 count)
{
	for (__u32 i = 0; i < DECISION_MAX && i < count; i++) {
		struct rl_rule *rule = rule_at(d->rule[i]);

		d->p.taken = d->taken[i];
		if (rule)
			limit_refund(&d->p, rule);
	}
}

/* Takes from one limit after the other; when one refuses, gives back what the others took. */
__noinline int limits_charge(struct decision *d)
{
	int outcome = OUTCOME_WITHIN;
	__u32 i;

	if (!d)
		return OUTCOME_NO_ROOM;
	for (i = 0; i < DECISION_MAX && i < d->count; i++) {
		struct rl_rule *rule = rule_at(d->rule[i]);

		d->p.taken = 0;
		outcome = rule ? limit_take(&d->p, rule) : OUTCOME_WITHIN;
		d->taken[i] = d->p.taken;
		if (rule && outcome != OUTCOME_WITHIN) {
			if (rule->limit.over != RL_OVER_SHADOW) {
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

/* Takes from every limit, or from none. Several limits are all asked before one is taken from, so
 * that a packet which the second refuses has written nothing in the first. Between the two another
 * CPU may spend what this packet was promised: limits_charge then gives back. */
static __always_inline int limits_take(struct decision *d)
{
	int outcome = d->count > 1 ? limits_peek(d) : OUTCOME_WITHIN;

	return outcome == OUTCOME_WITHIN ? limits_charge(d) : outcome;
}

#endif
