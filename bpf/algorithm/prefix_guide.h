/* SPDX-License-Identifier: GPL-2.0-only */
/* Around which addresses a prefix of the trie may lie (rl_prefix_guide). Pure; compiles for BPF and
 * for the host. Where it says no, neither the trie nor the cache of its results is asked: packets
 * of a flood come from addresses of which nobody has made a rule.
 */
#pragma once

#include "algorithm/member_hash.h"
#include "algorithm/once.h"

_Static_assert(RL_PREFIX_GUIDE6 == RL_GUIDE6_SIZE, "guide6_index()");

static __always_inline bool guide_bit(const __u64 *bits, __u32 at, __u32 words)
{
	__u32 word = at >> 6;

	asm("" : "+r"(word)); /* the mask stays: 6.1's verifier sees no bound of `at` */
	return READ_ONCE(bits[word & (words - 1)]) >> (at & 63) & 1;
}

/* The address is mapped and in network order; seed: that of the hot table. */
static __always_inline bool prefix_guide_may(const struct rl_prefix_guide *guide,
					     const volatile __u64 seed[2], bool ipv4,
					     const __u8 addr[16])
{
	if (ipv4)
		return guide_bit(guide->ipv4, addr[12] << 8 | addr[13], 65536 / 64);
	return guide_bit(guide->ipv6, guide6_index(seed, *(const __u32 *)addr),
			 RL_PREFIX_GUIDE6 / 64);
}
