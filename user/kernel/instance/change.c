// SPDX-License-Identifier: GPL-2.0-only
#include "kernel/instance/change.h"

#include <stddef.h>

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

void instance_change_tell(const struct instance *instance, enum change_kind kind, uint64_t number,
			  const char *name)
{
	if (!is_being_made(instance) && !instance->clock_injected)
		change_tell(&(struct instance_change){.kind = kind,
						      .path = instance->path,
						      .device = instance->device,
						      .hook = instance->info.hook,
						      .number = number,
						      .name = name});
}
