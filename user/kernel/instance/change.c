// SPDX-License-Identifier: GPL-2.0-only
#include "kernel/instance/change.h"

static change_fn sink_now;

void change_sink_set(change_fn sink)
{
	sink_now = sink;
}

void change_tell(const struct instance_change *change)
{
	if (sink_now && *change->path)
		sink_now(change);
}

void instance_change_tell(const struct instance *instance, struct instance_change change)
{
	if (is_being_made(instance) || instance->clock_injected)
		return;
	change.path = instance->path;
	change.device = instance->device;
	change.hook = instance->info.hook;
	change_tell(&change);
}
