/* SPDX-License-Identifier: GPL-2.0-only */
/* How a member consumes a fleet's limit, from a key's bucket or from a window's lease. Pure;
 * compiles for BPF and for the host. The records are explained in backend_fleet.h.
 */
#pragma once

#include "algorithm/fleet_clock.h"
#include "algorithm/once.h"

#define FLEET_TRIES 4

/* OWN: no lease of the window covers it; ask the share that the member has without one. */
enum fleet { FLEET_OVER, FLEET_WITHIN, FLEET_OWN };
#define FLEET_HEAVY (1 << 8)

/* The part of the cap that is spent; a word far ahead belongs to a clock that was set back. */
static __always_inline __u64 fleet_level(const struct fleet_clock *clock, struct rl_fleet_key *key)
{
	__u64 old = READ_ONCE(key->word);
	__s64 level = (__s64)(old - clock->grains);

	if (!old || level <= 0)
		return 0;
	if ((__u64)level > 2 * clock->cap)
		__sync_val_compare_and_swap(&key->word, old, clock->grains + clock->cap);
	return level;
}

/* Keys that never used more than half of what a member has for each are of no interest. */
static __always_inline bool fleet_is_heavy(const struct fleet_clock *clock, __u64 level, __u64 cost)
{
	return clock->cap >= 4 * cost && level > clock->cap / 2;
}

/* enum fleet; FLEET_HEAVY where the key is. `cost` in grains. */
static __always_inline int fleet_bucket_consume(const struct fleet_clock *clock,
						struct rl_fleet_key *state, __u64 cost)
{
	for (int i = 0; i < FLEET_TRIES; i++) {
		__u64 old = READ_ONCE(state->word), level = fleet_level(clock, state);
		__u64 next = clock->grains + level + cost;

		if (level + cost > clock->cap)
			return FLEET_OVER;
		if (__sync_val_compare_and_swap(&state->word, old, next ?: 1) == old)
			return fleet_is_heavy(clock, level + cost, cost)
				       ? FLEET_WITHIN | FLEET_HEAVY
				       : FLEET_WITHIN;
	}
	return FLEET_OVER;
}

/* ---- leases of windows */

static __always_inline bool fleet_lease_holds(const struct rl_fleet_grant *grant, __u64 now_ns)
{
	return grant && now_ns < grant->until_ns;
}

static __always_inline __u64 fleet_spent(const struct rl_fleet_grant *grant, __u64 word)
{
	return (word ^ grant->since_ns << RL_FLEET_SPENT_BITS) >> RL_FLEET_SPENT_BITS
		       ? 0
		       : word << (64 - RL_FLEET_SPENT_BITS) >> (64 - RL_FLEET_SPENT_BITS);
}

static __always_inline bool fleet_lease_covers(const struct rl_fleet_grant *grant,
					       const struct rl_fleet_key *key, __u64 now_ns,
					       __u64 amount)
{
	return fleet_lease_holds(grant, now_ns) && key &&
	       fleet_spent(grant, READ_ONCE(key->word)) + amount <= grant->phase.grains;
}

static __always_inline bool fleet_lease_consume(const struct rl_fleet_grant *grant,
						struct rl_fleet_key *key, __u64 now_ns,
						__u64 amount)
{
	for (int i = 0; i < FLEET_TRIES && fleet_lease_covers(grant, key, now_ns, amount); i++) {
		__u64 old = READ_ONCE(key->word), spent = fleet_spent(grant, old) + amount;

		if (spent > grant->phase.grains)
			return false;
		if (__sync_val_compare_and_swap(
			    &key->word, old, grant->since_ns << RL_FLEET_SPENT_BITS | spent) == old)
			return true;
	}
	return false;
}
