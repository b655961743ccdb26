// SPDX-License-Identifier: GPL-2.0-only
/* Inner maps. A slot holds only a map id, and opening a map by id needs CAP_SYS_ADMIN, so every
 * inner map also has a pin named after its id among the instance's pins. The pin exists before the
 * slot names the map and as long as it does. This lets any reader of the pins read the policy. */

#include "kernel/maps/map_in_map.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "kernel/instance/group.h"
#include "kernel/instance/pins.h"
#include "kernel/maps/map.h"
#include "kernel/scope.h"

#define PIN_PREFIX "map-"

/* The map id in the slot, 0 if it is empty. */
static int slot_read(int outer_fd, uint32_t slot, uint32_t *out)
{
	int ret = bpf_map_lookup_elem(outer_fd, &slot, out);

	if (ret)
		*out = 0;
	return ret == -ENOENT ? 0 : ret;
}

static void pin_name(uint32_t id, char out[32])
{
	snprintf(out, 32, PIN_PREFIX "%" PRIu32, id);
}

/* ---- instances without pins */

static struct kept_map *kept_find(const struct instance *instance, uint32_t id)
{
	for (size_t i = 0; instance->kept && i < KEPT_MAPS; i++)
		if (instance->kept[i].id == id)
			return &instance->kept[i];
	return NULL;
}

static int kept_add(const struct instance *instance, uint32_t id, int fd)
{
	struct kept_map *kept = kept_find(instance, 0);
	int copy = kept ? fcntl(fd, F_DUPFD_CLOEXEC, 0) : -1;

	if (copy < 0)
		return kept ? -errno : 0; /* callers with that many maps can open them by id */
	*kept = (struct kept_map){.id = id, .fd = copy};
	return 0;
}

/* ---- pins */

static int pinned_open(const struct instance *instance, uint32_t id)
{
	const struct kept_map *kept;
	uint32_t pinned;
	char name[32];
	int fd, ret;

	if (!has_pins(instance)) {
		kept = id ? kept_find(instance, id) : NULL;
		fd = kept ? fcntl(kept->fd, F_DUPFD_CLOEXEC, 0) : -1;
		return fd < 0 ? -ENOENT : fd;
	}
	pin_name(id, name);
	fd = pin_open_at(instance->path, name, !instance->read_only);
	ret = fd < 0 ? fd : map_id(fd, &pinned);
	if (!ret && pinned == id)
		return fd;
	scope_fd(&fd);
	return ret ? ret : -ENOENT;
}

/* Was the instance detached after it was opened? */
static bool is_gone(const struct instance *instance)
{
	CLOSED int folder = has_pins(instance) ? pins_folder_open(instance->path, O_PATH) : -1;

	return folder == -ENOENT;
}

/* If a pin is missing, a writer may just have replaced its map: reads the slot again. */
int inner_open(const struct instance *instance, int outer_fd, uint32_t slot)
{
	uint32_t id, last = 0;
	int fd;

	for (;; last = id) {
		fd = bpf_map_lookup_elem(outer_fd, &slot, &id);
		if (fd)
			return fd;
		if (id == last)
			break;
		fd = pinned_open(instance, id);
		if (fd != -ENOENT)
			return fd;
	}
	fd = bpf_map_get_fd_by_id(id);
	return fd == -EPERM && is_gone(instance) ? -ESTALE : fd;
}

static int inner_pin(const struct instance *instance, uint32_t id, int fd)
{
	char name[32];

	if (!has_pins(instance))
		return kept_add(instance, id, fd);
	pin_name(id, name);
	return group_pin(instance->path, name, fd);
}

static void inner_unpin(const struct instance *instance, uint32_t id)
{
	struct kept_map *kept = id && !has_pins(instance) ? kept_find(instance, id) : NULL;
	char name[32];

	pin_name(id, name);
	if (id && has_pins(instance))
		pin_remove(instance->path, name);
	if (!kept)
		return;
	close(kept->fd);
	kept->id = 0;
}

/* Does the other of two slots name the map, too? */
static bool is_shared(int outer_fd, uint32_t slot, uint32_t id)
{
	uint32_t other;

	return id && !slot_read(outer_fd, slot ^ 1, &other) && other == id;
}

/* ---- writes. The kernel fills the slot, and then waits until no program reads what was there.
 * Nothing was there while attach makes an instance: its waits go on beside what comes next. */

#define WRITE_POLL_US 100

static void *write_run(void *arg)
{
	struct slot_write *write = arg;

	write->ret = bpf_map_update_elem(write->outer_fd, &write->slot, &write->fd, BPF_ANY);
	__atomic_store_n(&write->is_over, true, __ATOMIC_RELEASE);
	return NULL;
}

/* Until the slot names the map, or the write has failed. */
static int write_begun(const struct slot_write *write, uint32_t id)
{
	uint32_t now;

	do {
		usleep(WRITE_POLL_US);
		if (__atomic_load_n(&write->is_over, __ATOMIC_ACQUIRE))
			return write->ret;
	} while (slot_read(write->outer_fd, write->slot, &now) || now != id);
	return 0;
}

static int slot_put(const struct instance *instance, int outer_fd, uint32_t slot, int fd,
		    uint32_t id)
{
	struct slot_write alone = {.outer_fd = outer_fd, .slot = slot, .fd = fd}, *beside;
	struct slot_writes *writes = instance->writes;

	if (writes && writes->count < SLOT_WRITES) {
		beside = &writes->list[writes->count];
		*beside = alone;
		if (!pthread_create(&beside->thread, NULL, write_run, beside)) {
			writes->count++;
			return write_begun(beside, id);
		}
	}
	write_run(&alone);
	return alone.ret;
}

