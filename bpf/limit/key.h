/* SPDX-License-Identifier: GPL-2.0-only */
/* The key that a limit counts a packet by, and the amount. */
#ifndef RLCTL_BPF_KEY_H
#define RLCTL_BPF_KEY_H

#include "algorithm/key_len.h"
#include "algorithm/key_parts.h"
#include "packet/packet.h"
#include "variant.h"

#define SOURCE_LEN4 32 /* what "source" means where nothing else is said */
#define SOURCE_LEN6 KEY_LEN6_USUAL

/* *out = the first `len` bits (0..128) of addr. */
static __always_inline void address_mask(__u8 out[16], const __u8 addr[16], __u32 len)
{
	const __u64 *in = (const __u64 *)addr;
	__u64 *halves = (__u64 *)out;

	halves[0] = in[0] & mask_be64(len);
	halves[1] = in[1] & mask_be64(len > 64 ? len - 64 : 0);
}

/* How much of the packet's address a key counts. */
static __always_inline __u32 address_len(const struct packet *p, const __u8 addr[16], __u32 len4,
					 __u32 len6)
{
	if (p->flags & PACKET_IPV4)
		return RL_MAPPED_BITS + len4;
	return key_len6_of((const __u64 *)addr, len6);
}

static __always_inline bool key_is_parts(const struct rl_rule *rule)
{
	return EXTENDED && config.keys_by && rule->limit.key == RL_KEY_PARTS;
}

/* Keys of two addresses, and those with a protocol, have maps of their own. */
static __always_inline bool key_is_long(const struct rl_rule *rule)
{
	if (key_is_parts(rule))
		return parts_are_long(rule->limit.key_parts);
	return rule->limit.key == RL_KEY_SOURCE_DEST || rule->limit.key == RL_KEY_FLOW;
}

#if EXTENDED
static __always_inline void member_mask(__u8 out[16], const struct packet *p)
{
	address_mask(out, packet_lookup_address(p), p->facts.member_len);
}
#endif

/* The parts of an RL_KEY_PARTS; the rest of the key is filled in. Apart: the verifier follows it
 * once, and not wherever a key is made. */
__noinline int key_parts_put(struct rl_state_key *key, const struct packet *p,
			     const struct rl_rule *rule)
{
	const struct rl_limit *limit;
	const __u8 *addr;
	__u8 parts, by = EXTENDED ? config.keys_by : 0; /* one load */

	if (!EXTENDED || !by || !key || !p || !rule)
		return 0;
#if EXTENDED
	if (by >= KEYS_BY_MEMBER && rule->limit.key_parts == RL_PART_MEMBER) {
		member_mask(key->addr, p);
		key->sport = p->facts.member_len;
		return 0;
	}
	if (by == KEYS_BY_VLAN && rule->limit.key_parts & RL_PART_VLAN)
		key->vlan = packet_vlan(p);
#endif
	limit = &rule->limit;
	parts = limit->key_parts;
	addr = parts & RL_PART_SOURCE ? p->src : p->dst;
	if (parts & KEY_ADDRESSES)
		address_mask(key->addr, addr,
			     address_len(p, addr, limit->key_len4, limit->key_len6));
	if (parts_have_both(parts))
		address_mask(key->peer, p->dst,
			     address_len(p, p->dst, limit->dest_len4, limit->dest_len6));
	key->sport = parts & RL_PART_SPORT ? p->sport : 0;
	key->dport = parts & RL_PART_DPORT ? p->dport : 0;
	key->proto = parts & RL_PART_PROTO ? p->proto : 0;
	return 0;
}

static __always_inline void key_build(struct rl_state_key *key, const struct packet *p,
				      const struct rl_rule *rule)
{
	const struct rl_limit *limit = &rule->limit;
	const __u8 *addr = limit->key == RL_KEY_DEST ? p->dst : p->src;

	__builtin_memset(key, 0, sizeof(*key));
	key->limit_id = rule->limit_id;
	if (key_is_parts(rule)) {
		key_parts_put(key, p, rule);
		return;
	}
	if (limit->key == RL_KEY_RULE)
		return;
	address_mask(key->addr, addr, address_len(p, addr, limit->key_len4, limit->key_len6));
	if (key_is_long(rule))
		address_mask(key->peer, p->dst,
			     address_len(p, p->dst, limit->key_len4, limit->key_len6));
	if (limit->key == RL_KEY_SOURCE_DPORT || limit->key == RL_KEY_FLOW)
		key->dport = p->dport;
	if (limit->key == RL_KEY_FLOW) {
		key->sport = p->sport;
		key->proto = p->proto;
	}
}

static __always_inline __u64 limit_amount(const struct packet *p, const struct rl_rule *rule)
{
	return rule->flags & RL_RULE_BYTES ? p->bytes : packet_count(p);
}

/* The source itself, under no limit. */
static __always_inline void key_source(struct rl_state_key *key, const struct packet *p)
{
	__builtin_memset(key, 0, sizeof(*key));
	address_mask(key->addr, p->src, address_len(p, p->src, SOURCE_LEN4, SOURCE_LEN6));
}

#endif
