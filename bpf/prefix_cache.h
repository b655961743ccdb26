/* SPDX-License-Identifier: GPL-2.0-only */
/* What the trie answered for an address, kept in front of it: a set-associative cache, one line a
 * set. The tag mixes the address with the policy's generation, so that a change leaves nothing
 * valid. A value that expires is not kept.
 *
 * Races: two words are not written at once. The first holds the tag xor the answer (R. Hyatt's
 * lockless hashing), so that words of two writers belong to nobody's tag.
 */
#ifndef RLCTL_PREFIX_CACHE_H
#define RLCTL_PREFIX_CACHE_H

#include "algorithm/once.h"
#include "hot.h"

const volatile __u32 cache_mask = 0; /* sets - 1 */

/* A prefix's value in one word. From the low bits on: 8 of the length of the next shorter prefix
 * around the address (NO_OUTER: there is none), count 4, asks 2, action 2 (of the plain verdict, or
 * NO_PREFIX: there is none for the address), and then of a group where it begins and its first
 * rule's slot, 24 each, or the plain verdict's slot. */
#define NO_OUTER       0
#define NO_PREFIX      3
#define ANSWER_COUNT   8
#define ANSWER_ASKS    12
#define ANSWER_ACTION  14
#define ANSWER_FIRST   16
#define ANSWER_SLOT    40
#define ANSWER_24_BITS 0xffffffULL

_Static_assert(RL_GROUP_MAX < 1 << (ANSWER_ASKS - ANSWER_COUNT), "a count");

static __always_inline __u64 answer_make(const struct rl_prefix_value *value, __u32 slot,
					 __u8 outer)
{
	__u64 word = outer | value->range.count << ANSWER_COUNT | value->range.asks << ANSWER_ASKS |
		     value->action << ANSWER_ACTION;

	if (!value->range.count)
		return word | (__u64)value->slot << ANSWER_FIRST;
	return word | (value->range.first & ANSWER_24_BITS) << ANSWER_FIRST |
	       (__u64)slot << ANSWER_SLOT;
}

static __always_inline __u64 cache_tag(const struct packet *p, __u64 generation)
{
	const __u64 *addr = (const __u64 *)packet_home(p);
	__u64 hash = p->flags & PACKET_IPV4 ? p->home_hash : hot_hash(hot_seed, addr[0], addr[1]);
	__u64 tag = hash ^ generation * HOT_GENERATION;

	return tag ? tag : 1;
}

static __always_inline struct rl_prefix_set *cache_set_of(__u64 tag)
{
	__u32 set = tag >> 8 & cache_mask;

	return bpf_map_lookup_elem(&prefix_cache, &set);
}

/* The answer if the way is of this tag, else 0; without a branch, as hot_is_way. */
static __always_inline __u64 cache_way(const struct rl_prefix_set *set, int i, __u64 tag)
{
	__u64 answer = READ_ONCE(set->way[i].answer);
	__u64 differs = READ_ONCE(set->way[i].tag) ^ answer ^ tag;

	differs >>= 1;
	barrier_var(differs);
	return answer & -((differs - 1) >> 63);
}

/* Answers 0 when the address is not in the cache. */
static __always_inline __u64 cache_find(const struct rl_prefix_set *set, __u64 tag)
{
	return cache_way(set, 0, tag) | cache_way(set, 1, tag) | cache_way(set, 2, tag) |
	       cache_way(set, 3, tag);
}

/* The newest is the first; the oldest is forgotten. */
static __always_inline void cache_put(struct rl_prefix_set *set, __u64 tag, __u64 answer)
{
#pragma unroll
	for (int i = RL_HOT_WAYS - 1; i > 0; i--) {
		WRITE_ONCE(set->way[i].answer, READ_ONCE(set->way[i - 1].answer));
		WRITE_ONCE(set->way[i].tag, READ_ONCE(set->way[i - 1].tag));
	}
	WRITE_ONCE(set->way[0].answer, answer);
	WRITE_ONCE(set->way[0].tag, tag ^ answer);
}

#endif
