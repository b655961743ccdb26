// SPDX-License-Identifier: GPL-2.0-only
/* Keys that the agent has no time or room for: counted, with a note from time to time. */
#include "fleet/agent_parts.h"

#include "base/message.h"
#include "base/units.h"
#include "fleet/fleet.h"

#define SHED_SAY_NS (10 * NS_PER_SECOND)

void agent_shed(struct agent *a, size_t count, const char *why)
{
	uint64_t now_ns = fleet_now_ns();

	a->session.shed += count;
	a->shedding += count;
	if (now_ns - a->shed_ns < SHED_SAY_NS)
		return;
	note("%s: %llu keys %s", a->instance->device, (unsigned long long)a->shedding, why);
	a->shed_ns = now_ns;
	a->shedding = 0;
}
