/* SPDX-License-Identifier: GPL-2.0-only */
/* The values that a rule accepts of a packet's fields, whether it names them or those that it does
 * not want. Pure.
 */
#pragma once

#include "policy/policy.h"

#define CONDITION_RANGES_MAX (RL_PORT_RANGES_MAX + 1)

struct value_range {
	uint32_t first, last; /* inclusive */
};

/* The accepted values, ascending; all of them if the rule does not state the condition, none if no
 * packet can have it. Only for the protocol, ports and numbers, without TCP flags. */
uint32_t condition_ranges(const struct rule *rule, enum rl_match_flag flag,
			  struct value_range out[CONDITION_RANGES_MAX]);

/* Is the value within one of the ranges? */
bool ranges_hold(const struct value_range *ranges, uint32_t count, uint32_t value);

/* Do `syn` and `flags` hold for a segment with these flags (the 14th byte of its header)? */
bool rule_takes_tcp_flags(const struct rule *rule, uint8_t flags);

/* Is the condition of both the same payload, filter, or set as source or destination? */
bool same_opaque(const struct rl_extra *a, const struct rl_extra *b, enum rl_match_flag flag);

/* Does the rule match no TCP segments but SYNs without ACK? */
bool rule_is_of_syns(const struct rule *rule);
