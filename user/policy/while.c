// SPDX-License-Identifier: GPL-2.0-only
#include "policy/while.h"

#include <string.h>

enum alarm_is alarm_state(const struct alarm_states *states, const char *name)
{
	return states && states->of ? states->of(name, states->arg) : ALARM_IS_UNKNOWN;
}

enum held while_held(const struct rule *rule, const struct alarm_states *states)
{
	bool off;
	const char *name = rule_while(rule, &off);
	enum alarm_is is;

	if (!name[0])
		return HELD;
	is = alarm_state(states, name);
	if (is == ALARM_IS_UNKNOWN)
		return HELD_UNKNOWN;
	return (is == ALARM_IS_ON) != off ? HELD : HELD_NOT;
}

bool same_while(const struct rule *a, const struct rule *b)
{
	bool off_a, off_b;
	const char *name_a = rule_while(a, &off_a), *name_b = rule_while(b, &off_b);

	return !strcmp(name_a, name_b) && off_a == off_b;
}
