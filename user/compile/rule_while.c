// SPDX-License-Identifier: GPL-2.0-only
#include "compile/build.h"

#include <stdio.h>
#include <string.h>
#include <errno.h>

#include "policy/alarm.h"
#include "policy/policy.h"

bool rule_has_while(const struct rule *rule)
{
	return rule->extra && rule->extra->alarm[0];
}

bool extra_is_while(const struct rule *rule)
{
	const struct rl_extra *extra = rule->extra;
	struct rl_extra alone = {.alarm_not = extra->alarm_not};

	/* Not by its bytes alone: those of `dscp cs0` are all zero. */
	if (rule->match.flags & RL_MATCH_EXTRAS)
		return false;
	memcpy(alone.alarm, extra->alarm, sizeof(alone.alarm));
	return extra->alarm[0] && !memcmp(&alone, extra, sizeof(alone));
}

static void refuse_missing(struct build *b, const struct rule *rule)
{
	const char *name = rule->extra->alarm, *near = policy_alarm_near(b->next, name);
	char what[2 * RL_ALARM_NAME_MAX + 128];

	if (near)
		snprintf(what, sizeof(what), "unknown alarm \"%s\": did you mean %s?", name, near);
	else
		snprintf(what, sizeof(what),
			 "unknown alarm \"%s\": apply a policy with a line \"alarm %s when ...\" "
			 "first",
			 name, name);
	build_refuse(b, rule, -ENOENT, what);
}

void while_emit(struct build *b, const struct rule *rule, struct rl_rule *entry)
{
	const struct policy_alarm *alarm;

	if (!rule_has_while(rule))
		return;
	alarm = policy_alarm_find(b->next, rule->extra->alarm);
	if (!alarm) {
		refuse_missing(b, rule);
		return;
	}
	entry->alarm = policy_alarm_number(b->next, alarm) & (RL_ALARMS_MAX - 1);
	entry->flags |= rule->extra->alarm_not ? RL_RULE_WHILE_NOT : RL_RULE_WHILE;
}
