/* SPDX-License-Identifier: GPL-2.0-only */
/* Which rules decide for a packet: longest prefix, allow before deny before limits, the next
 * shorter prefix where none matches, then the device's rules. Changes nothing; DESIGN.md §2.
 */
#ifndef RLCTL_CLASSIFY_H
#define RLCTL_CLASSIFY_H

#include "clock.h"
#include "state.h"

/* A packet on its way to a verdict: the limits that apply, then who decided and why. */
struct decision {
	struct packet p;
	__u32 rule[DECISION_MAX]; /* limits that apply: indices into the rules array */
	__u32 count;
	__u32 shadowed; /* bit i: rule[i] would have dropped it */
	__u32 slot;     /* counters of the one rule that decided alone (allow, deny, over) */
	__u32 decided;  /* 1: slot is valid */
};

/* The functions that are not inlined are where the verifier stops: it follows each once, and not
 * every way through one combined with every way through the next. */

enum found { FOUND_NONE, FOUND_ALLOW, FOUND_DENY, FOUND_LIMITS };

/* A prefix shorter than /96 is an IPv6 one, also where it lies around the mapped addresses. */
static __always_inline bool in_prefix(const struct packet *p, const __u8 addr[16],
				      const __u8 prefix[16], __u32 len)
{
	__u8 masked[16];

	if (len < RL_MAPPED_BITS && p->flags & PACKET_IPV4)
		return false;

	address_mask(masked, addr, len);
	return ((__u64 *)masked)[0] == ((const __u64 *)prefix)[0] &&
	       ((__u64 *)masked)[1] == ((const __u64 *)prefix)[1];
}

/* A packet without ports matches no port. */
static __always_inline bool ports_match(const struct packet *p, const struct rl_match *m)
{
	if (!(p->flags & PACKET_PORTS))
		return false;
	if (m->flags & RL_MATCH_SPORT && (p->sport < m->sport_first || p->sport > m->sport_last))
		return false;
	return !(m->flags & RL_MATCH_DPORT) ||
	       (p->dport >= m->dport_first && p->dport <= m->dport_last);
}

static __always_inline bool match_holds(const struct packet *p, const struct rl_match *m)
{
	if (m->flags & RL_MATCH_PROTO && p->proto != m->proto)
		return false;
	if (m->flags & (RL_MATCH_SPORT | RL_MATCH_DPORT) && !ports_match(p, m))
		return false;
	if (m->flags & RL_MATCH_SYN && !(p->flags & PACKET_SYN))
		return false;
	if (m->flags & RL_MATCH_FRAGMENT && !(p->flags & PACKET_FRAGMENT))
		return false;
	if (m->flags & RL_MATCH_SRC && !in_prefix(p, p->src, m->src, m->src_len))
		return false;
	if (m->flags & RL_MATCH_DST && !in_prefix(p, p->dst, m->dst, m->dst_len))
		return false;
	return !(m->flags & RL_MATCH_NEW_SOURCE) || !source_is_known(p);
}

__noinline int rule_holds(const struct packet *p, const struct rl_rule *rule)
{
	if (!p || !rule || is_expired(rule->expires_ns))
		return 0;
	return !rule->match.flags || match_holds(p, &rule->match);
}

static __always_inline struct rl_rule *rule_at(__u32 index)
{
	return bpf_map_lookup_elem(&rules, &index);
}

/* Rules of a group stand in the order allow, deny, limit, so the first that holds decides, and
 * where it is a limit all others that hold apply too. enum found. */
__noinline int group_collect(struct decision *d, __u32 first, __u32 count)
{
	int found = FOUND_NONE;

	if (!d)
		return FOUND_NONE;
	for (__u32 i = 0; i < RL_GROUP_MAX && i < count; i++) {
		struct rl_rule *rule = rule_at(first + i);

		if (!rule || !rule_holds(&d->p, rule))
			continue;
		if (rule->action == RL_ACTION_LIMIT) {
			d->rule[d->count++ & (DECISION_MAX - 1)] = first + i;
			found = FOUND_LIMITS;
		} else if (found == FOUND_NONE) {
			d->slot = rule->slot;
			return rule->action == RL_ACTION_ALLOW ? FOUND_ALLOW : FOUND_DENY;
		}
	}
	return found;
}

/* A plain allow or deny for a whole prefix. */
static __always_inline int plain_collect(struct decision *d, const struct rl_prefix_value *value)
{
	if (is_expired(value->expires_ns))
		return FOUND_NONE;
	d->slot = value->slot;
	return value->action == RL_ACTION_ALLOW ? FOUND_ALLOW : FOUND_DENY;
}

/* From the longest prefix towards shorter ones, until one has a rule that holds. enum found. */
__noinline int trie_collect(struct decision *d, __u32 half)
{
	struct rl_prefix_key key = {.len = RL_FAMILY_BITS + 128};
	void *trie = bpf_map_lookup_elem(&tries, &half);

	if (!d || !trie)
		return FOUND_NONE;
	key.family = d->p.flags & PACKET_IPV4 ? 4 : 6;
	__builtin_memcpy(key.addr, d->p.by_dest ? d->p.dst : d->p.src, sizeof(key.addr));
	for (int depth = 0; depth < RL_NEST_MAX; depth++) {
		struct rl_prefix_value *value = bpf_map_lookup_elem(trie, &key);
		int found;

		if (!value)
			return FOUND_NONE;
		if (value->range.count)
			found = group_collect(d, value->range.first, value->range.count);
		else
			found = plain_collect(d, value);
		if (found != FOUND_NONE || value->parent == RL_PREFIX_NONE)
			return found;
		key.len = value->parent;
	}
	return FOUND_NONE;
}

/* The rules of the packet's prefix, or of `any` where no prefix has one that holds. */
static __always_inline int prefix_collect(struct decision *d, const struct rl_policy_header *header)
{
	int found = header->prefixes ? trie_collect(d, header->half) : FOUND_NONE;

	if (found != FOUND_NONE || !header->any.count)
		return found;
	return group_collect(d, header->any.first, header->any.count);
}

static __always_inline int device_collect(struct decision *d, const struct rl_policy_header *header)
{
	if (!header->device.count)
		return FOUND_NONE;
	return group_collect(d, header->device.first, header->device.count);
}

#endif
