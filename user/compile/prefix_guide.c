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

static void add_ipv4(struct rl_prefix_guide *guide, const __u8 addr[16], uint32_t len)
{
	uint32_t first = addr[12] << 8 | addr[13];
	uint32_t count = len < 16 ? 1u << (16 - len) : 1;

	for (uint32_t i = 0; i < count; i++)
		bit_set(guide->ipv4, first + i);
}

static void add_ipv6(struct rl_prefix_guide *guide, const __u64 seed[2], const __u8 addr[16],
		     uint32_t len)
{
	__u32 first;

	if (len < 32) {
		memset(guide->ipv6, 0xff, sizeof(guide->ipv6));
		return;
	}
	memcpy(&first, addr, sizeof(first));
	bit_set(guide->ipv6, guide6_index(seed, first));
}

void prefix_guide_add(struct rl_prefix_guide *guide, const __u64 seed[2],
		      const struct rl_prefix_key *prefix)
{
	uint32_t len = prefix->len - RL_FAMILY_BITS;

	if (prefix->family == 4)
		add_ipv4(guide, prefix->addr, len - RL_MAPPED_BITS);
	else
		add_ipv6(guide, seed, prefix->addr, len);
}
