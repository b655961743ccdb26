/* SPDX-License-Identifier: GPL-2.0-only */
/* A cache of the trie's results, by address: set-associative, one line a set. The tag mixes the
 * address with the policy's generation, so that a change leaves nothing valid. A value that expires
 * is not kept.
 *
 * Races: two words are not written at once. The first holds the tag xor the result (R. Hyatt's
 * lockless hashing), so that words of two writers match no tag.
 */
#pragma once

#include "algorithm/once.h"
#include "limit/hot.h"

/* The trie's result for an address: no prefix, a plain verdict, or a group of rules. As a word,
 * from the low bits on: outer 8, count 4, match_mode 2, action 2, and then a group's first rule 24
 * and counter_id 24, or the counter_id of a plain verdict 32. 0 is no result. */
struct trie_result {
	__u32 first;              /* of the group: index of its first rule */
	__u32 counter_id;         /* of its first rule */
	__u32 verdict_counter_id; /* without a group: of the plain verdict */
	__u32 action;             /* of that, or NO_PREFIX */
	__u32 count;              /* rules of the group; 0: there is none */
	__u32 match_mode;         /* of the group: enum rl_match_mode */
	__u32 outer; /* length of the next shorter prefix around the address, or NO_OUTER */
};

#define NO_OUTER          0
#define NO_PREFIX         3
#define RESULT_COUNT      8
#define RESULT_MATCH_MODE 12
#define RESULT_ACTION     14
#define RESULT_FIRST      16
#define RESULT_COUNTER    40
#define RESULT_24_BITS    0xffffffULL

_Static_assert(RL_GROUP_MAX < 1 << (RESULT_MATCH_MODE - RESULT_COUNT), "a count");

static __always_inline __u64 result_pack(struct trie_result a)
{
	__u64 word = a.outer | a.count << RESULT_COUNT | a.match_mode << RESULT_MATCH_MODE |
		     a.action << RESULT_ACTION;

	if (!a.count)
		return word | (__u64)a.verdict_counter_id << RESULT_FIRST;
	return word | (a.first & RESULT_24_BITS) << RESULT_FIRST |
	       (__u64)a.counter_id << RESULT_COUNTER;
}

static __always_inline void result_unpack(struct trie_result *a, __u64 word)
{
	a->action = word >> RESULT_ACTION & 3;
	a->outer = word & 0xff;
	a->first = word >> RESULT_FIRST & RESULT_24_BITS;
	a->count = word >> RESULT_COUNT & 0xf;
	a->match_mode = word >> RESULT_MATCH_MODE & 3;
	a->counter_id = word >> RESULT_COUNTER;
	a->verdict_counter_id = word >> RESULT_FIRST;
}

static __always_inline __u64 cache_tag(const struct packet *p, __u64 generation)
{
	const __u64 *addr = (const __u64 *)packet_lookup_address(p);
	__u64 hash = p->flags & PACKET_IPV4 ? p->lookup_hash
					    : hot_hash(config.hot_seed, addr[0], addr[1]);
	__u64 tag = hash ^ generation * HOT_GENERATION;

	return tag ? tag : 1;
}

static __always_inline struct rl_prefix_set *cache_set_of(__u64 tag)
{
	__u32 set = tag >> 8 & config.cache_mask;

	return bpf_map_lookup_elem(&prefix_cache, &set);
}

/* The result if the way is of this tag, else 0; without a branch, as hot_is_way. */
static __always_inline __u64 cache_way(const struct rl_prefix_set *set, int i, __u64 tag)
{
	__u64 result = READ_ONCE(set->way[i].result);
	__u64 differs = READ_ONCE(set->way[i].tag) ^ result ^ tag;

	differs >>= 1;
	barrier_var(differs);
	return result & -((differs - 1) >> 63);
}

/* Returns 0 when the address is not in the cache. */
static __always_inline __u64 cache_find(const struct rl_prefix_set *set, __u64 tag)
{
	return cache_way(set, 0, tag) | cache_way(set, 1, tag) | cache_way(set, 2, tag) |
	       cache_way(set, 3, tag);
}

/* The newest is the first; the oldest is forgotten. */
static __always_inline void cache_put(struct rl_prefix_set *set, __u64 tag, __u64 result)
{
#pragma unroll
	for (int i = RL_HOT_WAYS - 1; i > 0; i--) {
		WRITE_ONCE(set->way[i].result, READ_ONCE(set->way[i - 1].result));
		WRITE_ONCE(set->way[i].tag, READ_ONCE(set->way[i - 1].tag));
	}
	WRITE_ONCE(set->way[0].result, result);
	WRITE_ONCE(set->way[0].tag, tag ^ result);
}
