/* SPDX-License-Identifier: GPL-2.0-only */
/* Does a rule's match hold for a packet: all its conditions at once; rlctl-policy(5). Objects with
 * EXTENDED have conditions of struct rl_extra and `not` besides (facts.h).
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
static __always_inline bool ports_match(const struct packet *p, const struct rl_match *m)
{
	if (!(p->flags & PACKET_PORTS))
		return false;
	if (m->flags & RL_MATCH_SPORT && (p->sport < m->sport_first || p->sport > m->sport_last))
		return false;
	return !(m->flags & RL_MATCH_DPORT) ||
	       (p->dport >= m->dport_first && p->dport <= m->dport_last);
}

static __always_inline bool match_holds(struct packet *p, const struct rl_match *m)
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
	if (EXTENDED && m->flags & RL_MATCH_ESTABLISHED && !established_holds(p, m))
		return false;
	return !(m->flags & RL_MATCH_NEW_SOURCE) || !source_is_known(p);
}

#if EXTENDED

#define AGREES(m, flag, holds) (!((m)->flags & (flag)) || (bool)(holds) == !((m)->negated & (flag)))

static __always_inline bool in_range(__u32 value, __u32 first, __u32 last)
{
	return value >= first && value <= last;
}

/* In one of so many ranges; none: there is no list. */
static __always_inline bool in_list(const struct rl_port_range *list, __u32 count, __u16 port)
{
	if (!count)
		return true;
	for (__u32 i = 0; i < RL_PORT_RANGES_MAX && i < count && port >= list[i].first; i++)
		if (port <= list[i].last)
			return true;
	return false;
}

static __always_inline bool in_sports(const struct packet *p, const struct rl_match *m)
{
	return in_range(p->sport, m->sport_first, m->sport_last);
}

static __always_inline bool in_dports(const struct packet *p, const struct rl_match *m)
{
	return in_range(p->dport, m->dport_first, m->dport_last);
}

static __always_inline struct rl_extra *extra_of(const struct rl_rule *rule)
{
	__u32 half = rule->extra >> RL_EXTRA_HALF_SHIFT;
	__u32 index = (rule->extra & RL_EXTRA_INDEX) - 1;
	void *inner = bpf_map_lookup_elem(&extras, &half);

	return inner ? bpf_map_lookup_elem(inner, &index) : NULL;
}

static __always_inline bool payload_agrees(const struct packet *p, const struct rl_rule *rule,
					   const struct rl_extra *extra)
{
	const struct rl_match *m = &rule->match;
	bool holds;

	if (!(m->flags & RL_MATCH_PAYLOAD))
		return true;
	if (!matches_payload)
		return false;
	if (!payload_known(p, extra, &holds))
		return payload_feared(p, rule, extra);
	return AGREES(m, RL_MATCH_PAYLOAD, holds);
}

static __always_inline bool icmp_is(const struct facts *facts, const struct rl_extra *extra)
{
	return facts->icmp_type == extra->icmp_type &&
	       (!extra->icmp_has_code || facts->icmp_code == extra->icmp_code);
}

static __always_inline bool headers_agree(const struct packet *p, const struct rl_match *m,
					  const struct rl_extra *extra)
{
	const struct facts *facts = &p->facts;

	return AGREES(m, RL_MATCH_TCP_FLAGS,
		      (facts->tcp_flags & extra->tcp_mask) == extra->tcp_flags) &&
	       AGREES(m, RL_MATCH_LENGTH,
		      in_range(facts->length, extra->length_first, extra->length_last)) &&
	       AGREES(m, RL_MATCH_TTL, in_range(facts->ttl, extra->ttl_first, extra->ttl_last)) &&
	       AGREES(m, RL_MATCH_DSCP, facts->dscp == extra->dscp) &&
	       AGREES(m, RL_MATCH_ICMP_TYPE, icmp_is(facts, extra));
}

