/* SPDX-License-Identifier: GPL-2.0-only */
/* Which rules decide for a packet: longest prefix, allow before deny before limits, the next
 * shorter prefix where none matches, then the device's rules. Changes nothing; rlctl-policy(5).
 */
#pragma once

#include "algorithm/prefix_guide.h"
#include "match/group.h"
#include "match/lengths.h"
#include "match/prefix_cache.h"

__noinline int value_collect_apart(struct decision *d, const struct rl_prefix_value *value)
{
	return d && value ? value_collect(d, value) : FOUND_NONE;
}

/* The shortest prefix of the packet's family that the trie may hold. */
static __always_inline __u8 shortest_of(const struct packet *p,
					const struct rl_policy_header *header)
{
	return p->flags & PACKET_IPV4 ? header->shortest4 : header->shortest6;
}

/* From the longest prefix of at most `len` bits towards shorter ones, until one has a rule that
 * holds. enum found. */
__noinline int trie_collect(struct decision *d, const struct rl_policy_header *header, __u32 len)
{
	struct rl_prefix_key key;
	__u32 half;
	void *trie;

	if (!d || !header)
		return FOUND_NONE;
	half = header->half;
	trie = bpf_map_lookup_elem(&tries, &half);
	if (!trie)
		return FOUND_NONE;
	prefix_key(&key, &d->p, len);
	for (int depth = 0; depth < RL_NEST_MAX; depth++) {
		struct rl_prefix_value *value = bpf_map_lookup_elem(trie, &key);
		int found;

		if (!value)
			return FOUND_NONE;
		found = value_collect_apart(d, value);
		if (found != FOUND_NONE || value->len <= shortest_of(&d->p, header))
			return found;
		key.len = value->len - 1;
	}
	return FOUND_NONE;
}

/* The result for an address whose longest prefix has this value. */
static __always_inline __u64 result_of(void *trie, struct rl_prefix_key *key,
				       const struct rl_prefix_value *value, __u8 shortest)
{
	const struct rl_rule *rule = rule_at(value->range.first);
	const struct rl_prefix_value *outer = NULL;

	if (EXTENDED && config.walks_index && value->range.match_mode == RL_MATCH_MODE_INDEXED)
		rule = NULL;
	if (value->range.count && value->len > shortest) {
		key->len = value->len - 1;
		outer = bpf_map_lookup_elem(trie, key);
	}
	return result_pack((struct trie_result){
		.outer = outer ? outer->len : NO_OUTER,
		.first = value->range.first,
		.count = value->range.count,
		.match_mode = value->range.match_mode,
		.action = value->action,
		.counter_id = rule ? rule->counter_id : 0,
		.verdict_counter_id = value->counter_id,
	});
}

/* Asks the trie for the address's longest prefix, and keeps the result unless it expires. 0 where
 * nothing can be kept. */
__noinline __u64 cache_miss(struct decision *d, const struct rl_policy_header *header, __u64 tag)
{
	__u64 result = result_pack((struct trie_result){.action = NO_PREFIX});
	struct rl_prefix_set *set = cache_set_of(tag);
	struct rl_prefix_value *value;
	struct rl_prefix_key key;
	__u32 half;
	void *trie;

	if (!d || !header || !set)
		return 0;
	half = header->half;
	trie = bpf_map_lookup_elem(&tries, &half);
	if (!trie)
		return 0;
	prefix_key(&key, &d->p, RL_FAMILY_BITS + 128);
	value = bpf_map_lookup_elem(trie, &key);
	if (value && value->expires_ns)
		return 0;
	if (value)
		result = result_of(trie, &key, value, shortest_of(&d->p, header));
	cache_put(set, tag, result);
	return result;
}

static __always_inline int result_collect(struct decision *d, __u64 word,
					  const struct rl_policy_header *header)
{
	struct rl_range range;
	struct trie_result a;
	int found;

	result_unpack(&a, word);
	range = (struct rl_range){.first = a.first, .count = a.count, .match_mode = a.match_mode};
	if (!a.count && a.action == NO_PREFIX)
		return FOUND_NONE;
	if (!a.count)
		return plain_collect(d, a.verdict_counter_id, a.action);
	counters_expect(a.counter_id);
	found = group_collect(d, &range);
	if (found != FOUND_NONE)
		return found;
	d->p.cacheable = 0; /* other packets of the address may meet this group */
	return a.outer == NO_OUTER ? FOUND_NONE : trie_collect(d, header, a.outer);
}

/* May a prefix lie around the packet's address? */
static __always_inline bool prefix_may(const struct packet *p,
				       const struct rl_policy_header *header)
{
	__u32 half = header->half;
	void *inner = bpf_map_lookup_elem(&guides, &half);
	const struct rl_prefix_guide *guide = inner ? only(inner) : NULL;

	return !guide || prefix_guide_may(guide, config.hot_seed, p->flags & PACKET_IPV4,
					  packet_lookup_address(p));
}

/* The rules of the packet's prefix, or of `any` where no prefix has one that holds. */
static __always_inline int prefix_collect(struct decision *d, const struct rl_policy_header *header)
{
	int found = FOUND_NONE;

#if EXTENDED
	if (config.walks_sets && d->set_lengths) {
		found = lengths_collect(d, header);
		return found != FOUND_NONE ? found : group_collect(d, &header->any);
	}
#endif
	if (header->prefixes && (config.no_shortcuts || prefix_may(&d->p, header))) {
		__u64 tag = cache_tag(&d->p, header->generation);
		struct rl_prefix_set *set = cache_set_of(tag);
		__u64 result;

		if (config.hot_mask)
			hot_expect(&d->p);
		result = set ? cache_find(set, tag) : 0;
		if (!result)
			result = cache_miss(d, header, tag);
		if (!result)
			d->p.cacheable = 0;
		found = result ? result_collect(d, result, header)
			       : trie_collect(d, header, RL_FAMILY_BITS + 128);
	}
	return found != FOUND_NONE ? found : group_collect(d, &header->any);
}

static __always_inline int device_collect(struct decision *d, const struct rl_policy_header *header)
{
	return group_collect(d, &header->device);
}
