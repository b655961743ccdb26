// SPDX-License-Identifier: GPL-2.0-only
/* Every condition of the outer rule must follow from one of the inner rule's, of the same kind. */
#include "policy/overlap.h"

#include "base/units.h"
#include "policy/ranges.h"
#include "policy/while.h"

#define TCP_FLAGS (RL_MATCH_SYN | RL_MATCH_TCP_FLAGS)

static bool ranges_within(const struct rule *inner, const struct rule *outer,
			  enum rl_match_flag flag)
{
	struct value_range in[CONDITION_RANGES_MAX], out[CONDITION_RANGES_MAX];
	uint32_t in_count = condition_ranges(inner, flag, in);
	uint32_t out_count = condition_ranges(outer, flag, out);

	for (uint32_t i = 0; i < in_count; i++) {
		uint32_t at = 0;

		while (at < out_count && out[at].last < in[i].first)
			at++;
		if (at == out_count || out[at].first > in[i].first || out[at].last < in[i].last)
			return false;
	}
	return true;
}

static bool prefix_within(const uint8_t inner[16], uint8_t inner_len, const uint8_t outer[16],
			  uint8_t outer_len)
{
	return prefix_is_ipv4(inner, inner_len) == prefix_is_ipv4(outer, outer_len) &&
	       inner_len >= outer_len && prefix_contains(outer, outer_len, inner);
}

static bool addresses_within(const struct match *inner, const struct match *outer,
			     enum rl_match_flag flag)
{
	bool src = flag == RL_MATCH_SRC;
	const uint8_t *in = src ? inner->src : inner->dst, *out = src ? outer->src : outer->dst;
	uint8_t in_len = src ? inner->src_len : inner->dst_len;
	uint8_t out_len = src ? outer->src_len : outer->dst_len;

	if (match_names_set(inner, flag) || match_names_set(outer, flag))
		return false; /* who is in a set is not known here */
	if (match_wants(outer, flag))
		return match_wants(inner, flag) && prefix_within(in, in_len, out, out_len);
	if (!match_wants(inner, flag))
		return prefix_within(out, out_len, in, in_len);
	return !prefix_within(in, in_len, out, out_len) && !prefix_within(out, out_len, in, in_len);
}

static bool tcp_flags_within(const struct rule *inner, const struct rule *outer)
{
	for (unsigned int flags = 0; flags <= UINT8_MAX; flags++)
		if (rule_takes_tcp_flags(inner, flags) && !rule_takes_tcp_flags(outer, flags))
			return false;
	return true;
}

static bool condition_within(const struct rule *inner, const struct rule *outer,
			     enum rl_match_flag flag)
{
	bool same = match_wants(&inner->match, flag) == match_wants(&outer->match, flag);

	if (flag & TCP_FLAGS)
		return inner->match.flags & TCP_FLAGS && tcp_flags_within(inner, outer);
	if (!(inner->match.flags & flag))
		return false;
	switch (flag) {
	case RL_MATCH_SRC:
	case RL_MATCH_DST:
		if (match_names_set(&inner->match, flag) && match_names_set(&outer->match, flag))
			return same && same_opaque(inner->extra, outer->extra, flag);
		return addresses_within(&inner->match, &outer->match, flag);
	case RL_MATCH_FRAGMENT:
	case RL_MATCH_NEW_SOURCE:
	case RL_MATCH_ESTABLISHED:
		return same;
	case RL_MATCH_PAYLOAD:
	case RL_MATCH_FILTER:
		return same && same_opaque(inner->extra, outer->extra, flag);
	default:
		return ranges_within(inner, outer, flag);
	}
}

bool match_within(const struct rule *inner, const struct rule *outer)
{
	bool off;

	if (rule_while(outer, &off)[0] && !same_while(inner, outer))
		return false;
	for (unsigned int flag = 1; flag <= outer->match.flags; flag <<= 1)
		if (outer->match.flags & flag && !condition_within(inner, outer, flag))
			return false;
	return true;
}

static bool both_want(const struct rule *a, const struct rule *b, enum rl_match_flag flag)
{
	return match_wants(&a->match, flag) && match_wants(&b->match, flag);
}

bool match_differs(const struct rule *a, const struct rule *b)
{
	const struct match *m = &a->match, *n = &b->match;

	if (both_want(a, b, RL_MATCH_PROTO) && m->proto != n->proto)
		return true;
	if (both_want(a, b, RL_MATCH_SPORT) &&
	    (m->sport_first > n->sport_last || n->sport_first > m->sport_last))
		return true;
	return both_want(a, b, RL_MATCH_DPORT) &&
	       (m->dport_first > n->dport_last || n->dport_first > m->dport_last);
}
