// SPDX-License-Identifier: GPL-2.0-only
#include "cli/top/crowds.h"

#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "cli/output/output.h"
#include "cli/top/top.h"
#include "kernel/instance/open.h"

#define RATE 2000u /* samples a second, as `top` takes */

struct crowd_watch {
	struct instance instance;
	struct top *top; /* NULL: it is not sampled */
};

static struct crowd_watch *crowd_find(const struct crowds *crowds, const struct instance *instance)
{
	for (size_t i = 0; i < crowds->count; i++)
		if (!strcmp(crowds->items[i].instance.path, instance->path) &&
		    crowds->items[i].instance.info.since_ns == instance->info.since_ns)
			return &crowds->items[i];
	return NULL;
}

/* The model has the address of its instance. */
static struct top *sampling_open(struct instance *instance)
{
	bool by_dest = instance->info.hook == RL_HOOK_EGRESS;
	struct top *top = calloc(1, sizeof(*top));

	if (!top)
		out_of_memory();
	if (!top_open(instance, RATE, by_dest ? TOP_BY_DEST : TOP_BY_SOURCE, true, top))
		return top;
	free(top);
	return NULL;
}

void crowds_add(struct crowds *crowds, const struct instance *instance)
{
	struct crowd_watch *crowd;

	if (crowd_find(crowds, instance))
		return;
	crowds->items = reallocarray(crowds->items, crowds->count + 1, sizeof(*crowds->items));
	if (!crowds->items)
		out_of_memory();
	crowd = &crowds->items[crowds->count++];
	*crowd = (struct crowd_watch){.instance = *instance};
	if (instance_open_at(instance->path, instance->device, instance->info.hook, USE_SHARED,
			     &crowd->instance)) {
		crowd->instance = *instance; /* whose descriptors are closed: by its name alone */
		return;
	}
	crowd->top = sampling_open(&crowd->instance);
	if (!crowd->top)
		instance_close(&crowd->instance);
}

static void crowd_close(struct crowd_watch *crowd)
{
	if (!crowd->top)
		return;
	top_close(crowd->top);
	free(crowd->top);
	crowd->top = NULL;
	instance_close(&crowd->instance);
}

void crowds_drain(struct crowds *crowds)
{
	for (size_t i = 0; i < crowds->count; i++)
		if (crowds->items[i].top && top_drain(crowds->items[i].top))
			crowd_close(&crowds->items[i]);
}

void crowds_print(struct crowds *crowds, const struct instance *instance)
{
	struct crowd_watch *crowd = crowd_find(crowds, instance);
	struct screen_line line;

	if (!crowd || !crowd->top)
		return;
	if (top_turn(crowd->top, 0)) {
		crowd_close(crowd);
		return;
	}
	for (int v = 0; v < TALKER_VERDICTS; v++)
		if (top_line_print(crowd->top, TOP_LINE_PREFIX + v, &line))
			line_print(&line);
}

void crowds_clear(struct crowds *crowds)
{
	for (size_t i = 0; i < crowds->count; i++)
		crowd_close(&crowds->items[i]);
	free(crowds->items);
	*crowds = (struct crowds){0};
}
