// SPDX-License-Identifier: GPL-2.0-only
/* The match that holds where two matches hold. */

#include "overlap.h"

#include <string.h>

#include "names.h"
#include "proof.h"
#include "units.h"

static bool ports_common(uint16_t *first, uint16_t *last, uint16_t other_first, uint16_t other_last)
{
	*first = *first > other_first ? *first : other_first;
	*last = *last < other_last ? *last : other_last;
	return *first <= *last;
}

static bool address_common(uint8_t addr[16], uint8_t *len, const uint8_t other[16],
			   uint8_t other_len)
{
	if (!prefix_contains(addr, *len < other_len ? *len : other_len, other))
		return false;
	if (other_len > *len) {
		memcpy(addr, other, 16);
		*len = other_len;
	}
	return true;
}

static bool ports_exist(const struct rl_match *match)
{
	const struct protocol *known = protocol_by_number(match->proto);

	return !(match->flags & RL_MATCH_PROTO) ||
	       !(match->flags & (RL_MATCH_SPORT | RL_MATCH_DPORT)) || (known && known->has_ports);
}

/* Fields that only `b` states. */
static void match_join(struct rl_match *match, const struct rl_match *b)
{
	unsigned int more = b->flags & ~match->flags;

	match->flags |= b->flags;
	match->negated |= b->negated;
	if (more & RL_MATCH_PROTO)
		match->proto = b->proto;
	if (more & RL_MATCH_SPORT) {
		match->sport_first = b->sport_first;
		match->sport_last = b->sport_last;
	}
	if (more & RL_MATCH_DPORT) {
		match->dport_first = b->dport_first;
		match->dport_last = b->dport_last;
	}
	if (more & RL_MATCH_SRC) {
		memcpy(match->src, b->src, sizeof(match->src));
		match->src_len = b->src_len;
	}
	if (more & RL_MATCH_DST) {
		memcpy(match->dst, b->dst, sizeof(match->dst));
		match->dst_len = b->dst_len;
	}
}

bool match_common(const struct rl_match *a, const struct rl_match *b, struct rl_match *out)
{
	*out = *a;
	match_join(out, b);
	if (a->flags & b->flags & (a->negated ^ b->negated))
		return false;
	if (match_wants_established(out) && !match_may_be_established(out))
		return false;
	if (a->flags & b->flags & RL_MATCH_PROTO && a->proto != b->proto)
		return false;
	if (b->flags & RL_MATCH_SPORT &&
	    !ports_common(&out->sport_first, &out->sport_last, b->sport_first, b->sport_last))
		return false;
	if (b->flags & RL_MATCH_DPORT &&
	    !ports_common(&out->dport_first, &out->dport_last, b->dport_first, b->dport_last))
		return false;
	if (b->flags & RL_MATCH_SRC && !address_common(out->src, &out->src_len, b->src, b->src_len))
		return false;
	if (b->flags & RL_MATCH_DST && !address_common(out->dst, &out->dst_len, b->dst, b->dst_len))
		return false;
	return ports_exist(out);
}
