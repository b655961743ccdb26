// SPDX-License-Identifier: GPL-2.0-only
#include "kernel/state/alarm_live.h"

#include <string.h>

static enum alarm_is live_state(const char *name, void *arg)
{
	const struct alarms_now *now = arg;

	for (uint32_t i = 0; i < now->count; i++)
		if (!strcmp(now->alarm[i].name, name))
			return now->alarm[i].on ? ALARM_IS_ON : ALARM_IS_OFF;
	return ALARM_IS_UNKNOWN;
}

void alarm_live_read(const struct instance *instance, struct alarm_live *out)
{
	out->states = (struct alarm_states){.of = live_state, .arg = &out->now};
	if (alarms_read(instance, &out->now))
		out->now.count = 0;
}
