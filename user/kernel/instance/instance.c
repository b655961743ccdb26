// SPDX-License-Identifier: GPL-2.0-only
/* Opens and closes an instance by its pins. */

#include "kernel/instance/instance.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/clock.h"
#include "kernel/instance/pins.h"
#include "kernel/maps/map.h"
#include "kernel/scope.h"

void maps_close(struct instance_maps *maps)
{
#define CLOSE_ONE(name)            \
	if (maps->name >= 0)       \
		close(maps->name); \
	maps->name = -1;
	INSTANCE_MAPS(CLOSE_ONE)
#undef CLOSE_ONE
}

int pins_open(const char *path, bool write, uint64_t wanted, struct instance_maps *out)
{
	CLOSED int folder = pins_folder_open(path, O_PATH);
	int ret = folder < 0 ? folder : 0;
	struct instance_maps maps;

	memset(&maps, 0xff, sizeof(maps)); /* -1 */
#define OPEN_ONE(name)                                      \
	if (!ret && wanted & INSTANCE_MAP_BIT(name)) {      \
		maps.name = pin_open(folder, #name, write); \
		ret = maps.name < 0 ? maps.name : 0;        \
	}
	INSTANCE_MAPS(OPEN_ONE)
#undef OPEN_ONE
	if (ret)
		maps_close(&maps);
	else
		*out = maps;
	return ret;
}

uint64_t instance_now(const struct instance *instance)
{
	return instance->clock_injected ? instance->now_ns : clock_ns(CLOCK_MONOTONIC);
}

void instance_context(const struct instance *instance, struct policy_context *out)
{
	*out = (struct policy_context){.mtu = instance->info.mtu,
				       .by_dest = instance->info.by_dest,
				       .tc = instance->info.mode == RL_MODE_TC,
				       .generic = instance->info.mode == RL_MODE_GENERIC,
				       .leaving = instance->info.hook == RL_HOOK_EGRESS,
				       .at_xdp = instance->info.hook == RL_HOOK_XDP};
}

int instance_open_maps(const char *path, const char *device, bool write, uint64_t maps,
		       struct instance *out)
{
	struct instance result = {.lock_fd = -1, .read_only = !write};
	int ret = pins_open(path, write, maps, &result.fd);

	if (ret)
		return ret;
	snprintf(result.device, sizeof(result.device), "%s", device);
	snprintf(result.path, sizeof(result.path), "%s", path);
	/* The kernel copies a value of the map's size, whatever the size of the buffer. */
	ret = map_value_check(result.fd.instance, sizeof(result.info));
	if (!ret)
		ret = map_get(result.fd.instance, &result.info);
	if (!ret && result.info.abi_version != RL_ABI_VERSION)
		ret = -EPROTO;
	if (ret)
		maps_close(&result.fd);
	else
		*out = result;
	return ret;
}

void instance_close(struct instance *instance)
{
	maps_close(&instance->fd);
	pins_unlock(instance->lock_fd);
	instance->lock_fd = -1;
}

int instance_pins_check(const struct instance *instance)
{
	uint32_t id = 0, ours = 0;
	int ret = pins_policy_id(instance->path, &id) ?: map_id(instance->fd.policy, &ours);

	return ret || id == ours ? ret : -ENOENT;
}

bool instance_info_read(const char *path, struct rl_instance *out)
{
	CLOSED int fd = pin_open_at(path, "instance", false);

	return fd >= 0 && !map_value_check(fd, sizeof(*out)) && !map_get(fd, out) &&
	       out->abi_version == RL_ABI_VERSION;
}

int instance_info_now(const struct instance *instance, struct rl_instance *out)
{
	if (has_pins(instance))
		return map_get(instance->fd.instance, out);
	*out = instance->info; /* simulations and tests have no others */
	return 0;
}

/* ---- the owner record
 *
 * It is a small pinned map. The kernel identifies programs by ids, and only
 * CAP_SYS_ADMIN may inspect them by id; with the record, any reader of the pins can see whether
 * the program on a device is ours. */

#define RECORD_PIN "program"

int owner_record_make(const char *path, const struct rl_instance *info)
{
	struct owner_record record = {.mode = info->mode};
	CLOSED int fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "rlctl_program", sizeof(uint32_t),
				       sizeof(struct owner_record), 1, NULL);
	int ret = fd < 0 ? fd : map_put(fd, &record);

	return ret ? ret : pin_make(path, RECORD_PIN, fd);
}

int owner_record_write(const char *path, const struct rl_instance *info, uint32_t program)
{
	struct owner_record record = {.program = program, .on_device = program, .mode = info->mode};
	CLOSED int fd = pin_open_at(path, RECORD_PIN, true);

	if (fd < 0)
		return fd;
	if (info->mode != RL_MODE_TC && bpf_xdp_query_id(info->ifindex, 0, &record.on_device))
		record.on_device = 0;
	return map_put(fd, &record);
}

/* The record is the last pin to be removed: if other pins exist without it, none was made. */
int owner_record_read(const char *path, struct owner_record *out)
{
	CLOSED int fd = pin_open_at(path, RECORD_PIN, false);
	uint32_t policy;
	int ret;

	*out = (struct owner_record){0}; /* other versions may have recorded less */
	ret = fd < 0 ? fd : map_get(fd, out);
	if (ret != -ENOENT)
		return ret;
	ret = pins_policy_id(path, &policy);
	return ret ? ret : -EPROTO;
}
