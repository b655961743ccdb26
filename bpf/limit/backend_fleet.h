/* SPDX-License-Identifier: GPL-2.0-only */
/* Backend fleet: limits that all members of a fleet share. This member has a share of each, and the
 * limit's ordinary state in an LRU, with the whole rate, is asked and charged as well: nothing that
 * the agent (user/fleet/agent.c) writes lets through more than the whole limit. The agent moves
 * shares; packets never wait for it.
 *
 * A key's share is a bucket as in algorithm/gcra.h, but on a clock of its own that counts what the
 * key has earned: grains, not nanoseconds. That clock is the limit's (the part of its rate that
 * every member has for every key, or all that it has while it is alone) plus the key's lease, a
 * rate for a time. So a bucket stays exact while rates come and go. Both are records that only the
 * agent writes and that end by themselves: when the agent dies, leases end, and the limit's clock
 * goes on with the rate for a member alone.
 *
 * A fixed window has leased amounts instead: `word` counts what was spent of the lease of the
 * window that is in its upper bits. The amount that is not leased is held to the cap by the limit's
 * own window.
 *
 * Caps move without making tokens: to write one that is larger by d the agent sets the clock back
 * by d, and ahead by d when it becomes smaller. Records that end by themselves are written alike.
 *
 * Race: CPUs read the clock at different instants: a bucket is wrong by what is earned in between.
 */
#pragma once

#include "algorithm/fixed_window.h"
#include "algorithm/fleet_consume.h"
#include "algorithm/once.h"
#include "limit/backend_lru.h"
#include "clock.h"
#include "limit/key.h"
#include "limit/outcome.h"
#include "limit/state.h"

#define FLEET_ASK_NS 10000000ULL /* a key asks again at the earliest */

static __always_inline __u64 fleet_cost(const struct rl_rule *rule, __u64 amount)
{
	return amount << (rule->flags & RL_RULE_BYTES ? RL_FLEET_BYTE_SHIFT
						      : RL_FLEET_PACKET_SHIFT);
}

static __always_inline struct rl_fleet_key *fleet_key_find(const struct rl_state_key *key)
{
	return config.has_fleet ? bpf_map_lookup_elem(map_there(&fleet_keys), key) : NULL;
}

static __always_inline struct rl_fleet_key *fleet_key_create(const struct rl_state_key *key)
{
	struct rl_fleet_key none = {};

	if (!config.has_fleet)
		return NULL;
	bpf_map_update_elem(map_there(&fleet_keys), key, &none, BPF_NOEXIST);
	return bpf_map_lookup_elem(map_there(&fleet_keys), key);
}

/* Reports the key to the agent, at most once in FLEET_ASK_NS. */
__noinline int fleet_ask(struct rl_state_key *key, struct rl_fleet_key *state, __u64 now_ns)
{
	__u64 old;

	if (!config.has_fleet || !key || !state)
		return 0;
	old = READ_ONCE(state->asked_ns);
	if (now_ns - old < FLEET_ASK_NS ||
	    __sync_val_compare_and_swap(&state->asked_ns, old, now_ns) != old)
		return 0;
	bpf_ringbuf_output(map_there(&fleet_events), key, sizeof(*key), BPF_RB_NO_WAKEUP);
	return 0;
}

/* fleet_clock_of, of its own so that it is verified once. `grant` may be NULL. */
__noinline int fleet_clock_read(const struct rl_fleet_limit *limit,
				const struct rl_fleet_grant *grant, __u64 now_ns,
				struct fleet_clock *out)
{
	if (!limit || !out)
		return 0;
	*out = fleet_clock_of(limit, grant, now_ns);
	return 0;
}

/* ---- fixed windows */

__noinline int fleet_lease_try(const struct rl_fleet_grant *grant, struct rl_fleet_key *key,
			       __u64 now_ns, __u64 amount)
{
	return grant && key && fleet_lease_consume(grant, key, now_ns, amount);
}

/* The limit's window, as large as what is not leased. */
static __always_inline struct rl_window
fleet_window(const struct rl_rule *rule, const struct rl_fleet_limit *limit, __u64 now_ns)
{
	struct rl_window window = rule->window;

	window.amount = limit->phase[fleet_is_alone(limit, now_ns)].cap;
	return window;
}

static __always_inline bool fleet_window_admits(const struct rl_rule *rule,
						const struct rl_fleet_limit *limit,
						const struct rl_state_key *key, __u64 now_ns,
						__u64 amount)
{
	struct rl_window window = fleet_window(rule, limit, now_ns);
	struct rl_state fresh = {}, *state = state_find(rule, key);

	return fixed_window_admits(&window, state ? state : &fresh, now_ns, amount);
}

/* ---- this member's share */

static __always_inline struct rl_fleet_limit *fleet_limit_find(const struct rl_rule *rule)
{
	__u32 id = rule->limit_id;

	return bpf_map_lookup_elem(&fleet_limits, &id);
}

