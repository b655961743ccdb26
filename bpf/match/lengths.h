/* SPDX-License-Identifier: GPL-2.0-only */
/* Which rules decide for an address that is in sets: prefixes of rules and members of sets alike,
 * from the longest on. Those of one length stand together: allow before deny before limits, and
 * where none holds, the next shorter length decides. Only with EXTENDED.
 */
#pragma once

#include "match/group.h"
#include "match/sets.h"

static __always_inline void prefix_key(struct rl_prefix_key *key, const struct packet *p, __u32 len)
{
	__builtin_memset(key, 0, sizeof(*key));
	key->len = len;
	key->family = p->flags & PACKET_IPV4 ? 4 : 6;
	__builtin_memcpy(key->addr, packet_lookup_address(p), sizeof(key->addr));
}

#if EXTENDED

/* One more group of the same length; d->counter_id is that of the verdict in `found`. */
static __always_inline int length_join(struct decision *d, int found, const struct rl_range *range)
{
	__u32 counter_id = d->counter_id;
	int own = group_collect(d, range);

	if (own == FOUND_ALLOW || found == FOUND_NONE)
		return own;
	if (found == FOUND_DENY)
		d->counter_id = counter_id;
	else if (own == FOUND_DENY)
		return own;
	return found;
}

/* The groups of all sets of a length. */
__noinline int length_sets_collect(struct decision *d, __u64 sets, __u32 found)
{
	const struct rl_set_groups *groups;

	if (!d)
		return found;
	groups = groups_of(d->half);
	if (!groups)
		return found;
	for (int i = 0; i < RL_SET_PREFIX_MAX && sets && found != FOUND_ALLOW; i++) {
		__u32 set = highest_bit(sets & -sets) & (RL_SETS_MAX - 1);

		sets &= sets - 1;
		found = length_join(d, found, &groups->range[set]);
	}
	return found;
}

/* The value of the longest prefix for d->length_key. The key is copied: kernels such as 6.1 take no
 * key from memory that a function was handed. */
static __always_inline const struct rl_prefix_value *
length_prefix(const struct decision *d, const struct rl_policy_header *header)
{
	struct rl_prefix_key key;
	__u32 half = header->half;
	void *trie;

	if (!header->prefixes || d->length_key.len < RL_FAMILY_BITS)
		return NULL;
	trie = bpf_map_lookup_elem(&tries, &half);
	key = d->length_key;
	return trie ? bpf_map_lookup_elem(trie, &key) : NULL;
}

/* The next length: that of d->length_at, of the longest prefix for d->length_key, or both. Apart,
 * so that the verifier follows it once. enum found; d->length_over: it was the last. */
__noinline int length_collect(struct decision *d, const struct rl_policy_header *header)
{
	const struct rl_prefix_value *value;
	const struct set_length *sets;
	int found = FOUND_NONE;
	__u32 len, plain;

	if (!d || !header)
		return FOUND_NONE;
	value = length_prefix(d, header);
	sets = &d->set_length[d->length_at & (RL_SET_PREFIX_MAX - 1)];
	len = d->length_at < d->set_lengths ? sets->len : 0; /* no key is as short as 0 */
	plain = value ? value->len : 0;
	d->length_over = !len && !plain;
	if (d->length_over)
		return FOUND_NONE;
	d->limits = 0;
	if (value && plain >= len) {
		found = value_collect(d, value);
		d->length_key.len = plain - 1;
	}
	if (len >= plain) {
		if (config.keys_by >= KEYS_BY_MEMBER)
			d->p.facts.member_len = len - RL_FAMILY_BITS;
		found = length_sets_collect(d, sets->sets, found);
		d->length_at++;
	}
	return found;
}

/* enum found. d->set_lengths is not 0. Inlined: the call depth limit of 8 is reached at
 * rule_holds(). */
static __always_inline int lengths_collect(struct decision *d,
					   const struct rl_policy_header *header)
{
	int found = FOUND_NONE;

	d->length_at = 0;
	d->length_over = 0;
	prefix_key(&d->length_key, &d->p, RL_FAMILY_BITS + 128);
	for (int i = 0; i < RL_NEST_MAX + RL_SET_PREFIX_MAX; i++) {
		found = length_collect(d, header);
		if (found != FOUND_NONE || d->length_over)
			break;
	}
	return found;
}

#endif
