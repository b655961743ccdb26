// SPDX-License-Identifier: GPL-2.0-only
#include "kernel/maps/policy_maps.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "kernel/instance/group.h"
#include "kernel/instance/pins.h"
#include "kernel/maps/map.h"
#include "kernel/scope.h"
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
	int fd;

	if (!has_pins(instance))
		return copy_of(instance->policy_maps ? instance->policy_maps[map] : -1);
	CLOSED int folder = pins_folder_open(instance->path);
	if (folder < 0)
		return folder == -ENOENT ? -ESTALE : folder;
	/* Readers map the hot table, which the kernel allows only for writable descriptors: it is
	 * opened writable if that is permitted. */
	fd = pin_open(folder, maps[map].name, !instance->read_only || map == POLICY_MAP_hot);
	if (instance->read_only && (fd == -EACCES || fd == -EROFS))
		fd = pin_open(folder, maps[map].name, false);
	return fd == -EACCES && instance->read_only ? -ENOENT : fd;
}

int policy_map_put(const struct instance *instance, enum policy_map map, int fd)
{
	if (has_pins(instance))
		return group_pin(instance->path, maps[map].name, fd);
	instance->policy_maps[map] = copy_of(fd);
	return instance->policy_maps[map] < 0 ? instance->policy_maps[map] : 0;
}

int policy_map_exchange(const struct instance *instance, enum policy_map map, int fd)
{
	char path[INSTANCE_PATH_MAX + 32], next[INSTANCE_PATH_MAX + 32], name[32];
	int ret;

	snprintf(name, sizeof(name), "%s_next", maps[map].name);
	snprintf(next, sizeof(next), "%s/%s", instance->path, name);
	snprintf(path, sizeof(path), "%s/%s", instance->path, maps[map].name);
	unlink(next); /* of a command that was killed */
	ret = group_pin(instance->path, name, fd);
	if (!ret && rename(next, path)) {
		ret = -errno;
		unlink(next);
	}
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
	if (has_pins(instance))
		pin_remove(instance->path, maps[map].name);
}

int rules_room(const struct instance *instance, uint32_t *out)
{
	CLOSED int fd = policy_map_open(instance, POLICY_MAP_rules);
	struct bpf_map_info info;
	int ret = fd < 0 ? fd : map_info(fd, &info);

	if (!ret)
		*out = info.max_entries / 2;
	return ret;
}

/* Both are mapped, for there may be many. */
static int rules_copy(int from, int to)
{
	struct bpf_map_info info;
	void *source, *copy;
	size_t size;
	int ret = map_info(from, &info);

	if (ret)
		return ret;
	size = (size_t)info.max_entries * sizeof(struct rl_rule);
	source = map_whole(from, size, PROT_READ);
	if (!source)
		return -errno;
	copy = map_whole(to, size, PROT_READ | PROT_WRITE);
	if (copy)
		memcpy(copy, source, size);
	else
		ret = -errno;
	if (copy)
		munmap(copy, size);
	munmap(source, size);
	return ret;
}

int rules_grow(const struct instance *instance, uint32_t room)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_MMAPABLE);
	CLOSED int before = policy_map_open(instance, POLICY_MAP_rules);
	CLOSED int fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "rules", sizeof(uint32_t),
				       sizeof(struct rl_rule), 2 * room, &opts);
	int ret = before < 0 ? before : fd < 0 ? fd : rules_copy(before, fd);

	return ret ? ret : policy_map_exchange(instance, POLICY_MAP_rules, fd);
}
