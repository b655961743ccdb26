/* SPDX-License-Identifier: GPL-2.0-only */
/* Does a rule's match hold for a packet: all its conditions at once; rlctl-policy(5). Those that
 * most rules state are compared one by one, all others, and `not` of any, as struct rl_condition:
 * only with EXTENDED (facts.h).
 */
#pragma once

#include "clock.h"
#include "match/known_source.h"
#include "maps.h"
#include "match/payload.h"
#include "proof/proof.h"

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
static __always_inline bool ports_match(const struct packet *p, const struct rl_match *m,
					__u32 flags)
{
	if (!(p->flags & PACKET_PORTS))
		return false;
	if (flags & RL_MATCH_SPORT && (p->sport < m->sport_first || p->sport > m->sport_last))
		return false;
	return !(flags & RL_MATCH_DPORT) ||
	       (p->dport >= m->dport_first && p->dport <= m->dport_last);
}

#if EXTENDED

static __always_inline bool condition_holds(const struct packet *p, const struct rl_condition *c)
{
	__u16 value = p->facts.value[c->value & (RL_VALUES - 1)];

	if (c->operator== RL_IN_RANGE)
		return (__u16)(value - c->first) <= c->span;
	return ((value & c->span) == c->first) == (c->operator== RL_BITS_ARE);
}

static __always_inline struct rl_extra *extra_at(const struct rl_rule *rule, __u32 after)
{
	__u32 half = rule->extra >> RL_EXTRA_HALF_SHIFT;
	__u32 index = (rule->extra & RL_EXTRA_INDEX) - 1 + after;
	void *inner = bpf_map_lookup_elem(&extras, &half);

	return inner ? bpf_map_lookup_elem(inner, &index) : NULL;
}

/* Apart, so that the verifier follows its branches once. */
__noinline int one_of_many_holds(const struct packet *p, const struct rl_condition *c)
{
	return matches_extra && p && c && condition_holds(p, c);
}

/* More conditions than a rule has room for. */
__noinline int many_conditions_hold(const struct packet *p, const struct rl_rule *rule)
{
	const struct rl_extra *extra;

	if (!matches_extra || !p || !rule)
		return 0;
	extra = extra_at(rule, !!(rule->match.flags & RL_MATCH_FILTER));
	if (!extra)
		return 0;
	for (__u32 i = 0; i < RL_CONDITIONS_MAX && i < rule->match.count; i++)
		if (!one_of_many_holds(p, &extra->conditions[i]))
			return 0;
	return 1;
}

static __always_inline bool conditions_hold(const struct packet *p, const struct rl_rule *rule)
{
	const struct rl_match *m = &rule->match;

	if (m->count > RL_CONDITIONS_INLINE || RL_MATCH_HAS_PREFIX(m))
		return !m->count || many_conditions_hold(p, rule);
	for (__u32 i = 0; i < RL_CONDITIONS_INLINE && i < m->count; i++)
		if (!condition_holds(p, &m->conditions[i]))
			return false;
	return true;
}

__noinline int payload_holds(const struct packet *p, const struct rl_rule *rule)
{
	const struct rl_extra *extra;
	bool holds;

	if (!matches_payload || !p || !rule)
		return 0;
	extra = extra_at(rule, 0);
	if (!extra)
		return 0;
	if (!payload_known(p, extra, &holds))
		return payload_feared(p, rule, extra);
	return holds == !(rule->match.negated & RL_MATCH_PAYLOAD);
}

#endif

/* The end of the packet is in the prefix, or is not where the match negates it. That of a set is
 * among the conditions. */
static __always_inline bool end_holds(const struct packet *p, const struct rl_match *m,
				      enum rl_match_flag flag)
{
	bool src = flag == RL_MATCH_SRC;
	__u32 len = src ? m->src_len : m->dst_len;
	bool holds;

	if (EXTENDED && matches_extra && len == RL_LEN_SET)
		return true;
	holds = in_prefix(p, src ? p->src : p->dst, src ? m->src : m->dst, len);
	return EXTENDED && matches_extra ? holds == !(m->negated & flag) : holds;
}

/* Conditions that the match negates are among those that rl_condition holds, apart from addresses,
 * the payload, and what is found out when it is asked for. */
static __always_inline bool match_holds(struct packet *p, const struct rl_rule *rule)
{
	const struct rl_match *m = &rule->match;
	__u32 plain = m->flags;

#if EXTENDED
	if (matches_extra) {
		if (plain & p->facts.lacks)
			return false;
		plain &= ~m->negated;
	}
#endif
	if (plain & RL_MATCH_PROTO && p->proto != m->proto)
		return false;
	if (plain & (RL_MATCH_SPORT | RL_MATCH_DPORT) && !ports_match(p, m, plain))
		return false;
	if (plain & RL_MATCH_SYN && !(p->flags & PACKET_SYN))
		return false;
	if (plain & RL_MATCH_FRAGMENT && !(p->flags & PACKET_FRAGMENT))
		return false;
	if (m->flags & RL_MATCH_SRC && !end_holds(p, m, RL_MATCH_SRC))
		return false;
	if (m->flags & RL_MATCH_DST && !end_holds(p, m, RL_MATCH_DST))
		return false;
#if EXTENDED
	if (matches_extra && !conditions_hold(p, rule))
		return false;
	if (matches_extra && m->flags & RL_MATCH_PAYLOAD && !payload_holds(p, rule))
		return false;
	if (m->flags & RL_MATCH_ESTABLISHED && !established_holds(p, m))
		return false;
	if (matches_extra)
		return !(m->flags & RL_MATCH_NEW_SOURCE) ||
		       source_is_known(p) == !!(m->negated & RL_MATCH_NEW_SOURCE);
#endif
	return !(m->flags & RL_MATCH_NEW_SOURCE) || !source_is_known(p);
}

/* A rule with `while` is not there before its alarm is on, one with `while not` while it is. */
static __always_inline bool while_holds(const struct packet *p, const struct rl_rule *rule)
{
#if EXTENDED
	if (counts_alarms && rule->flags & (RL_RULE_WHILE | RL_RULE_WHILE_NOT))
		return (p->facts.alarms >> rule->alarm & 1) == !(rule->flags & RL_RULE_WHILE_NOT);
#endif
	return true;
}

__noinline int rule_holds(struct packet *p, const struct rl_rule *rule)
{
	if (!p || !rule || is_expired(rule->expires_ns) || !while_holds(p, rule))
		return 0;
	return !rule->match.flags || match_holds(p, rule);
}
