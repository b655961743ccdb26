/* SPDX-License-Identifier: GPL-2.0-only */
/* Holds a packet to its limits: asks each, takes from each, gives back. What an algorithm does is
 * in algorithm/, where its state lives in state.h.
 */
#ifndef RLCTL_LIMITER_H
#define RLCTL_LIMITER_H

#include "algorithm/fixed_window.h"
#include "algorithm/gcra.h"
#include "algorithm/sliding_log.h"
#include "algorithm/sliding_window.h"
#include "algorithm/warm_up.h"
#include "ban.h"
#include "classify.h"
#include "hot.h"
#include "lease.h"

#define REFUSAL_NS 1000000000ULL /* longer ones would keep a slot though nobody asks any more */

enum outcome { OUTCOME_WITHIN, OUTCOME_OVER, OUTCOME_BANNED, OUTCOME_NO_ROOM };

static __always_inline __u64 limit_amount(const struct packet *p, const struct rl_rule *rule)
{
	return rule->limit.unit == RL_PACKETS ? 1 : p->bytes;
}

/* ---- would the limit admit it? */

/* *until_ns, here and below: until when a refused key is refused for certain, if that is known. */
static __always_inline bool state_admits(const struct rl_rule *rule, const struct rl_state_key *key,
					 __u64 now_ns, __u64 amount, __u64 *until_ns)
{
	struct rl_state fresh = {}, *state = state_find(rule, key);
	struct lease *lease = lease_find(rule);
	__u64 next;

	if (lease && lease_covers(rule, lease, now_ns, amount))
		return true;
	if (!state)
		state = &fresh;
	if (rule->limit.algorithm == RL_FIXED_WINDOW) {
		*until_ns = fixed_window_end(&rule->window, state);
		return fixed_window_admits(&rule->window, state, now_ns, amount);
	}
	if (rule->limit.algorithm == RL_WARM_UP)
		return warm_up_admits(&rule->warm_up, state, gcra_now(now_ns));
	gcra_settle(&rule->gcra, &state->word, gcra_now(now_ns));
	return gcra_admits(&rule->gcra, state->word, gcra_now(now_ns), amount, &next);
}

static __always_inline bool slots_admit(const struct rl_rule *rule, const struct rl_state_key *key,
					__u64 now_ns, __u64 amount, __u64 *until_ns)
{
	const struct rl_window *w = &rule->window;
	struct rl_slots *slots = slots_find(key);

	if (!slots || sliding_window_admits(w, slots, now_ns, amount))
		return amount <= w->amount;
	*until_ns = sliding_window_end(w, slots, sliding_window_slot(w, now_ns));
	return false;
}

static __always_inline bool log_admits(const struct rl_rule *rule, const struct rl_state_key *key,
				       __u64 now_ns, __u64 *until_ns)
{
	struct rl_log *log = log_find(key);

	if (!log || sliding_log_admits(&rule->window, log, now_ns, log_depth))
		return true;
	*until_ns = sliding_log_end(&rule->window, log, log_depth);
	return false;
}

/* Of a limit whose state is not in the hot table. */
static __always_inline bool lru_admits(const struct rl_rule *rule, const struct rl_state_key *key,
				       __u64 now_ns, __u64 amount, __u64 *until_ns)
{
	if (rule->limit.algorithm == RL_SLIDING_WINDOW)
		return slots_admit(rule, key, now_ns, amount, until_ns);
	if (rule->limit.algorithm == RL_SLIDING_LOG)
		return log_admits(rule, key, now_ns, until_ns);
	return state_admits(rule, key, now_ns, amount, until_ns);
}

/* Remembers that the key is refused until then. The limit is asked once more: another CPU may have
 * given back, and found no refusal yet that it could take away. */
static __always_inline void refusal_keep(struct packet *p, const struct rl_rule *rule,
					 const struct rl_state_key *key, __u64 now_ns, __u64 amount,
					 __u64 until_ns)
{
	if ((__s64)(until_ns - now_ns) > (__s64)REFUSAL_NS)
		until_ns = now_ns + REFUSAL_NS;
	hot_refuse(p, rule, gcra_now(now_ns), gcra_now(until_ns));
	__sync_fetch_and_add(&p->taken, 0); /* a barrier between the two */
	if (lru_admits(rule, key, now_ns, amount, &until_ns))
		hot_pardon(p, rule);
}

