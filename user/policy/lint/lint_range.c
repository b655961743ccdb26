// SPDX-License-Identifier: GPL-2.0-only
#include "policy/lint/lint_range.h"

#include <string.h>

#include "base/units.h"

/* The address of the match, wanted or not; false: there is none, or it is a set. */
static bool own_match(const struct match *match, bool by_dest, struct range *out)
{
	if (!(match->flags & own_flag(by_dest)) || match_names_set(match, own_flag(by_dest)))
		return false;
	*out = (struct range){.len = by_dest ? match->dst_len : match->src_len};
	memcpy(out->addr, by_dest ? match->dst : match->src, sizeof(out->addr));
	return true;
}

static bool range_contains(const struct range *outer, const struct range *inner)
{
	return outer->any || (!inner->any && outer->len <= inner->len &&
			      prefix_contains(outer->addr, outer->len, inner->addr));
}

struct range range_of(const struct rule *prefix, const struct match *match, bool by_dest)
{
	struct range range = {.any = prefix->kind != PREFIX_ADDR, .len = prefix->len}, own;

	memcpy(range.addr, prefix->addr, sizeof(range.addr));
	if (own_match(match, by_dest, &own) && match_wants(match, own_flag(by_dest)) &&
	    range_contains(&range, &own))
		range = own;
	return range;
}

bool range_has_match(const struct range *range, const struct match *match, bool by_dest)
{
	struct range own;

	if (!own_match(match, by_dest, &own))
		return true;
	if (match_wants(match, own_flag(by_dest)))
		return range_contains(&own, range);
	return !range_contains(&own, range) && !range_contains(range, &own);
}
