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
	const __u16 *words = (const void *)p;
	__u16 value;

	if (c->word >= RL_WORDS)
		return false;
	value = words[c->word];
	if (c->op == RL_IN_RANGE)
		return (__u16)(value - c->first) <= c->span;
	return ((value & c->span) == c->first) == (c->op == RL_BITS_ARE);
}

/* The first of so many; all of them, if there are no more. Written out, as clang does not unroll
 * the loop. */
static __always_inline bool first_hold(const struct packet *p, const struct rl_condition *c,
				       __u32 count)
{
	return count < 1 ||
	       (condition_holds(p, &c[0]) &&
		(count < 2 ||
		 (condition_holds(p, &c[1]) &&
		  (count < 3 || (condition_holds(p, &c[2]) &&
				 (count < 4 || (condition_holds(p, &c[3]) &&
						(count < 5 || condition_holds(p, &c[4])))))))));
}

/* Apart, so that the verifier follows its branches once. */
__noinline int one_more_holds(const struct packet *p, const struct rl_condition *c)
{
	return config.matches_extra && p && c && condition_holds(p, c);
}

/* Conditions for which the rule has no room. */
static __always_inline bool many_hold(const struct packet *p, const struct rl_condition *c,
				      __u32 count)
{
	if (!first_hold(p, c, count))
		return false;
	for (__u32 i = RL_CONDITIONS_INLINE; i < RL_CONDITIONS_MAX && i < count; i++)
		if (!one_more_holds(p, &c[i]))
			return false;
	return true;
}

static __always_inline bool payload_holds(const struct packet *p, const struct rl_rule *rule,
					  const struct rl_extra *extra)
{
	bool holds;

	if (!config.matches_payload)
		return false;
	if (!payload_known(p, extra, &holds))
		return payload_feared(p, rule, extra);
	return holds == !(rule->match.negated & RL_MATCH_PAYLOAD);
}

/* The conditions and the payload of the rule's element, or elements, of the map. The payload comes
 * last: simulate says of what it was asked. */
__noinline int extra_holds(const struct packet *p, const struct rl_rule *rule)
{
	const struct rl_match *m = &rule->match;
	const struct rl_extra *extra;
	__u32 half, own, many;
	void *inner;

	if (!config.matches_extra || !p || !rule)
		return 0;
	half = rule->extra >> RL_EXTRA_HALF_SHIFT;
	own = (rule->extra & RL_EXTRA_INDEX) - 1;
	inner = bpf_map_lookup_elem(&extras, &half);
	if (!inner)
		return 0;
	if (m->count & ~RL_CONDITIONS_APART) {
		many = own + !!(m->flags & RL_MATCH_FILTER);
		extra = bpf_map_lookup_elem(inner, &many);
		if (!extra || !many_hold(p, extra->conditions, m->count & ~RL_CONDITIONS_APART))
			return 0;
	}
	if (!(m->flags & RL_MATCH_PAYLOAD))
		return 1;
	extra = bpf_map_lookup_elem(inner, &own);
	return extra && payload_holds(p, rule, extra);
}

static __always_inline bool conditions_hold(const struct packet *p, const struct rl_rule *rule)
{
	__u32 count = rule->match.count;

	if (count & RL_CONDITIONS_APART)
		return extra_holds(p, rule);
	return first_hold(p, rule->match.conditions, count);
}

#endif

/* The end of the packet is in the prefix, or is not where the match negates it. That of a set is
 * among the conditions. */
static __always_inline bool end_holds(const struct packet *p, const struct rl_match *m,
				      enum rl_match_flag flag, bool extended)
{
	bool src = flag == RL_MATCH_SRC;
	__u32 len = src ? m->src_len : m->dst_len;
	bool holds;

	if (extended && len == RL_LEN_SET)
		return true;
	holds = in_prefix(p, src ? p->src : p->dst, src ? m->src : m->dst, len);
	return extended ? holds == !(m->negated & flag) : holds;
}

/* Conditions that few rules state, and which one test passes over where there is none. */
static __always_inline bool rare_hold(const struct packet *p, const struct rl_match *m, __u32 plain,
				      bool extended)
{
	if (plain & RL_MATCH_SYN && !(p->flags & PACKET_SYN))
		return false;
	if (plain & RL_MATCH_FRAGMENT && !(p->flags & PACKET_FRAGMENT))
		return false;
	if (plain & RL_MATCH_SRC && !end_holds(p, m, RL_MATCH_SRC, extended))
		return false;
	return !(plain & RL_MATCH_DST) || end_holds(p, m, RL_MATCH_DST, extended);
}

#define ENDS (RL_MATCH_SRC | RL_MATCH_DST)
#define RARE (RL_MATCH_SYN | RL_MATCH_FRAGMENT | ENDS)
#define LATE (RL_MATCH_ESTABLISHED | RL_MATCH_NEW_SOURCE)

/* Those that are found out only when they are asked for. */
static __always_inline bool late_hold(struct packet *p, const struct rl_match *m, bool extended)
{
	bool is_known = false;

#if EXTENDED
	if (m->flags & RL_MATCH_ESTABLISHED && !established_holds(p, m))
		return false;
	if (extended)
		is_known = m->negated & RL_MATCH_NEW_SOURCE;
#endif
	return !(m->flags & RL_MATCH_NEW_SOURCE) || source_is_known(p) == is_known;
}

/* With `extended`, a rule may negate what it states. Addresses and what is found out late are
 * compared under `not` here; the rest is among its conditions then. */
static __always_inline bool match_holds(struct packet *p, const struct rl_rule *rule, bool extended)
{
	const struct rl_match *m = &rule->match;
	__u32 plain = m->flags;

#if EXTENDED
	if (extended) {
		if (plain & p->facts.lacks)
			return false;
		plain &= ~(m->negated & ~ENDS);
	}
#endif
	if (plain & RL_MATCH_PROTO && p->proto != m->proto)
		return false;
	if (plain & (RL_MATCH_SPORT | RL_MATCH_DPORT) && !ports_match(p, m, plain))
		return false;
	if ((!extended || plain & RARE) && !rare_hold(p, m, plain, extended))
		return false;
#if EXTENDED
	if (extended && !conditions_hold(p, rule))
		return false;
#endif
	return (extended && !(m->flags & LATE)) || late_hold(p, m, extended);
}

/* One of the two is in the program. */
static __always_inline bool rule_match_holds(struct packet *p, const struct rl_rule *rule)
{
#if EXTENDED
	if (config.matches_extra)
		return match_holds(p, rule, true);
#endif
	return match_holds(p, rule, false);
}

/* A rule with `while` is not there before its alarm is on, one with `while not` while it is. */
static __always_inline bool while_holds(const struct packet *p, const struct rl_rule *rule)
{
#if EXTENDED
	if (config.has_alarms && rule->flags & (RL_RULE_WHILE | RL_RULE_WHILE_NOT))
		return (p->facts.alarms >> rule->alarm & 1) == !(rule->flags & RL_RULE_WHILE_NOT);
#endif
	return true;
}

__noinline int rule_holds(struct packet *p, const struct rl_rule *rule)
{
	if (!p || !rule || is_expired(rule->expires_ns) || !while_holds(p, rule))
		return 0;
	return !rule->match.flags || rule_match_holds(p, rule);
}