/* Writes no state, but that a bucket is settled after its numbers changed. enum outcome. */
__noinline int limit_peek_slow(struct packet *p, const struct rl_rule *rule)
{
	struct rl_state_key key;
	__u64 now_ns, amount, until_ns = 0;
	bool admits;

	if (!p || !rule)
		return OUTCOME_NO_ROOM;
	key_build(&key, p, rule);
	if (rule->limit.over == RL_OVER_BAN && ban_holds(&key))
		return OUTCOME_BANNED;
	amount = limit_amount(p, rule);
	now_ns = clock_of(p, rule);
	if (rule->hot == RL_HOT_BUCKET)
		admits = hot_admits(p, rule, gcra_now(now_ns), amount);
	else
		admits = lru_admits(rule, &key, now_ns, amount, &until_ns);
	if (!admits && until_ns && rule->hot == RL_HOT_REFUSAL)
		refusal_keep(p, rule, &key, now_ns, amount, until_ns);
	return admits ? OUTCOME_WITHIN : OUTCOME_OVER;
}

/* The common cases without a call: a bucket in the hot table, and a refusal that is known. */
static __always_inline int limit_peek(struct packet *p, const struct rl_rule *rule)
{
	__u64 now;

	if (!rule->hot || rule->limit.over == RL_OVER_BAN)
		return limit_peek_slow(p, rule);
	now = gcra_now(clock_of(p, rule));
	if (rule->hot == RL_HOT_BUCKET)
		return hot_admits(p, rule, now, limit_amount(p, rule)) ? OUTCOME_WITHIN
								       : OUTCOME_OVER;
	return hot_refuses(p, rule, now) ? OUTCOME_OVER : limit_peek_slow(p, rule);
}

/* ---- take */

static __always_inline int state_take(struct packet *p, const struct rl_rule *rule,
				      const struct rl_state_key *key, __u64 now_ns, __u64 amount)
{
	struct rl_state *state = state_find(rule, key);
	struct lease *lease = lease_find(rule);
	bool taken;

	if (!state)
		state = state_create(rule, key);
	if (!state)
		return OUTCOME_NO_ROOM;
	p->taken = 0;
	if (lease && lease_take(rule, lease, state, now_ns, amount))
		return OUTCOME_WITHIN;
	if (rule->limit.algorithm == RL_FIXED_WINDOW)
		taken = fixed_window_take(&rule->window, state, now_ns, amount, &p->taken);
	else if (rule->limit.algorithm == RL_WARM_UP)
		taken = warm_up_take(&rule->warm_up, state, gcra_now(now_ns), &p->taken);
	else
		taken = gcra_take(&rule->gcra, &state->word, gcra_now(now_ns), amount, &p->taken);
	return taken ? OUTCOME_WITHIN : OUTCOME_OVER;
}

static __always_inline int slots_take(struct packet *p, const struct rl_rule *rule,
				      const struct rl_state_key *key, __u64 now_ns, __u64 amount)
{
	struct rl_slots *slots = slots_find(key);

	if (!slots)
		slots = slots_create(key);
	if (!slots)
		return OUTCOME_NO_ROOM;
	return sliding_window_take(&rule->window, slots, now_ns, amount, &p->taken) ? OUTCOME_WITHIN
										    : OUTCOME_OVER;
}

static __always_inline int log_take(struct packet *p, const struct rl_rule *rule,
				    const struct rl_state_key *key, __u64 now_ns)
{
	struct rl_log *log = log_find(key);

	if (!log)
		log = log_create(key);
	if (!log)
		return OUTCOME_NO_ROOM;
	return sliding_log_take(&rule->window, log, now_ns, log_depth, &p->taken) ? OUTCOME_WITHIN
										  : OUTCOME_OVER;
}

/* Takes what the packet costs; p->taken is then what limit_refund gives back. enum outcome. */
__noinline int limit_take(struct packet *p, const struct rl_rule *rule)
{
	struct rl_state_key key;
	__u64 now_ns, amount;

	if (!p || !rule)
		return OUTCOME_NO_ROOM;
	amount = limit_amount(p, rule);
	key_build(&key, p, rule);
	if (rule->limit.over == RL_OVER_BAN && ban_holds(&key))
		return OUTCOME_BANNED;
	now_ns = clock_of(p, rule);
	if (rule->hot == RL_HOT_BUCKET)
		return hot_take(p, rule, gcra_now(now_ns), amount) ? OUTCOME_WITHIN : OUTCOME_OVER;
	if (rule->limit.algorithm == RL_SLIDING_WINDOW)
		return slots_take(p, rule, &key, now_ns, amount);
	if (rule->limit.algorithm == RL_SLIDING_LOG)
		return log_take(p, rule, &key, now_ns);
	return state_take(p, rule, &key, now_ns, amount);
}

/* ---- give back */

