/* SPDX-License-Identifier: GPL-2.0-only */
/* Holds a packet to a limit: asks, takes, gives back. What an algorithm does is in algorithm/,
 * where its state lives in state.h; all limits of a packet: charge.h.
 */
#ifndef RLCTL_LIMITER_H
#define RLCTL_LIMITER_H

#include "algorithm/fixed_window.h"
#include "algorithm/gcra.h"
#include "algorithm/once.h"
#include "algorithm/sliding_window.h"
#include "algorithm/warm_up.h"
#include "backend_hot.h"
#include "ban.h"
#include "fleet.h"
#include "lease.h"
#include "log.h"
#include "newcomer.h"
#include "outcome.h"
#include "standing.h"

/* ---- would the limit admit it? */

/* *until_ns, here and below: until when a refused key is refused for certain, if that is known. */
static __always_inline bool state_admits(const struct rl_rule *rule, const struct rl_state_key *key,
					 __u64 now_ns, __u64 amount, __u64 *until_ns)
{
	struct rl_state fresh = {}, *state = state_find(rule, key);
	__u64 next;

	if (!state)
		state = &fresh;
	if (rule->limit.algorithm == RL_FIXED_WINDOW) {
		*until_ns = fixed_window_end(&rule->window, state);
		return fixed_window_admits(&rule->window, state, now_ns, amount);
	}
	if (rule->limit.algorithm == RL_WARM_UP) {
		*until_ns = state->word >> RL_GRAIN_SHIFT;
		return warm_up_admits(&rule->warm_up, state, gcra_now(now_ns));
	}
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

/* Of a limit whose state is in an LRU. */
__noinline int lru_admits(struct packet *p, const struct rl_rule *rule, __u64 now_ns,
			  __u64 *until_ns)
{
	struct rl_state_key key;
	__u64 amount;

	if (!p || !rule || !until_ns)
		return 0;
	key_build(&key, p, rule);
	amount = limit_amount(p, rule);
	if (rule->limit.algorithm == RL_SLIDING_WINDOW)
		return slots_admit(rule, &key, now_ns, amount, until_ns);
	if (rule->limit.algorithm == RL_SLIDING_LOG)
		return log_admits(rule, &key, now_ns, amount, until_ns);
	return state_admits(rule, &key, now_ns, amount, until_ns);
}

/* Of a bucket that a rule's packets share. */
static __always_inline bool shared_admits(const struct rl_rule *rule, __u64 now_ns, __u64 amount)
{
	struct rl_batch *lease = lease_find(rule);
	struct rl_state *state;
	__u64 next;

	if (lease && lease_covers(rule, lease, now_ns, amount))
		return true;
	state = shared_find(rule);
	if (!state)
		return false;
	gcra_settle(&rule->gcra, &state->word, gcra_now(now_ns));
	return gcra_admits(&rule->gcra, READ_ONCE(state->word), gcra_now(now_ns), amount, &next);
}

/* Something was given back: what was refused for certain is to be asked again. */
static __always_inline void limit_pardon(struct packet *p, const struct rl_rule *rule)
{
	if (rule->place == RL_PLACE_NEWCOMER)
		refusal_pardon(p, rule);
	if (rule->flags & RL_RULE_STANDS)
		standing_end(p, rule);
}

/* Asks the LRU. A newcomer that it refuses is refused until then without being looked up. The limit
 * is asked once more: another CPU may have given back, and found no refusal yet that it could take
 * away. */
__noinline int lru_peek(struct packet *p, const struct rl_rule *rule, __u64 now_ns)
{
	__u64 until_ns = 0;

	if (!p || !rule || (rule->place == RL_PLACE_FLEET && !fleet_admits(p, rule)))
		return 0;
	if (lru_admits(p, rule, now_ns, &until_ns))
		return 1;
	if (rule->place != RL_PLACE_NEWCOMER || !costs_one(p, rule) || !until_ns)
		return 0;
	refusal_put(p, rule, now_ns, until_ns);
	full_barrier(&p->receipt.grains);
	if (lru_admits(p, rule, now_ns, &until_ns))
		limit_pardon(p, rule);
	return 0;
}

static __always_inline bool limit_admits(struct packet *p, const struct rl_rule *rule)
{
	__u64 now_ns = clock_of(p, rule), amount = limit_amount(p, rule);
	int newcomer;

	if (rule->place == RL_PLACE_HOT)
		return hot_admits(p, rule, now_ns, amount);
	if (rule->place == RL_PLACE_SHARED)
		return shared_admits(rule, now_ns, amount);
	if (rule->place == RL_PLACE_NEWCOMER) {
		newcomer = newcomer_peek(p, rule, gcra_now(now_ns));
		if (newcomer != NEWCOMER_ASK)
			return newcomer == NEWCOMER_WITHIN;
	}
	return lru_peek(p, rule, now_ns);
}

/* Is the key banned under this limit? */
__noinline int limit_bans(struct packet *p, const struct rl_rule *rule)
{
	struct rl_state_key key;

	if (!p || !rule)
		return 0;
	key_build(&key, p, rule);
	return ban_holds(&key);
}

/* Takes nothing; writes no state but a bucket's that is settled after its numbers changed, and what
 * the hot table knows of refusals. enum outcome. */
static __always_inline int limit_peek(struct packet *p, const struct rl_rule *rule)
{
	if (rule->flags & RL_RULE_BAN && limit_bans(p, rule))
		return OUTCOME_BANNED;
	return limit_admits(p, rule) ? OUTCOME_WITHIN : OUTCOME_OVER;
}

/* ---- take */

/* Apart, so that limit_take, from which the longest chains of calls go on, needs no stack. */
__noinline int shared_take(struct packet *p, const struct rl_rule *rule, __u64 now_ns, __u64 amount)
{
	struct rl_state *state;
	struct rl_batch *lease;

	if (!p || !rule)
		return OUTCOME_NO_ROOM;
	state = shared_find(rule);
	lease = lease_find(rule);
	if (!state)
		return OUTCOME_NO_ROOM;
	p->receipt.grains = RECEIPT_OF_BATCH;
	if (lease && lease_take(rule, lease, state, now_ns, amount))
		return OUTCOME_WITHIN;
	return bucket_take(p, rule, &state->word, gcra_now(now_ns), amount) ? OUTCOME_WITHIN
									    : OUTCOME_OVER;
}

/* From states in an LRU, which are made where there are none. enum outcome. */

__noinline int state_take(struct packet *p, const struct rl_rule *rule, __u64 now_ns)
{
	struct rl_state_key key;
	struct rl_state *state;
	bool taken;

	if (!p || !rule)
		return OUTCOME_NO_ROOM;
	key_build(&key, p, rule);
	state = state_find(rule, &key);
	if (!state)
		state = state_create(rule, &key);
	if (!state)
		return OUTCOME_NO_ROOM;
	if (rule->limit.algorithm == RL_FIXED_WINDOW)
		taken = window_take(&rule->window, state, now_ns, limit_amount(p, rule),
				    &p->receipt.window);
	else if (rule->limit.algorithm == RL_WARM_UP)
		taken = warm_up_take(&rule->warm_up, state, gcra_now(now_ns), packet_count(p),
				     &p->receipt.grains);
	else
		taken = bucket_take(p, rule, &state->word, gcra_now(now_ns), limit_amount(p, rule));
	return taken ? OUTCOME_WITHIN : OUTCOME_OVER;
}

__noinline int slots_take(struct packet *p, const struct rl_rule *rule, __u64 now_ns)
{
	struct rl_state_key key;
	struct rl_slots *slots;

	if (!p || !rule)
		return OUTCOME_NO_ROOM;
	key_build(&key, p, rule);
	slots = slots_find(&key);
	if (!slots)
		slots = slots_create(&key);
	if (!slots)
		return OUTCOME_NO_ROOM;
	return sliding_window_take(&rule->window, slots, now_ns, limit_amount(p, rule),
				   &p->receipt.slot)
		       ? OUTCOME_WITHIN
		       : OUTCOME_OVER;
}

static __always_inline int lru_take(struct packet *p, const struct rl_rule *rule, __u64 now_ns)
{
	if (rule->limit.algorithm == RL_SLIDING_WINDOW)
		return slots_take(p, rule, now_ns);
	if (rule->limit.algorithm == RL_SLIDING_LOG && packet_count(p) > 1)
		return log_take_many(p, rule, now_ns);
	if (rule->limit.algorithm == RL_SLIDING_LOG)
		return log_take(p, rule, now_ns);
	return state_take(p, rule, now_ns);
}

/* Enters a packet that came before, at since_ns: of a limit in packets it was one. */
static __always_inline void lru_enter(struct packet *p, const struct rl_rule *rule, __u64 since_ns)
{
	__u32 segments = p->segments;

	if (frames_are_skbs)
		p->segments = 1;
	lru_take(p, rule, since_ns);
	if (frames_are_skbs)
		p->segments = segments;
}

__noinline int lru_holds(struct packet *p, const struct rl_rule *rule)
{
	struct rl_state_key key;

	if (!p || !rule)
		return 0;
	key_build(&key, p, rule);
	if (rule->limit.algorithm == RL_SLIDING_WINDOW)
		return slots_find(&key) != NULL;
	if (rule->limit.algorithm == RL_SLIDING_LOG)
		return log_find(&key) != NULL;
	return state_find(rule, &key) != NULL;
}

__noinline int limit_take_hot(struct packet *p, const struct rl_rule *rule, __u64 now_ns)
{
	if (!p || !rule)
		return OUTCOME_NO_ROOM;
	return hot_take(p, rule, gcra_now(now_ns), limit_amount(p, rule)) ? OUTCOME_WITHIN
									  : OUTCOME_OVER;
}

/* What the hot table says of a newcomer; p->since_ns: if the LRU is to hear of it. */
__noinline int limit_take_newcomer(struct packet *p, const struct rl_rule *rule, __u64 now_ns)
{
	if (!p || !rule)
		return NEWCOMER_REFUSED;
	return newcomer_take(p, rule, now_ns);
}

__noinline int limit_enter_newcomer(struct packet *p, const struct rl_rule *rule, __u64 now_ns)
{
	if (!p || !rule)
		return NEWCOMER_REFUSED;
	return newcomer_enter(p, rule, now_ns);
}

/* The LRU holds a key that no slot tells of. */
__noinline int limit_hint(struct packet *p, const struct rl_rule *rule, __u64 now_ns)
{
	struct rl_hot_set *set;
	struct hot_key key;

	if (!p || !rule)
		return 0;
	key = hot_key_build(p, rule);
	set = bpf_map_lookup_elem(&hot, &key.set);
	if (set)
		newcomer_hint(rule, set, gcra_now(now_ns));
	return 0;
}

static __always_inline int limit_take_big(struct packet *p, const struct rl_rule *rule,
					  __u64 now_ns)
{
	int newcomer = limit_take_newcomer(p, rule, now_ns);

	if (newcomer == NEWCOMER_ASK && p->since_ns)
		lru_enter(p, rule, p->since_ns - 1);
	else if (newcomer >= NEWCOMER_ASK && !lru_holds(p, rule))
		newcomer = limit_enter_newcomer(p, rule, now_ns);
	else if (newcomer == NEWCOMER_LOOK)
		limit_hint(p, rule, now_ns);
	if (newcomer >= NEWCOMER_ASK)
		return lru_take(p, rule, now_ns);
	return newcomer == NEWCOMER_WITHIN ? OUTCOME_WITHIN : OUTCOME_OVER;
}

/* From the fleet, then from the ordinary state, which holds the whole limit. */
static __always_inline int limit_take_fleet(struct packet *p, const struct rl_rule *rule,
					    __u64 now_ns)
{
	__u64 amount = limit_amount(p, rule);
	int outcome = fleet_take(p, rule, amount);

	if (outcome == FLEET_OWN)
		return fleet_window_take(p, rule, amount) ? OUTCOME_WITHIN : OUTCOME_OVER;
	if (outcome != FLEET_WITHIN)
		return OUTCOME_OVER;
	outcome = lru_take(p, rule, now_ns);
	if (outcome != OUTCOME_WITHIN)
		fleet_refund(p, rule, amount);
	return outcome;
}

/* Takes what the packet costs; p->receipt is then what limit_refund gives back. enum outcome. */
__noinline int limit_take(struct packet *p, const struct rl_rule *rule)
{
	__u64 now_ns;

	if (!p || !rule)
		return OUTCOME_NO_ROOM;
	if (rule->flags & RL_RULE_BAN && limit_bans(p, rule))
		return OUTCOME_BANNED;
	now_ns = clock_of(p, rule);
	switch (rule->place) {
	case RL_PLACE_HOT:
		return limit_take_hot(p, rule, now_ns);
	case RL_PLACE_SHARED:
		return shared_take(p, rule, now_ns, limit_amount(p, rule));
	case RL_PLACE_NEWCOMER:
		return limit_take_big(p, rule, now_ns);
	case RL_PLACE_FLEET:
		return limit_take_fleet(p, rule, now_ns);
	}
	return lru_take(p, rule, now_ns);
}

/* ---- give back */

static __always_inline void shared_refund(const struct packet *p, const struct rl_rule *rule)
{
	struct rl_state *state;
	struct rl_batch *lease;

	if (p->receipt.grains != RECEIPT_OF_BATCH) {
		state = shared_find(rule);
		if (state)
			gcra_refund(&state->word, p->receipt.grains);
		return;
	}
	lease = lease_find(rule);
	if (lease)
		lease->left += limit_amount(p, rule);
}

static __always_inline void state_refund(struct packet *p, const struct rl_rule *rule,
					 const struct rl_state_key *key)
{
	struct rl_state *state = state_find(rule, key);

	if (!state)
		return;
	if (rule->limit.algorithm == RL_FIXED_WINDOW)
		fixed_window_refund(state, p->receipt.window);
	else if (rule->limit.algorithm == RL_WARM_UP)
		warm_up_refund(state, p->receipt.grains, packet_count(p));
	else
		gcra_refund(&state->word, p->receipt.grains);
}

/* An LRU may have dropped the state since: what is then given back to a newer one of the same key
 * is at most the one packet. */
__noinline int lru_refund(struct packet *p, const struct rl_rule *rule)
{
	struct rl_state_key key;
	struct rl_slots *slots;

	if (!p || !rule)
		return 0;
	if (rule->limit.algorithm == RL_SLIDING_LOG) {
		log_refund(p, rule, packet_count(p));
		return 0;
	}
	key_build(&key, p, rule);
	if (rule->limit.algorithm == RL_SLIDING_WINDOW) {
		slots = slots_find(&key);
		if (slots)
			sliding_window_refund(&rule->window, slots, p->receipt.slot,
					      limit_amount(p, rule));
	} else {
		state_refund(p, rule, &key);
	}
	return 0;
}

__noinline int limit_refund(struct packet *p, const struct rl_rule *rule)
{
	if (!p || !rule)
		return 0;
	if (rule->place == RL_PLACE_HOT) {
		hot_refund(p, rule);
	} else if (rule->place == RL_PLACE_SHARED) {
		shared_refund(p, rule);
	} else if (rule->place == RL_PLACE_LRU) {
		lru_refund(p, rule);
	} else if (rule->place == RL_PLACE_FLEET) {
		fleet_refund(p, rule, limit_amount(p, rule));
		lru_refund(p, rule);
	} else if (!newcomer_refund(p, rule)) {
		lru_refund(p, rule);
	}
	limit_pardon(p, rule);
	return 0;
}

/* What follows from a refusal: a ban, if the limit says so, or that it stands, if it may. */
__noinline int limit_refused(struct packet *p, const struct rl_rule *rule)
{
	struct rl_state_key key;

	if (!p || !rule)
		return 0;
	if (rule->flags & RL_RULE_BAN) {
		key_build(&key, p, rule);
		ban_start(p, rule, &key);
	} else if (packet_count(p) == 1) {
		standing_keep(p, rule);
	}
	return 0;
}

#endif
