// SPDX-License-Identifier: GPL-2.0-only
#include "policy/packets/level.h"

#include <stdlib.h>
#include <string.h>

#include "base/units.h"

int set_member_len(const struct set_members *members, const char *name, const uint8_t addr[16])
{
	return members && members->len ? members->len(name, addr, members->arg) : SET_UNKNOWN;
}

uint8_t rule_level(const struct rule *rule, const uint8_t addr[16],
		   const struct set_members *members)
{
	int len;

	if (rule->kind == PREFIX_SET) {
		len = set_member_len(members, rule->set, addr);
		if (len == SET_UNKNOWN)
			return LEVEL_UNKNOWN;
		return len < 0 || len > LEVEL_LONGEST ? LEVEL_NONE : len;
	}
	if (rule->kind == PREFIX_ADDR && prefix_contains(rule->addr, rule->len, addr))
		return rule->len;
	return LEVEL_NONE;
}

uint8_t *policy_levels(const struct policy *policy, const uint8_t addr[16],
		       const struct set_members *members)
{
	uint8_t *levels = malloc(policy->count + 1);

	for (size_t i = 0; levels && i < policy->count; i++) {
		const struct rule *rule = &policy->rules[i];

		if (i && rule->kind == PREFIX_SET && same_prefix(rule, rule - 1))
			levels[i] = levels[i - 1];
		else
			levels[i] = rule_level(rule, addr, members);
	}
	return levels;
}

void levels_asked(const struct policy *policy, const uint8_t *levels, bool out[LEVEL_LONGEST + 1])
{
	memset(out, 0, LEVEL_LONGEST + 1);
	for (size_t i = 0; i < policy->count; i++)
		if (levels[i] != LEVEL_NONE)
			out[levels[i] == LEVEL_UNKNOWN ? LEVEL_LONGEST : levels[i]] = true;
}

bool rule_is_at(const struct policy *policy, const uint8_t *levels, const struct rule *rule,
		enum prefix_kind kind, int len)
{
	uint8_t level = levels[rule - policy->rules];

	if (kind != PREFIX_ADDR)
		return rule->kind == kind;
	return level == len || (level == LEVEL_UNKNOWN && len == LEVEL_LONGEST);
}
