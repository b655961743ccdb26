// SPDX-License-Identifier: GPL-2.0-only
/* A whole policy as text. */
#include "policy/alarm.h"
#include "policy/policy.h"
#include "policy/sets/set.h"

void policy_lines(const struct policy *policy, const struct policy_context *ctx,
		  policy_line_fn tell, void *arg)
{
	char line[SET_TEXT_MAX > ALARM_TEXT_MAX ? SET_TEXT_MAX : ALARM_TEXT_MAX];

	for (size_t i = 0; i < policy->set_count; i++) {
		set_print(line, sizeof(line), &policy->sets[i]);
		tell(line, arg);
	}
	for (size_t i = 0; i < policy->alarm_count; i++) {
		alarm_print(line, sizeof(line), &policy->alarms[i], ctx);
		tell(line, arg);
	}
	policy_for_each (policy, rule) {
		statement_print(line, rule, ctx);
		tell(line, arg);
	}
}