/* The conditions that the rule's rl_extra adds, for a packet that lacks nothing of it. */
__noinline int extra_agrees(const struct packet *p, const struct rl_rule *rule)
{
	const struct rl_extra *extra;
	const struct rl_match *m;

	if (!matches_extra || !p || !rule)
		return 0;
	extra = extra_of(rule);
	m = &rule->match;
	if (!extra)
		return 0;
	return headers_agree(p, m, extra) &&
	       AGREES(m, RL_MATCH_SPORT,
		      in_sports(p, m) && in_list(extra->sport, extra->sport_count, p->sport)) &&
	       AGREES(m, RL_MATCH_DPORT,
		      in_dports(p, m) && in_list(extra->dport, extra->dport_count, p->dport)) &&
	       payload_agrees(p, rule, extra);
}

/* For a list, the match has the lowest and the highest port: under `not` a port between them may
 * still hold. */
static __always_inline bool ports_agree(const struct packet *p, const struct rl_rule *rule)
{
	const struct rl_match *m = &rule->match;
	__u32 between = rule->extra ? m->negated : 0;

	return (between & RL_MATCH_SPORT || AGREES(m, RL_MATCH_SPORT, in_sports(p, m))) &&
	       (between & RL_MATCH_DPORT || AGREES(m, RL_MATCH_DPORT, in_dports(p, m)));
}

/* Every packet that is classified has gone through the filters: filter.h. */
static __always_inline bool filter_holds(const struct packet *p, const struct rl_match *m)
{
	return p->facts.filters >> (m->filter_bit & (RL_FILTERS_MAX - 1)) & 1;
}

/* Those for which packets read rl_extra. */
#define MATCHES_BY_EXTRA ((RL_MATCH_EXTRAS & ~RL_MATCH_FILTER) | RL_MATCH_SPORT | RL_MATCH_DPORT)

static __always_inline bool src_holds(const struct packet *p, const struct rl_match *m)
{
	if (m->src_len == RL_LEN_SET)
		return p->facts.src_sets >> (m->src[0] & (RL_SETS_MAX - 1)) & 1;
	return in_prefix(p, p->src, m->src, m->src_len);
}

static __always_inline bool dst_holds(const struct packet *p, const struct rl_match *m)
{
	if (m->dst_len == RL_LEN_SET)
		return p->facts.dst_sets >> (m->dst[0] & (RL_SETS_MAX - 1)) & 1;
	return in_prefix(p, p->dst, m->dst, m->dst_len);
}

/* match_holds, with `not` and what is in rl_extra. */
static __always_inline bool match_agrees(struct packet *p, const struct rl_rule *rule)
{
	const struct rl_match *m = &rule->match;

	if (m->flags & p->facts.lacks || !ports_agree(p, rule))
		return false;
	if (!AGREES(m, RL_MATCH_PROTO, p->proto == m->proto) ||
	    !AGREES(m, RL_MATCH_SYN, p->flags & PACKET_SYN) ||
	    !AGREES(m, RL_MATCH_FRAGMENT, p->flags & PACKET_FRAGMENT) ||
	    !AGREES(m, RL_MATCH_SRC, src_holds(p, m)) || !AGREES(m, RL_MATCH_DST, dst_holds(p, m)))
		return false;
	if (!AGREES(m, RL_MATCH_FILTER, filter_holds(p, m)))
		return false;
	if (m->flags & MATCHES_BY_EXTRA && rule->extra && !extra_agrees(p, rule))
		return false;
	if (m->flags & RL_MATCH_ESTABLISHED && !established_holds(p, m))
		return false;
	return AGREES(m, RL_MATCH_NEW_SOURCE, !source_is_known(p));
}

#endif

/* Do all conditions of the rule hold, whichever of them there are? */
static __always_inline bool rule_match_holds(struct packet *p, const struct rl_rule *rule)
{
#if EXTENDED
	if (matches_extra)
		return match_agrees(p, rule);
#endif
	return match_holds(p, &rule->match);
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
	return !rule->match.flags || rule_match_holds(p, rule);
}
