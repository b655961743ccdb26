/* SPDX-License-Identifier: GPL-2.0-only */
/* The conditions of a rule that packets compare as numbers (include/abi/policy.h: rl_condition). */
#pragma once

#include "policy/policy.h"

/* Bits of the packet that stand for what a rule names. */
struct condition_bits {
	uint32_t filter;   /* RL_MATCH_FILTER: 0..RL_FILTERS_MAX - 1 */
	uint32_t src, dst; /* sets: 0..RL_SETS_MAX - 1 */
};

/* Returns how many there are. */
uint32_t conditions_make(const struct rule *rule, const struct condition_bits *bits,
			 struct rl_condition out[RL_CONDITIONS_MAX]);

/* Most elements of the map `extras` that the rule may take. */
uint32_t conditions_extras_most(const struct rule *rule);
