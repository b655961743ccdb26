// SPDX-License-Identifier: GPL-2.0-only
/* Each instance has a pin of the table: so it lives exactly as long as one of them needs it,
 * wherever a process is killed, and detaching one takes it from no other.
 */

#include "kernel/maps/shared_table.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "kernel/device/device.h"
#include "kernel/instance/pins.h"
#include "kernel/maps/map.h"
#include "kernel/maps/policy_maps.h"
#include "kernel/scope.h"

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

int shared_table_open(const struct instance *instance, const struct shared_table *table)
{
	return policy_map_open(instance, table->map);
}

int shared_table_open_at(const char *path, const char *device, const struct shared_table *table)
{
	struct instance other;
	int fd = -ENOENT;

	if (instance_open_maps(path, device, true, INSTANCE_MAP_BIT(instance), &other))
		return -ENOENT;
	if (device_index(device) == (int)other.info.ifindex)
		fd = shared_table_open(&other, table);
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

int shared_lock(const struct instance *instance)
{
	char root[INSTANCE_PATH_MAX];

	pins_parent(instance->path, 1, root);
	return pins_lock_all(root, LOCK_WAIT_MS);
}

static int others_table(const char *path, const char *device, void *arg)
{
	return shared_table_open_at(path, device, arg);
}

/* Under the lock of all instances, so that two which need it at once share it, too. */
static int shared_make(const struct instance *instance, const struct shared_table *table)
{
	int fd, ret, lock = shared_lock(instance);

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

/* A simulation or test has it from the program, without a seed. */
int shared_table_make(const struct instance *instance, const struct shared_table *table)
{
	CLOSED int fd = shared_table_open(instance, table);
	int ret = fd < 0 ? fd : 0;

	if (!ret && !has_pins(instance) && !table->entries)
		ret = table_seed(instance, table, fd);
	return ret == -ENOENT && has_pins(instance) ? shared_make(instance, table) : ret;
}
