// SPDX-License-Identifier: GPL-2.0-only
#include "compile/compile.h"

#include <stdint.h>
#include <string.h>

#include "algorithm/prefix_guide.h"

/* Packets may be reading it. */
static void bit_set(__u64 *bits, uint32_t at)
{
	__atomic_fetch_or(&bits[at / 64], 1ull << at % 64, __ATOMIC_RELAXED);
}

void prefix_guide_add(struct rl_prefix_guide *guide, const __u64 seed[2],
		      const struct rl_prefix_key *prefix)
{
	uint32_t len = prefix->len - RL_FAMILY_BITS, first;

	if (prefix->family == 4) {
		len -= RL_MAPPED_BITS;
		first = prefix->addr[12] << 8 | prefix->addr[13];
		for (uint32_t i = 0; i < (len < 16 ? 1u << (16 - len) : 1); i++)
			bit_set(guide->ipv4, first + i);
	} else if (len < 32) {
		memset(guide->ipv6, 0xff, sizeof(guide->ipv6));
	} else {
		memcpy(&first, prefix->addr, sizeof(first));
		bit_set(guide->ipv6, guide6_index(seed, first));
	}
}
