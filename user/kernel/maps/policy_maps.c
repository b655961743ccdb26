// SPDX-License-Identifier: GPL-2.0-only
#include "kernel/maps/policy_maps.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "kernel/device/device.h"
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
	CLOSED int folder = pins_folder_open(instance->path, O_PATH);
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

int policy_map_empty(const struct instance *instance, enum policy_map map)
{
	CLOSED int fd = policy_map_open(instance, map);

	return fd < 0 ? fd == -ENOENT ? 0 : fd : map_keys_remove(fd, NULL, NULL);
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

/* In the place of the one that is there: whoever opens it finds the one or the other. */
int rules_grow(const struct instance *instance, uint32_t room)
{
	static const char next[] = "rules_next";
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_MMAPABLE);
	CLOSED int before = policy_map_open(instance, POLICY_MAP_rules);
	CLOSED int fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "rules", sizeof(uint32_t),
				       sizeof(struct rl_rule), 2 * room, &opts);
	CLOSED int folder = pins_folder_open(instance->path, O_PATH);
	int ret = before < 0 ? before : fd < 0 ? fd : folder < 0 ? folder : rules_copy(before, fd);

	pin_remove(instance->path, next); /* of a command that was killed */
	if (!ret)
		ret = group_pin(instance->path, next, fd);
	if (ret)
		return ret;
	ret = renameat(folder, next, folder, "rules") ? -errno : 0;
	if (ret)
		pin_remove(instance->path, next);
	return ret;
}

/* ---- tables that instances share
 *
 * Each instance has a pin of the table: so it lives exactly as long as one of them needs it,
 * wherever a process is killed, and detaching one takes it from no other.
 */

/* Only the seed is written. */
static int table_seed(const struct instance *instance, const struct shared_table *table, int fd)
{
	char *element = map_whole(fd, table->size, PROT_READ | PROT_WRITE);
	size_t size = sizeof(instance->info.hot_seed);
	int ret = 0;

	if (!element)
		return -errno;
	/* Simulations and tests have no pins, and the same seed each time. */
	if (!has_pins(instance))
		memcpy(element + table->seed, instance->info.hot_seed, size);
	else if (getrandom(element + table->seed, size, 0) != (ssize_t)size)
		ret = -errno;
	munmap(element, table->size);
	return ret;
}

static int table_create(const struct instance *instance, const struct shared_table *table)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts,
		    .map_flags = table->entries ? BPF_F_NO_PREALLOC : BPF_F_MMAPABLE);
	int fd =
		bpf_map_create(table->entries ? BPF_MAP_TYPE_HASH : BPF_MAP_TYPE_ARRAY, table->name,
			       sizeof(uint32_t), table->size, table->entries ?: 1, &opts);
	int ret = fd < 0 || table->entries ? 0 : table_seed(instance, table, fd);

	if (!ret)
		return fd;
	close(fd);
	return ret;
}

int shared_table_open_at(const char *path, const char *device, const struct shared_table *table)
{
	struct instance other;
	int fd = -ENOENT;

	if (instance_open_maps(path, device, true, INSTANCE_MAP_BIT(instance), &other))
		return -ENOENT;
	if (device_index(device) == (int)other.info.ifindex)
		fd = policy_map_open(&other, table->map);
	instance_close(&other);
	return fd < 0 ? -ENOENT : fd;
}

int shared_others(const struct instance *instance, shared_other_fn each, void *arg)
{
	char root[INSTANCE_PATH_MAX];
	CLOSED_DIR DIR *dir = NULL;
	struct pinned other;
	int ret = -ENOENT;

	pins_parent(instance->path, 1, root);
	if (pins_dir_open(root, &dir))
		return -ENOENT;
	while (ret == -ENOENT && pins_next(dir, root, &other))
		if (strcmp(other.path, instance->path) != 0)
			ret = each(other.path, other.device, arg);
	return ret;
}

static int others_table(const char *path, const char *device, void *arg)
{
	return shared_table_open_at(path, device, arg);
}

/* A simulation or test has it from the program, without a seed. Else it is made under the lock of
 * all instances, so that two which need it at once share it, too. */
int shared_table_make(const struct instance *instance, const struct shared_table *table)
{
	CLOSED int there = policy_map_open(instance, table->map);
	int lock, fd, ret = there < 0 ? there : 0;

	if (!has_pins(instance) && !ret && !table->entries)
		return table_seed(instance, table, there);
	if (!has_pins(instance) || ret != -ENOENT)
		return ret;
	lock = pins_lock_all(instance->path, LOCK_WAIT_MS);
	if (lock < 0)
		return lock;
	fd = shared_others(instance, others_table, (void *)table);
	if (fd == -ENOENT)
		fd = table_create(instance, table);
	ret = fd < 0 ? fd : policy_map_put(instance, table->map, fd);
	scope_fd(&fd);
	pins_unlock(lock);
	return ret;
}
