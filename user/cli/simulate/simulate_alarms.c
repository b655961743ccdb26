// SPDX-License-Identifier: GPL-2.0-only
/* rlctl simulate --alarm: manual alarms that are on through the whole capture. */

#include <stdbool.h>
#include <stddef.h>

#include "base/hint.h"
#include "base/message.h"
#include "cli/simulate/simulate.h"
#include "policy/alarm.h"

static bool has_manual(const struct policy *policy, const char *name)
{
	const struct policy_alarm *alarm = policy_alarm_find(policy, name);

	return alarm && alarm->manual;
}

static int report_unknown(const struct policy *policy, const char *name)
{
	struct hint hint = {.word = name};

	if (policy_alarm_find(policy, name))
		return fail("simulate: alarm %s is not manual: the packets of the capture put it "
			    "on and off: leave --alarm %s out",
			    name, name);
	for (size_t i = 0; i < policy->alarm_count; i++)
		if (policy->alarms[i].manual)
			hint_offer(&hint, policy->alarms[i].name);
	if (hint.best)
		return fail("simulate: unknown alarm '%s' (did you mean %s?)", name, hint.best);
	return fail("simulate: unknown alarm '%s': name one for which the policy has a line "
		    "\"alarm NAME manual\"",
		    name);
}

int simulate_alarms_check(const struct command *command, const struct policy *policy,
			  const struct policy *against)
{
	for (int i = 0; i < command->alarm_count; i++) {
		const char *name = command->alarms[i];

		if (!has_manual(policy, name) && !(against && has_manual(against, name)))
			return report_unknown(policy, name);
	}
	return 0;
}

int simulate_alarms_turn(const struct command *command, const struct policy *policy,
			 struct simulation *simulation)
{
	int rc = 0;

	for (int i = 0; !rc && i < command->alarm_count; i++)
		if (has_manual(policy, command->alarms[i]))
			rc = simulation_alarm_on(simulation, command->alarms[i]);
	return rc;
}
