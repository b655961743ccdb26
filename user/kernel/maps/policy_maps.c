// SPDX-License-Identifier: GPL-2.0-only

#include "kernel/maps/policy_maps.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "kernel/instance/group.h"
#include "kernel/instance/pins.h"

static const struct {
	const char *name;
	uint64_t uses;
} maps[POLICY_MAP_COUNT] = {
#define MAP_ROW(name, uses) {#name, uses},
	POLICY_MAPS(MAP_ROW)
#undef MAP_ROW
};

bool policy_map_is_used(const struct rl_instance *info, uint64_t uses, enum policy_map map)
{
	if (maps[map].uses && !(uses & maps[map].uses))
		return false;
	switch (map) {
	case POLICY_MAP_sources: /* or who is known is in the hot table */
		return uses & RL_USE_SOURCES || info->table != RL_TABLE_HOT;
	case POLICY_MAP_hot:
	case POLICY_MAP_known_filter:
		return info->table == RL_TABLE_HOT;
	case POLICY_MAP_peers:
		return info->proof == RL_PROOF_SOCKETS;
	case POLICY_MAP_asked:
		return info->proof == RL_PROOF_SOCKETS && info->hook != RL_HOOK_EGRESS;
	default:
		return true;
	}
}

static int copy_of(int fd)
{
	int copy = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 0);

	return fd < 0 ? -ENOENT : copy < 0 ? -errno : copy;
}

int policy_map_open(const struct instance *instance, enum policy_map map)
{
	int fd, folder;

	if (!has_pins(instance))
		return copy_of(instance->policy_maps ? instance->policy_maps[map] : -1);
	folder = pins_folder_open(instance->path);
	if (folder < 0)
		return folder == -ENOENT ? -ESTALE : folder;
	/* Readers map the hot table, which the kernel allows only for writable descriptors: it is
	 * opened writable if that is permitted. */
	fd = pin_open(folder, maps[map].name, !instance->read_only || map == POLICY_MAP_hot);
	if (instance->read_only && (fd == -EACCES || fd == -EROFS))
		fd = pin_open(folder, maps[map].name, false);
	close(folder);
	return fd == -EACCES && instance->read_only ? -ENOENT : fd;
}

static void pin_path(const struct instance *instance, enum policy_map map,
		     char out[INSTANCE_PATH_MAX + 32])
{
	snprintf(out, INSTANCE_PATH_MAX + 32, "%s/%s", instance->path, maps[map].name);
}

int policy_map_put(const struct instance *instance, enum policy_map map, int fd)
{
	char path[INSTANCE_PATH_MAX + 32];
	int ret;

	if (!has_pins(instance)) {
		instance->policy_maps[map] = copy_of(fd);
		return instance->policy_maps[map] < 0 ? instance->policy_maps[map] : 0;
	}
	pin_path(instance, map, path);
	if (bpf_obj_pin(fd, path))
		return -errno;
	ret = policy_map_share(instance, map);
	if (ret)
		unlink(path);
	return ret;
}

int policy_map_exchange(const struct instance *instance, enum policy_map map, int fd)
{
	char path[INSTANCE_PATH_MAX + 32], next[INSTANCE_PATH_MAX + 32], name[32];
	int ret;

	snprintf(name, sizeof(name), "%s_next", maps[map].name);
	snprintf(next, sizeof(next), "%s/%s", instance->path, name);
	pin_path(instance, map, path);
	unlink(next); /* of a command that was killed */
	if (bpf_obj_pin(fd, next))
		return -errno;
	ret = group_inherit(instance->path, name);
	if (!ret && rename(next, path))
		ret = -errno;
	if (ret)
		unlink(next);
	return ret;
}

void policy_maps_close(const struct instance *instance)
{
	for (int map = 0; instance->policy_maps && map < POLICY_MAP_COUNT; map++)
		if (instance->policy_maps[map] >= 0)
			close(instance->policy_maps[map]);
}

int policy_map_share(const struct instance *instance, enum policy_map map)
{
	return group_inherit(instance->path, maps[map].name);
}

/* Without pins the program has it to the end. */
void policy_map_drop(const struct instance *instance, enum policy_map map)
{
	char path[INSTANCE_PATH_MAX + 32];

	if (!has_pins(instance))
		return;
	pin_path(instance, map, path);
	unlink(path);
}
