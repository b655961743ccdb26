/* SPDX-License-Identifier: GPL-2.0-only */
/* Rules and prefixes as map entries. */
#pragma once

#include "compile/build.h"

/* The parts of the data path that the rule needs: enum rl_policy_use. */
uint32_t rule_uses(const struct rule *rule);

int rules_emit(struct build *b, const struct policy *policy);

/* The rule by which an alarm counts. */
void counting_emit(struct build *b, const struct rule *rule, bool bytes);

/* Is the prefix fe80::/10? A rule for it may apply to neighbour discovery of any address. */
bool is_link_local_prefix(const struct rule *rule);
