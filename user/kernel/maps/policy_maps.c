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

static int room_of(int fd, uint32_t *out)
{
	struct bpf_map_info info = {0};
	uint32_t size = sizeof(info);

	if (bpf_obj_get_info_by_fd(fd, &info, &size))
		return -errno;
	*out = info.max_entries / 2;
	return 0;
}

int rules_room(const struct instance *instance, uint32_t *out)
{
	int fd = policy_map_open(instance, POLICY_MAP_rules), ret;

	if (fd < 0)
		return fd;
	ret = room_of(fd, out);
	close(fd);
	return ret;
}

/* Both are mapped, for there may be many. */
static int rules_copy(int from, int to)
{
	void *source, *copy;
	uint32_t room;
	size_t size;
	int ret = room_of(from, &room);

	if (ret)
		return ret;
	size = 2 * (size_t)room * sizeof(struct rl_rule);
	source = mmap(NULL, size, PROT_READ, MAP_SHARED, from, 0);
	if (source == MAP_FAILED)
		return -errno;
	copy = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, to, 0);
	if (copy == MAP_FAILED)
		ret = -errno;
	else
		memcpy(copy, source, size);
	if (!ret)
		munmap(copy, size);
	munmap(source, size);
	return ret;
}

int rules_grow(const struct instance *instance, uint32_t room)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_MMAPABLE);
	int before = policy_map_open(instance, POLICY_MAP_rules), fd, ret;

	if (before < 0)
		return before;
	fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "rules", sizeof(uint32_t), sizeof(struct rl_rule),
			    2 * room, &opts);
	ret = fd < 0 ? -errno : rules_copy(before, fd);
	if (!ret)
		ret = policy_map_exchange(instance, POLICY_MAP_rules, fd);
	if (fd >= 0)
		close(fd);
	close(before);
	return ret;
}
