/* SPDX-License-Identifier: GPL-2.0-only */
/* The two clocks that limits are held by, both CLOCK_MONOTONIC in nanoseconds: the tick clock costs
 * nothing and is late by up to one tick, the precise one costs as much as a look-up. With
 * clock_injected both are what user space put into clock_now_ns (simulate and tests); a test may
 * make the tick clock late.
 */
#ifndef RLCTL_BPF_CLOCK_H
#define RLCTL_BPF_CLOCK_H

#include "packet/packet.h"

volatile __u64 clock_now_ns = 0;
volatile __u64 clock_late_ns = 0; /* of the tick clock behind the precise one; for tests */

static __always_inline __u64 clock_tick(void)
{
	/* First, so that the address of the constants takes no register meanwhile. */
	__u64 jiffies = bpf_jiffies64();

	if (config.clock_injected)
		return clock_now_ns - clock_late_ns;
	return jiffies * config.clock_tick_ns + config.clock_tick_base_ns;
}

static __always_inline __u64 clock_precise(struct packet *p)
{
	if (config.clock_injected)
		return clock_now_ns;
	if (!p->precise_ns)
		p->precise_ns = bpf_ktime_get_ns();
	return p->precise_ns;
}

static __always_inline __u64 clock_of(struct packet *p, const struct rl_rule *rule)
{
	return rule->clock == RL_CLOCK_TICK ? clock_tick() : clock_precise(p);
}

/* To the tick: a rule's expiry is promised to the second. */
static __always_inline bool is_expired(__u64 expires_ns)
{
	return expires_ns && expires_ns <= clock_tick();
}

#endif
