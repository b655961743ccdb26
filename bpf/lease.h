/* SPDX-License-Identifier: GPL-2.0-only */
/* Leases: at high rates a bucket that all CPUs share would be one cache line that all write. Each
 * CPU takes `rule->lease` packets or bytes at once and spends them alone.
 *
 * Bound: the shared bucket's capacity is smaller by one lease per CPU (numbers.c), so bucket and
 * leases together never hold more than the burst, and never admit more than burst + rate × time.
 * What is left of a lease after LEASE_NS goes back to the bucket when its CPU sees the next packet;
 * a CPU that sees none more keeps at most one lease from the others, until the bucket refills.
 */
#ifndef RLCTL_LEASE_H
#define RLCTL_LEASE_H

#include "algorithm/gcra.h"
#include "clock.h"
#include "state.h"

#define LEASE_NS 8000000 /* two ticks of the slowest common tick clock */

static __always_inline struct rl_batch *lease_find(const struct rl_rule *rule)
{
	__u32 slot = rule->slot;

	return rule->lease ? bpf_map_lookup_elem(&leases, &slot) : NULL;
}

static __always_inline bool lease_covers(const struct rl_rule *rule, const struct rl_batch *lease,
					 __u64 now_ns, __u64 amount)
{
	return lease->limit_id == rule->limit_id && lease->left >= amount &&
	       now_ns - lease->since_ns < LEASE_NS;
}

/* Puts back what an old lease has left; drops one of another limit that had the slot before. */
static __always_inline void lease_return(const struct rl_rule *rule, struct rl_batch *lease,
					 struct rl_state *bucket)
{
	if (lease->limit_id == rule->limit_id && lease->left)
		gcra_refund(&bucket->word, lease->left * rule->gcra.cost >> rule->gcra.cost_shift);
	lease->left = 0;
}

/* Takes from the CPU's lease, or a new lease from the bucket and from that. False: the bucket has
 * not so much; it may still have `amount`. */
static __always_inline bool lease_take(const struct rl_rule *rule, struct rl_batch *lease,
				       struct rl_state *bucket, __u64 now_ns, __u64 amount)
{
	__u64 taken;

	if (lease_covers(rule, lease, now_ns, amount)) {
		lease->left -= amount;
		return true;
	}
	lease_return(rule, lease, bucket);
	if (amount > rule->lease ||
	    !gcra_take(&rule->gcra, &bucket->word, gcra_now(now_ns), rule->lease, &taken))
		return false;
	lease->limit_id = rule->limit_id;
	lease->since_ns = now_ns;
	lease->left = rule->lease - amount;
	return true;
}

#endif
