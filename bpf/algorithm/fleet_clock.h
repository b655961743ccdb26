/* SPDX-License-Identifier: GPL-2.0-only */
/* The clock that a fleet's buckets go by: what a key has earned, in grains. Pure; compiles for BPF
 * and for the host. The records are explained in backend_fleet.h.
 *
 * The clock runs at the limit's rate, and faster by the lease's while that lasts; a lease lasts no
 * longer than the limit's first phase. Modulo 2^64; precise to one grain a phase and lease.
 *
 * Range: any times; a rate's grains in any of its phases below 2^63.
 */
#pragma once

#include <stdbool.h>

#include "rlctl_abi.h"

/* The amount that the key has earned by now, and how much of it can be saved. */
struct fleet_clock {
	__u64 grains;
	__u64 cap;
};

/* a × b >> RL_FLEET_RATE_SHIFT, modulo 2^64. */
static __always_inline __u64 fleet_earned(__u64 ns, __u64 rate)
{
	__u64 a0 = (__u32)ns, a1 = ns >> 32, b0 = (__u32)rate, b1 = rate >> 32;
	__u64 low = a0 * b0, mid = a1 * b0 + (low >> 32), mid2 = a0 * b1 + (__u32)mid;
	__u64 high = a1 * b1 + (mid >> 32) + (mid2 >> 32);

	return high << (64 - RL_FLEET_RATE_SHIFT) |
	       (mid2 << 32 | (__u32)low) >> RL_FLEET_RATE_SHIFT;
}

static __always_inline __u64 fleet_span(__u64 from_ns, __u64 to_ns)
{
	return (__s64)(to_ns - from_ns) > 0 ? to_ns - from_ns : 0;
}

static __always_inline bool fleet_is_alone(const struct rl_fleet_limit *limit, __u64 now_ns)
{
	return now_ns >= limit->until_ns;
}

static __always_inline struct fleet_clock
fleet_clock_of(const struct rl_fleet_limit *limit, const struct rl_fleet_grant *grant, __u64 now_ns)
{
	const struct rl_fleet_phase *phase = &limit->phase[fleet_is_alone(limit, now_ns)];
	__u64 since = fleet_is_alone(limit, now_ns) ? limit->until_ns : limit->since_ns;
	struct fleet_clock clock = {
		.grains = phase->grains + fleet_earned(fleet_span(since, now_ns), phase->rate),
		.cap = phase->cap,
	};
	__u64 end_ns;

	if (!grant)
		return clock;
	end_ns = grant->until_ns < limit->until_ns ? grant->until_ns : limit->until_ns;
	if (now_ns < end_ns)
		clock.cap += grant->phase.cap;
	else
		clock.grains += grant->phase.cap;
	if (now_ns < end_ns)
		end_ns = now_ns;
	clock.grains += grant->phase.grains +
			fleet_earned(fleet_span(grant->since_ns, end_ns), grant->phase.rate);
	return clock;
}
