// SPDX-License-Identifier: GPL-2.0-only
#include "policy/ranges.h"

#include <netinet/tcp.h>
#include <string.h>

#include "policy/field.h"

#define LENGTH_MAX (40 + UINT16_MAX) /* of IPv6, whose header is not in its length */

static uint32_t value_max(enum rl_match_flag flag)
{
	return flag == RL_MATCH_LENGTH ? LENGTH_MAX : all_fields[field_of(flag)].max;
}

static uint32_t port_ranges(const struct rule *rule, bool sport, struct value_range *out)
{
	struct rl_port_range ports[RL_PORT_RANGES_MAX];
	uint32_t count = sport ? rule_sports(rule, ports) : rule_dports(rule, ports);

	for (uint32_t i = 0; i < count; i++)
		out[i] = (struct value_range){ports[i].first, ports[i].last};
	return count;
}

/* As written, without `not`. */
static uint32_t named_ranges(const struct rule *rule, enum rl_match_flag flag,
			     struct value_range *out)
{
	struct rl_numbers numbers;

	switch (flag) {
	case RL_MATCH_SPORT:
	case RL_MATCH_DPORT:
		return port_ranges(rule, flag == RL_MATCH_SPORT, out);
	case RL_MATCH_PROTO:
		out[0] = (struct value_range){rule->match.proto, rule->match.proto};
		return 1;
	default:
		numbers = rule->extra->number[all_fields[field_of(flag)].number];
		out[0] = (struct value_range){numbers.first, numbers.last};
		return 1;
	}
}

/* The gaps between ascending ranges, from 0 to `max`. */
static uint32_t ranges_invert(const struct value_range *ranges, uint32_t count, uint32_t max,
			      struct value_range *out)
{
	uint32_t next = 0, gaps = 0;

	for (uint32_t i = 0; i < count; i++) {
		if (ranges[i].first > next)
			out[gaps++] = (struct value_range){next, ranges[i].first - 1};
		next = ranges[i].last + 1;
	}
	if (next <= max)
		out[gaps++] = (struct value_range){next, max};
	return gaps;
}

uint32_t condition_ranges(const struct rule *rule, enum rl_match_flag flag,
			  struct value_range out[CONDITION_RANGES_MAX])
{
	struct value_range named[CONDITION_RANGES_MAX];
	uint32_t max = value_max(flag);

	if (!(rule->match.flags & flag)) {
		out[0] = (struct value_range){0, max};
		return 1;
	}
	if (!(rule->match.negated & flag))
		return named_ranges(rule, flag, out);
	return ranges_invert(named, named_ranges(rule, flag, named), max, out);
}

bool ranges_hold(const struct value_range *ranges, uint32_t count, uint32_t value)
{
	for (uint32_t i = 0; i < count; i++)
		if (value >= ranges[i].first && value <= ranges[i].last)
			return true;
	return false;
}

bool rule_takes_tcp_flags(const struct rule *rule, uint8_t flags)
{
	const struct match *match = &rule->match;

	if (match->flags & RL_MATCH_SYN &&
	    ((flags & (TH_SYN | TH_ACK)) == TH_SYN) != match_wants(match, RL_MATCH_SYN))
		return false;
	return !(match->flags & RL_MATCH_TCP_FLAGS) ||
	       ((flags & rule->extra->number[RL_NUMBER_TCP_FLAGS].last) ==
		rule->extra->number[RL_NUMBER_TCP_FLAGS].first) ==
		       match_wants(match, RL_MATCH_TCP_FLAGS);
}

bool same_opaque(const struct rl_extra *a, const struct rl_extra *b, enum rl_match_flag flag)
{
	if (flag == RL_MATCH_FILTER)
		return !strcmp(a->filter, b->filter);
	if (flag == RL_MATCH_SRC)
		return !strcmp(a->src_set, b->src_set);
	if (flag == RL_MATCH_DST)
		return !strcmp(a->dst_set, b->dst_set);
	return a->payload_at == b->payload_at && a->payload_len == b->payload_len &&
	       !memcmp(a->payload, b->payload, sizeof(a->payload)) &&
	       !memcmp(a->payload_mask, b->payload_mask, sizeof(a->payload_mask));
}

bool rule_is_of_syns(const struct rule *rule)
{
	if (!(rule->match.flags & (RL_MATCH_SYN | RL_MATCH_TCP_FLAGS)))
		return false;
	for (unsigned int flags = 0; flags <= UINT8_MAX; flags++)
		if ((flags & (TH_SYN | TH_ACK)) != TH_SYN && rule_takes_tcp_flags(rule, flags))
			return false;
	return true;
}
