// SPDX-License-Identifier: GPL-2.0-only
#include "cli/top/crowds.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/units.h"
#include "cli/output/output.h"
#include "cli/top/top.h"
#include "kernel/instance/open.h"

#define RATE    2000u /* samples a second, as `top` takes */
#define TURN_NS NS_PER_SECOND

/* In a list, as the model has the address of its instance. */
struct crowd_watch {
	struct crowd_watch *next;
	struct instance instance;
	bool sampled;
	struct top top;
	uint64_t turn_ns; /* when its slice ends */
};

static struct crowd_watch *crowd_find(const struct crowds *crowds, const struct instance *instance)
{
	struct crowd_watch *crowd = crowds->first;

	while (crowd && !same_instance(&crowd->instance, instance))
		crowd = crowd->next;
	return crowd;
}

void crowds_add(struct crowds *crowds, const struct instance *instance)
{
	bool by_dest = instance->info.hook == RL_HOOK_EGRESS;
	struct crowd_watch *crowd;

	if (crowd_find(crowds, instance))
		return;
	crowd = xcalloc(1, sizeof(*crowd));
	crowd->next = crowds->first;
	crowds->first = crowd;
	crowd->turn_ns = clock_ns(CLOCK_MONOTONIC) + TURN_NS;
	if (instance_open_at(instance->path, instance->device, instance->info.hook, USE_SHARED,
			     &crowd->instance)) {
		crowd->instance = *instance; /* whose descriptors are closed: by its name alone */
		return;
	}
	crowd->sampled = !top_open(&crowd->instance, RATE, by_dest ? TOP_BY_DEST : TOP_BY_SOURCE,
				   true, &crowd->top);
	if (!crowd->sampled)
		instance_close(&crowd->instance);
}

static void crowd_close(struct crowd_watch *crowd)
{
	if (!crowd->sampled)
		return;
	crowd->sampled = false;
	top_close(&crowd->top);
	instance_close(&crowd->instance);
}

void crowds_drain(struct crowds *crowds)
{
	uint64_t now_ns = clock_ns(CLOCK_MONOTONIC);

	for (struct crowd_watch *crowd = crowds->first; crowd; crowd = crowd->next) {
		int ret = crowd->sampled ? top_drain(&crowd->top) : 0;

		if (crowd->sampled && !ret && now_ns >= crowd->turn_ns) {
			crowd->turn_ns = now_ns + TURN_NS;
			ret = top_turn(&crowd->top, 0);
		}
		if (ret)
			crowd_close(crowd);
	}
}

void crowds_print(const struct crowds *crowds, const struct instance *instance)
{
	const struct crowd_watch *crowd = crowd_find(crowds, instance);
	struct screen_line line;

	for (int v = 0; crowd && crowd->sampled && v < TALKER_VERDICTS; v++)
		if (top_line_print(&crowd->top, TOP_LINE_PREFIX + v, &line))
			line_print(&line);
}

void crowds_clear(struct crowds *crowds)
{
	while (crowds->first) {
		struct crowd_watch *crowd = crowds->first;

		crowds->first = crowd->next;
		crowd_close(crowd);
		free(crowd);
	}
}