/* Would the fleet's part of a limit admit it? A limit of no fleet is held by its ordinary state. */
__noinline int fleet_share_admits(struct packet *p, const struct rl_rule *rule)
{
	struct rl_fleet_limit *limit;
	struct rl_fleet_grant *grant;
	struct rl_fleet_key *state;
	struct fleet_clock clock = {};
	struct rl_state_key key;
	__u64 now_ns, amount;
	bool within;

	if (!p || !rule)
		return 0;
	limit = fleet_limit_find(rule);
	if (!limit)
		return 1;
	amount = limit_amount(p, rule);
	now_ns = clock_precise(p);
	key_build(&key, p, rule);
	grant = bpf_map_lookup_elem(&fleet_grants, &key);
	state = fleet_key_find(&key);
	if (rule->limit.algorithm == RL_FIXED_WINDOW) {
		within = fleet_lease_covers(grant, state, now_ns, amount) ||
			 fleet_window_admits(rule, limit, &key, now_ns, amount);
	} else {
		fleet_clock_read(limit, grant, now_ns, &clock);
		within = (state ? fleet_level(&clock, state) : 0) + fleet_cost(rule, amount) <=
			 clock.cap;
	}
	if (within)
		return 1;
	if (!state)
		state = fleet_key_create(&key);
	if (!state)
		return 0;
	state->refused += amount;
	fleet_ask(&key, state, now_ns);
	return 0;
}

/* enum fleet; FLEET_HEAVY where the key is. `cost` in grains. */
__noinline int fleet_bucket_try(const struct fleet_clock *clock, struct rl_fleet_key *state,
				__u64 cost)
{
	return clock && state ? fleet_bucket_consume(clock, state, cost) : FLEET_OVER;
}

/* enum fleet. */
__noinline int fleet_share_consume(struct packet *p, const struct rl_rule *rule, __u64 amount)
{
	struct rl_fleet_limit *limit;
	struct rl_fleet_grant *grant;
	struct rl_fleet_key *state;
	struct fleet_clock clock = {};
	struct rl_state_key key;
	int taken = FLEET_WITHIN;
	bool heavy = false;
	__u64 now_ns;

	if (!p || !rule)
		return FLEET_OVER;
	limit = fleet_limit_find(rule);
	if (!limit)
		return FLEET_WITHIN;
	now_ns = clock_precise(p);
	key_build(&key, p, rule);
	grant = bpf_map_lookup_elem(&fleet_grants, &key);
	state = fleet_key_find(&key);
	if (!state)
		state = fleet_key_create(&key);
	if (!state)
		return FLEET_OVER;
	if (rule->limit.algorithm != RL_FIXED_WINDOW) {
		fleet_clock_read(limit, grant, now_ns, &clock);
		taken = fleet_bucket_try(&clock, state, fleet_cost(rule, amount));
	} else if (!fleet_lease_try(grant, state, now_ns, amount)) {
		taken = FLEET_OWN | FLEET_HEAVY;
	}
	heavy = taken & FLEET_HEAVY;
	taken &= ~FLEET_HEAVY;
	if (taken == FLEET_WITHIN)
		state->used += amount;
	if (heavy)
		fleet_ask(&key, state, now_ns);
	return taken;
}

/* From the limit's ordinary window, up to what a member has of it without a lease. */
__noinline int fleet_window_consume(struct packet *p, const struct rl_rule *rule, __u64 amount)
{
	struct rl_fleet_limit *limit;
	struct rl_fleet_key *counts;
	struct rl_window window;
	struct rl_state_key key;
	struct rl_state *state;
	__u64 now_ns;

	if (!p || !rule)
		return 0;
	limit = fleet_limit_find(rule);
	if (!limit)
		return 0;
	now_ns = clock_precise(p);
	window = fleet_window(rule, limit, now_ns);
	key_build(&key, p, rule);
	state = state_find(rule, &key);
	if (!state)
		state = state_create(rule, &key);
	if (!state || !window_consume(&window, state, now_ns, amount, &p->receipt.window))
		return 0;
	counts = fleet_key_find(&key);
	if (counts)
		counts->used += amount;
	return 1;
}

/* Gives back to the bucket. A window's lease is not given back: that costs one packet of it. */
__noinline int fleet_share_refund(struct packet *p, const struct rl_rule *rule, __u64 amount)
{
	struct rl_fleet_key *state;
	struct rl_state_key key;

	if (!p || !rule || rule->limit.algorithm == RL_FIXED_WINDOW || !fleet_limit_find(rule))
		return 0;
	key_build(&key, p, rule);
	state = fleet_key_find(&key);
	if (state)
		__sync_fetch_and_add(&state->word, -fleet_cost(rule, amount));
	return 0;
}

/* ---- the limit */

static __always_inline bool fleet_admits(struct packet *p, const struct rl_rule *rule, __u64 now_ns)
{
	return fleet_share_admits(p, rule) && lru_admits(p, rule, now_ns);
}

static __always_inline int fleet_consume(struct packet *p, const struct rl_rule *rule, __u64 now_ns)
{
	__u64 amount = limit_amount(p, rule);
	int outcome = fleet_share_consume(p, rule, amount);

	if (outcome == FLEET_OWN)
		return fleet_window_consume(p, rule, amount) ? OUTCOME_WITHIN : OUTCOME_OVER;
	if (outcome != FLEET_WITHIN)
		return OUTCOME_OVER;
	outcome = lru_consume(p, rule, now_ns);
	if (outcome != OUTCOME_WITHIN)
		fleet_share_refund(p, rule, amount);
	return outcome;
}

static __always_inline void fleet_refund(struct packet *p, const struct rl_rule *rule)
{
	fleet_share_refund(p, rule, limit_amount(p, rule));
	lru_refund(p, rule);
}