static __always_inline void state_refund(struct packet *p, const struct rl_rule *rule,
					 const struct rl_state_key *key)
{
	struct rl_state *state = state_find(rule, key);
	struct lease *lease = lease_find(rule);

	if (lease && !p->taken)
		lease->left += limit_amount(p, rule);
	if (!state || !p->taken)
		return;
	if (rule->limit.algorithm == RL_FIXED_WINDOW)
		fixed_window_refund(state, p->taken);
	else if (rule->limit.algorithm == RL_WARM_UP)
		warm_up_refund(state, p->taken);
	else
		gcra_refund(&state->word, p->taken);
}

/* An LRU may have dropped the state since: what is then given back to a newer one of the same key
 * is at most the one packet. */
__noinline int limit_refund(struct packet *p, const struct rl_rule *rule)
{
	struct rl_state_key key;
	struct rl_slots *slots;
	struct rl_log *log;

	if (!p || !rule)
		return 0;
	if (rule->hot == RL_HOT_BUCKET) {
		hot_refund(p, rule);
		return 0;
	}
	key_build(&key, p, rule);
	if (rule->limit.algorithm == RL_SLIDING_WINDOW) {
		slots = slots_find(&key);
		if (slots)
			sliding_window_refund(&rule->window, slots, p->taken,
					      limit_amount(p, rule));
	} else if (rule->limit.algorithm == RL_SLIDING_LOG) {
		log = log_find(&key);
		if (log)
			sliding_log_refund(&rule->window, log, log_depth, p->taken);
	} else {
		state_refund(p, rule, &key);
	}
	if (rule->hot == RL_HOT_REFUSAL)
		hot_pardon(p, rule);
	return 0;
}

/* Bans who went over a limit that says so. */
__noinline int limit_punish(struct packet *p, const struct rl_rule *rule)
{
	struct rl_state_key key;

	if (!p || !rule)
		return 0;
	key_build(&key, p, rule);
	ban_start(p, rule, &key);
	return 0;
}

/* ---- all limits of a packet */

static __always_inline int refused_by(struct decision *d, const struct rl_rule *rule, int outcome)
{
	if (outcome == OUTCOME_OVER && rule->limit.over == RL_OVER_BAN)
		limit_punish(&d->p, rule);
	d->slot = rule->slot;
	d->decided = 1;
	return outcome;
}

/* Would every limit admit it? enum outcome. */
static __always_inline int limits_peek(struct decision *d)
{
	for (__u32 i = 0; i < DECISION_MAX && d->picked >> i; i++) {
		struct rl_rule *rule;
		int outcome;

		if (!(d->picked & 1u << i))
			continue;
		rule = picked_rule(d, i);
		if (!rule || rule->limit.over == RL_OVER_SHADOW)
			continue;
		outcome = limit_peek(&d->p, rule);
		if (outcome != OUTCOME_WITHIN)
			return refused_by(d, rule, outcome);
	}
	return OUTCOME_WITHIN;
}

static __always_inline void limits_refund(struct decision *d, const struct taken *taken,
					  __u32 count)
{
	for (__u32 i = 0; i < DECISION_MAX && i < count; i++) {
		struct rl_rule *rule = picked_rule(d, i);

		d->p.taken = taken->by[i];
		if (rule && d->picked & ~d->shadowed & 1u << i)
			limit_refund(&d->p, rule);
	}
}

/* Takes from one limit after the other; when one refuses, gives back what the others took. */
__noinline int limits_charge(struct decision *d)
{
	struct taken *taken = only(&scratch);
	int outcome = OUTCOME_WITHIN;
	__u32 i;

	if (!d || !taken)
		return OUTCOME_NO_ROOM;
	for (i = 0; i < DECISION_MAX && d->picked >> i; i++) {
		struct rl_rule *rule = picked_rule(d, i);

		if (!rule || !(d->picked & 1u << i))
			continue;
		outcome = limit_take(&d->p, rule);
		taken->by[i] = d->p.taken;
		if (outcome != OUTCOME_WITHIN) {
			if (rule->limit.over != RL_OVER_SHADOW) {
				outcome = refused_by(d, rule, outcome);
				break;
			}
			d->shadowed |= 1u << i;
			outcome = OUTCOME_WITHIN;
		}
	}
	if (outcome != OUTCOME_WITHIN)
		limits_refund(d, taken, i);
	return outcome;
}

/* Takes from every limit, or from none. All are asked before one is taken from, so that a packet
 * that is refused has written nothing. Between the two another CPU may spend what this packet was
 * promised: limits_charge then gives back. */
static __always_inline int limits_take(struct decision *d)
{
	int outcome = limits_peek(d);

	return outcome == OUTCOME_WITHIN ? limits_charge(d) : outcome;
}

#endif
