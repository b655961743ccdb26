// SPDX-License-Identifier: GPL-2.0-only
/* The guide of the table of members. Its words are read by packets while they are written. */

#include "compile/member_parts.h"

#include <arpa/inet.h>
#include <string.h>

#include "algorithm/member_hash.h"

static void bits_add32(__u32 *word, uint32_t bits)
{
	if ((*word & bits) != bits)
		__atomic_store_n(word, *word | bits, __ATOMIC_RELEASE);
}

static void bits_add64(__u64 *word, uint64_t bits)
{
	if ((*word & bits) != bits)
		__atomic_store_n(word, *word | bits, __ATOMIC_RELEASE);
}

static uint32_t guide6_place(const __u64 seed[2], const __u64 addr[2])
{
	uint32_t first;

	memcpy(&first, addr, sizeof(first));
	return guide6_index(seed, first);
}

/* A prefix of fewer bits than the guide has covers several of its words. */
static void guide4_add(struct rl_member_layout *layout, uint32_t addr, uint32_t len)
{
	uint32_t first = guide4_index(ntohl(addr)), count = 1;

	if (!len) {
		__atomic_store_n(&layout->zero4, 1, __ATOMIC_RELEASE);
		return;
	}
	if (len < RL_GUIDE4_BITS)
		count <<= RL_GUIDE4_BITS - len;
	for (uint32_t i = 0; i < count; i++)
		bits_add32(&layout->guide4[first + i], 1u << (len - 1));
}

void guide_add(struct rl_member_layout *layout, const __u64 seed[2], bool ipv6,
	       const struct member_slot *slot)
{
	uint32_t len = slot_len(slot);

	if (!ipv6)
		guide4_add(layout, slot->addr[0], len);
	else if (len < RL_GUIDE6_BITS)
		bits_add32(&layout->short6, 1u << len);
	else
		bits_add64(&layout->guide6[guide6_place(seed, slot->addr)].lengths[(len - 1) / 64],
			   1ull << (len - 1) % 64);
}

bool guide_has(const struct rl_member_layout *layout, const __u64 seed[2], bool ipv6,
	       const __u64 addr[2], uint32_t len)
{
	const struct rl_guide6 *guide;

	if (!ipv6 && !len)
		return layout->zero4;
	if (!ipv6)
		return layout->guide4[guide4_index(ntohl(addr[0]))] >> (len - 1) & 1;
	if (len < RL_GUIDE6_BITS)
		return layout->short6 >> len & 1;
	guide = &layout->guide6[guide6_place(seed, addr)];
	return guide->lengths[(len - 1) / 64] >> (len - 1) % 64 & 1;
}

static void word_replace32(__u32 *to, uint32_t word)
{
	if (*to != word)
		__atomic_store_n(to, word, __ATOMIC_RELEASE);
}

void guide_replace(struct rl_member_layout *layout, const struct rl_member_layout *from)
{
	word_replace32(&layout->zero4, from->zero4);
	word_replace32(&layout->short6, from->short6);
	for (int i = 0; i < 1 << RL_GUIDE4_BITS; i++)
		word_replace32(&layout->guide4[i], from->guide4[i]);
	for (int i = 0; i < RL_GUIDE6_SIZE; i++)
		for (int half = 0; half < 2; half++) {
			__u64 *to = &layout->guide6[i].lengths[half];

			if (*to != from->guide6[i].lengths[half])
				__atomic_store_n(to, from->guide6[i].lengths[half],
						 __ATOMIC_RELEASE);
		}
}