void inner_writes_end(struct slot_writes *writes)
{
	while (writes->count)
		pthread_join(writes->list[--writes->count].thread, NULL);
}

int inner_share(const struct instance *instance, int outer_fd, uint32_t slot)
{
	CLOSED int fd = inner_open(instance, outer_fd, slot ^ 1);
	uint32_t before;
	int ret = fd < 0 ? fd : slot_read(outer_fd, slot, &before);

	if (!ret)
		ret = bpf_map_update_elem(outer_fd, &slot, &fd, BPF_ANY);
	if (!ret && !is_shared(outer_fd, slot, before))
		inner_unpin(instance, before);
	return ret;
}

int inner_put(const struct instance *instance, int outer_fd, uint32_t slot, int fd)
{
	uint32_t before, id;
	int ret = slot_read(outer_fd, slot, &before) ?: map_id(fd, &id);

	if (!ret)
		ret = inner_pin(instance, id, fd);
	if (ret)
		return ret;
	ret = slot_put(instance, outer_fd, slot, fd, id);
	if (ret)
		inner_unpin(instance, id);
	else if (!is_shared(outer_fd, slot, before))
		inner_unpin(instance, before);
	return ret;
}

int inner_make(const struct instance *instance, int outer_fd, uint32_t slot,
	       const struct inner_map *map, const void *value)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = map->flags);
	CLOSED int fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, map->name, sizeof(uint32_t), map->size,
				       1, &opts);
	int ret = fd < 0 ? fd : value ? map_put(fd, value) : 0;

	return ret ? ret : inner_put(instance, outer_fd, slot, fd);
}

/* In one call, because the kernel waits for all running programs after each. */
int inner_add(const struct instance *instance, int outer_fd, uint32_t first, const int *fds,
	      uint32_t count)
{
	LIBBPF_OPTS(bpf_map_batch_opts, opts);
	uint32_t slots[INNER_ADD_MAX], written = count, id;
	int ret = 0;

	for (uint32_t i = 0; !ret && i < count; i++) {
		slots[i] = first + i;
		ret = map_id(fds[i], &id);
		if (!ret)
			ret = inner_pin(instance, id, fds[i]);
	}
	/* If it fails, the next writer removes pins that no slot names. */
	return ret ? ret : bpf_map_update_batch(outer_fd, slots, fds, &written, &opts);
}

void inner_drop(const struct instance *instance, int outer_fd, uint32_t slot)
{
	uint32_t before;

	/* The kernel waits for all running programs even where there is nothing to delete. */
	if (!slot_read(outer_fd, slot, &before) && before &&
	    !bpf_map_delete_elem(outer_fd, &slot) && !is_shared(outer_fd, slot, before))
		inner_unpin(instance, before);
}

/* ---- what a killed writer left */

struct ids {
	uint32_t *list; /* to be freed */
	size_t count;
};

static int slots_read(int outer, uint32_t first, uint32_t count, struct ids *ids)
{
	uint32_t *list = reallocarray(ids->list, ids->count + count + 1, sizeof(*list));
	int ret = list ? 0 : -ENOMEM;

	if (list)
		ids->list = list;
	for (uint32_t slot = first; !ret && slot < first + count; slot++) {
		ret = slot_read(outer, slot, &list[ids->count]);
		ids->count += !ret && list[ids->count];
	}
	return ret;
}

/* If a slot cannot be read, nothing is removed, so that its map keeps its pin. */
void inner_tidy(const struct instance *instance)
{
	const struct instance_maps *fd = &instance->fd;
	/* All maps whose inner maps are pinned. */
	const struct {
		int outer;
		uint32_t slots; /* 0: chunks */
	} outers[] = {
		{fd->policy, 1},        {fd->tries, 2},        {fd->extras, 2},
		{fd->bans, 1},          {fd->ban_seats, 1},    {fd->rule_index, 2},
		{fd->members, 1},       {fd->set_groups, 2},   {fd->alarms, 2},
		{fd->guides, 2},        {fd->alarm_counts, 2}, {fd->counters_chunks, 0},
		{fd->shared_chunks, 0},
	};
	CLOSED_DIR DIR *dir = NULL;
	struct ids ids = {0};
	struct dirent *entry;
	uint32_t id;
	int ret = has_pins(instance) ? pins_dir_open(instance->path, &dir) : -ENOENT;

	for (size_t i = 0; !ret && i < sizeof(outers) / sizeof(outers[0]); i++) {
		uint32_t first = 0, slots = outers[i].slots;

		if (!slots)
			slots = chunks_count(instance, outers[i].outer, &first);
		ret = slots_read(outers[i].outer, first, slots, &ids);
	}
	while (!ret && (entry = readdir(dir))) {
		bool stray = sscanf(entry->d_name, PIN_PREFIX "%" SCNu32, &id) == 1;

		for (size_t i = 0; stray && i < ids.count; i++)
			stray = ids.list[i] != id;
		if (stray)
			unlinkat(dirfd(dir), entry->d_name, 0);
	}
	free(ids.list);
}

/* ---- chunks: inner maps of an array of maps, without gaps, for slots beyond the arrays. */

bool has_chunk(int chunks, uint32_t chunk)
{
	uint32_t id;

	return !bpf_map_lookup_elem(chunks, &chunk, &id);
}

uint32_t chunks_count(const struct instance *instance, int chunks, uint32_t *first)
{
	uint32_t count = 0;

	*first = instance->info.slots >> RL_CHUNK_SHIFT;
	while (*first + count < RL_CHUNKS && has_chunk(chunks, *first + count))
		count++;
	return count;
}
