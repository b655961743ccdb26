/* SPDX-License-Identifier: GPL-2.0-only */
/* Ranges of lookup addresses: sources, or destinations where the instance goes by those. */
#pragma once

#include "policy/policy.h"

struct range {
	bool any; /* every address; else the prefix: */
	uint8_t addr[16], len;
};

/* The match that is about the lookup address. */
static inline enum rl_match_flag own_flag(bool by_dest)
{
	return by_dest ? RL_MATCH_DST : RL_MATCH_SRC;
}

/* The lookup addresses of the packets that have the match and the rule's prefix, and perhaps some
 * that the match leaves out. */
struct range range_of(const struct rule *prefix, const struct match *match, bool by_dest);

/* Has every address of the range the match, as far as it is about lookup addresses? True for a set:
 * rules_decide() takes each address for one that may be in it. */
bool range_has_match(const struct range *range, const struct match *match, bool by_dest);
