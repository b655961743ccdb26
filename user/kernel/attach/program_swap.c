// SPDX-License-Identifier: GPL-2.0-only
/* The new program gets the constants of attach (seed, clock, sizes) from the instance map. A crash
 * leaves the old or the new program attached, or both behind a dispatcher. */

#include "kernel/attach/program_swap.h"

#include <string.h>

#include "base/message.h"
#include "kernel/attach/conntrack.h"
#include "kernel/attach/object.h"
#include "kernel/attach/tc.h"
#include "kernel/attach/xdp.h"
#include "kernel/instance/find.h"
#include "kernel/instance/instance.h"
#include "kernel/instance/owner.h"
#include "kernel/maps/map.h"

static uint32_t program_number(const struct instance *instance)
{
	struct device_program program;

	return instance_program_find(instance, &program) ? 0 : program.id;
}

int program_swap(const struct instance *instance, uint32_t *before, uint32_t *after)
{
	uint32_t policy;
	int ret = 0;

	if (object_asks_conntrack(&instance->info))
		ret = conntrack_check(instance->device, &instance->info);
	if (ret)
		return ret;
	ret = map_id(instance->fd.policy, &policy);
	*before = program_number(instance);
	if (!ret) /* meanwhile any program counts as ours */
		ret = owner_record_write(instance->path, &instance->info, 0);
	if (ret) {
		fail("%s: replacing failed: %s", instance->device, strerror(-ret));
		return ret;
	}
	ret = instance->info.mode == RL_MODE_TC ? tc_program_replace(instance, policy)
						: xdp_program_replace(instance, policy);
	*after = ret ? *before : program_number(instance);
	owner_record_write(instance->path, &instance->info, *after);
	return ret;
}
