/* SPDX-License-Identifier: GPL-2.0-only */
/* Where the hot table keeps a key: the one formula, for the program, the command line and tests.
 * Pure; the hash is in hot_hash.h.
 *
 * The address chooses the set, and four limits of an address share it, which is their lane. A key
 * of more than an address is hashed as a whole first, because one source may have many such keys.
 */
#pragma once

#include <stddef.h>

#include "algorithm/hot_hash.h"
#include "algorithm/key_parts.h"

/* Flags in the low bits of a fingerprint. */
#define HOT_AGAIN            1ULL /* the key came back */
#define HOT_REFUSED          2ULL /* its state is in an LRU; the word is a cached refusal */
#define HOT_HINT_SHIFT       2    /* in the first fingerprint of a set: its hint (hot_hint.h) */
#define HOT_HINT_SCALE_SHIFT 5
#define HOT_FLAG_BITS        9
#define HOT_FLAGS            ((1ULL << HOT_FLAG_BITS) - 1)
#define HOT_HINT             (HOT_FLAGS & ~(HOT_AGAIN | HOT_REFUSED))
#define HOT_NOBODY           (~HOT_FLAGS) /* the fingerprint of a slot that is changing hands */

/* The kinds of a slot: the table is in bpf/limit/hot.h. */
enum hot_kind { HOT_UNUSED, HOT_MOVING, HOT_SEEN_ONCE, HOT_SEEN_AGAIN, HOT_IS_REFUSED };

static __always_inline enum hot_kind hot_kind(__u64 fingerprint)
{
	if (fingerprint & HOT_REFUSED)
		return HOT_IS_REFUSED;
	if (fingerprint & HOT_AGAIN)
		return HOT_SEEN_AGAIN;
	if ((fingerprint & ~HOT_FLAGS) == HOT_NOBODY)
		return HOT_MOVING;
	return fingerprint & ~HOT_FLAGS ? HOT_SEEN_ONCE : HOT_UNUSED;
}

/* Where a key is looked for. */
struct hot_key {
	__u64 fingerprint; /* flags zero */
	__u32 set;
};

/* The hash of a key's first address under a limit. */
static __always_inline __u64 hot_key_address(const volatile __u64 seed[2], bool ipv4,
					     const __u64 addr[2], const struct rl_rule *rule)
{
	return rule->flags & RL_RULE_LOOKUP_ADDRESS ? hot_hash_address(seed, ipv4, addr)
						    : hot_hash_masked(seed, ipv4, addr, rule);
}

/* The part of a fingerprint that one address does not give: the limit, and ports where they count.
 */
static __always_inline __u64 hot_key_rest(__u32 limit_id, __u16 sport, __u16 dport)
{
	return ((__u64)sport << 48 | (__u64)dport << 32 | limit_id) * 0x9e3779b97f4a7c15ULL;
}

/* The same for a key of more than an address (not RL_RULE_SIMPLE): peer is the destination. Fields
 * that the key does not count may have any value. */
static __always_inline __u64 hot_key_long_rest(const volatile __u64 seed[2], bool ipv4,
					       const struct rl_rule *rule, __u16 sport, __u16 dport,
					       __u8 proto, const __u64 peer[2])
{
	__u8 kind = rule->limit.key;
	__u64 rest = hot_key_rest(rule->limit_id, kind == RL_KEY_FLOW ? sport : 0,
				  kind != RL_KEY_SOURCE_DEST ? dport : 0);

	if (kind == RL_KEY_SOURCE_DEST || kind == RL_KEY_FLOW)
		rest ^= hot_hash_masked(seed, ipv4, peer, rule) +
			(kind == RL_KEY_FLOW ? (__u64)proto << 32 : 0);
	return rest;
}

/* The destination of an RL_KEY_PARTS with both addresses, by its own lengths. */
static __always_inline __u64 hot_key_dest(const volatile __u64 seed[2], bool ipv4,
					  const struct rl_limit *limit, const __u64 dest[2])
{
	__u32 len = RL_MAPPED_BITS + limit->dest_len4;

	if (!ipv4)
		len = key_len6_of(dest, limit->dest_len6);
	return hot_hash(seed, ipv4 ? 0 : dest[0] & mask_be64(len),
			dest[1] & mask_be64(len > 64 ? len - 64 : 0));
}

/* The same as hot_key_long_rest, of an RL_KEY_PARTS. */
static __always_inline __u64 hot_key_parts_rest(const volatile __u64 seed[2], bool ipv4,
						const struct rl_rule *rule, __u16 sport,
						__u16 dport, __u8 proto, const __u64 dest[2])
{
	__u8 parts = rule->limit.key_parts;
	__u64 rest = hot_key_rest(rule->limit_id, parts & RL_PART_SPORT ? sport : 0,
				  parts & RL_PART_DPORT ? dport : 0);

	if (parts & RL_PART_PROTO) /* ports and limit take all bits of the rest */
		rest ^= hot_hash_word(seed, true, proto);
	if (parts_have_both(parts))
		rest ^= hot_key_dest(seed, ipv4, &rule->limit, dest);
	return rest;
}

/* The change of that by a VLAN which the key counts; it is hashed as no protocol is. */
static __always_inline __u64 hot_key_vlan(const volatile __u64 seed[2], __u16 vlan)
{
	return hot_hash_word(seed, true, 1u << 16 | vlan);
}

/* The hash of a key's first address; the same for both families where it has none. */
static __always_inline __u64 hot_key_parts_address(const struct rl_rule *rule, __u64 address)
{
	return rule->limit.key_parts & KEY_ADDRESSES ? address : 0;
}

/* address: its hash, or that of address and rest; mask: sets - 1. */
static __always_inline struct hot_key hot_key_of(__u64 address, __u64 rest, __u32 lane, __u32 mask)
{
	return (struct hot_key){
		.fingerprint = (address ^ rest) & ~HOT_FLAGS,
		.set = ((__u32)(address >> 8) ^ lane) & mask,
	};
}

/* All of it, of what a limit counts by: as bpf/limit/hot.h makes it of a packet. */
static __always_inline struct hot_key hot_key_of_state(const __u64 seed[2], __u32 mask,
						       const struct rl_rule *rule,
						       const struct rl_state_key *key)
{
	__u64 addr[2], peer[2], address, rest = hot_key_rest(rule->limit_id, 0, 0);
	bool ipv4;

	__builtin_memcpy(addr, key->addr, sizeof(addr));
	__builtin_memcpy(peer, key->peer, sizeof(peer));
	ipv4 = address_is_mapped(addr);
	address = hot_key_address(seed, ipv4, addr, rule);
	if (parts_are_member(&rule->limit)) {
		rest = hot_key_rest(rule->limit_id, key->sport, 0);
		address = hot_hash(seed, hot_hash(seed, addr[0], addr[1]), rest);
	} else if (rule->limit.key == RL_KEY_PARTS) {
		rest = hot_key_parts_rest(seed, ipv4, rule, key->sport, key->dport, key->proto,
					  peer);
		if (rule->limit.key_parts & RL_PART_VLAN)
			rest ^= hot_key_vlan(seed, key->vlan);
		address = hot_hash(seed, hot_key_parts_address(rule, address), rest);
	} else if (!(rule->flags & RL_RULE_SIMPLE)) {
		rest = hot_key_long_rest(seed, ipv4, rule, key->sport, key->dport, key->proto,
					 peer);
		address = hot_hash(seed, address, rest);
	}
	return hot_key_of(address, rest, rule->flags >> RL_RULE_LANE_SHIFT, mask);
}
