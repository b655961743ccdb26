// SPDX-License-Identifier: GPL-2.0-only
/* The maps in the slots of maps. A slot tells only a number, by which CAP_SYS_ADMIN alone may open
 * a map; so each has a pin of that number beside the instance's own, which is there before the slot
 * names it and for as long as it does. Whoever may read the pins can read the policy.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "kernel_internal.h"

#define PIN_PREFIX "map-"
#define SLOTS_MAX  10 /* of all outer maps whose maps are pinned */
#define KEPT_MAX   16 /* without pins */

/* The number in the slot, 0 where there is none. */
static int slot_read(int outer_fd, uint32_t slot, uint32_t *out)
{
	*out = 0;
	return bpf_map_lookup_elem(outer_fd, &slot, out) && errno != ENOENT ? -errno : 0;
}

static void pin_name(uint32_t id, char out[32])
{
	snprintf(out, 32, PIN_PREFIX "%" PRIu32, id);
}

/* A simulation has none, nor has a test: the maps are kept open instead. */
static bool has_pins(const struct instance *instance)
{
	return instance->path[0];
}

/* ---- instead of pins */

static struct kept {
	uint32_t id; /* 0: nothing */
	int fd;
} all_kept[KEPT_MAX];

static struct kept *kept_find(uint32_t id)
{
	for (size_t i = 0; i < KEPT_MAX; i++)
		if (all_kept[i].id == id)
			return &all_kept[i];
	return NULL;
}

static int keep(uint32_t id, int fd)
{
	struct kept *kept = kept_find(0);
	int copy = kept ? fcntl(fd, F_DUPFD_CLOEXEC, 0) : -1;

	if (copy < 0)
		return kept ? -errno : 0; /* who has so many of them may open them by number */
	*kept = (struct kept){.id = id, .fd = copy};
	return 0;
}

static void keep_no_more(uint32_t id)
{
	struct kept *kept = id ? kept_find(id) : NULL;

	if (!kept)
		return;
	close(kept->fd);
	kept->id = 0;
}

static int kept_open(uint32_t id)
{
	const struct kept *kept = id ? kept_find(id) : NULL;
	int fd = kept ? fcntl(kept->fd, F_DUPFD_CLOEXEC, 0) : -1;

	return fd < 0 ? -ENOENT : fd;
}

/* ---- pins */

static int pinned_open(const struct instance *instance, uint32_t id)
{
	uint32_t pinned;
	char name[32];
	int fd, ret;

	if (!has_pins(instance))
		return kept_open(id);
	pin_name(id, name);
	fd = pin_open_at(instance->path, name, !instance->read_only);
	if (fd < 0)
		return fd;
	ret = map_id(fd, &pinned);
	if (!ret && pinned == id)
		return fd;
	close(fd);
	return ret ? ret : -ENOENT;
}

/* Was the instance detached since it was opened? */
static bool is_gone(const struct instance *instance)
{
	int folder = has_pins(instance) ? pins_folder_open(instance->path) : 0;

	if (folder > 0)
		close(folder);
	return folder == -ENOENT;
}

/* A pin that is gone may have gone with its map: then the slot names another one by now. */
int inner_open(const struct instance *instance, int outer_fd, uint32_t slot)
{
	uint32_t id, last = 0;
	int fd;

	for (;; last = id) {
		if (bpf_map_lookup_elem(outer_fd, &slot, &id))
			return -errno;
		if (id == last)
			break;
		fd = pinned_open(instance, id);
		if (fd != -ENOENT)
			return fd;
	}
	fd = bpf_map_get_fd_by_id(id);
	if (fd < 0)
		fd = -errno;
	return fd == -EPERM && is_gone(instance) ? -ESTALE : fd;
}

static int inner_pin(const struct instance *instance, uint32_t id, int fd)
{
	char path[INSTANCE_PATH_MAX + 32], name[32];
	int ret;

	if (!has_pins(instance))
		return keep(id, fd);
	pin_name(id, name);
	snprintf(path, sizeof(path), "%s/%s", instance->path, name);
	if (bpf_obj_pin(fd, path))
		return -errno;
	ret = group_take(instance->path, name);
	if (ret)
		unlink(path);
	return ret;
}

static void inner_unpin(const struct instance *instance, uint32_t id)
{
	char path[INSTANCE_PATH_MAX + 32], name[32];

	if (!has_pins(instance))
		keep_no_more(id);
	if (!has_pins(instance) || !id)
		return;
	pin_name(id, name);
	snprintf(path, sizeof(path), "%s/%s", instance->path, name);
	unlink(path);
}

int inner_put(const struct instance *instance, int outer_fd, uint32_t slot, int fd)
{
	uint32_t before, id;
	int ret = slot_read(outer_fd, slot, &before);

	if (!ret)
		ret = map_id(fd, &id);
	if (!ret)
		ret = inner_pin(instance, id, fd);
	if (ret)
		return ret;
	if (bpf_map_update_elem(outer_fd, &slot, &fd, BPF_ANY)) {
		ret = -errno;
		inner_unpin(instance, id);
		return ret;
	}
	inner_unpin(instance, before);
	return 0;
}

void inner_drop(const struct instance *instance, int outer_fd, uint32_t slot)
{
	uint32_t before;

	if (!slot_read(outer_fd, slot, &before) && !bpf_map_delete_elem(outer_fd, &slot))
		inner_unpin(instance, before);
}

/* ---- what a kill left */

/* The numbers in all slots: how many there are, or an error. */
static int slots_read(const struct instance *instance, uint32_t out[SLOTS_MAX])
{
	const struct instance_maps *fd = &instance->fd;
	const struct {
		int outer;
		uint32_t slot;
	} slots[] = {
		{fd->policy, 0},  {fd->tries, 0},     {fd->tries, 1},      {fd->flows, 0},
		{fd->windows, 0}, {fd->logs, 0},      {fd->fleet_keys, 0}, {fd->fleet_events, 0},
		{fd->bans, 0},    {fd->ban_seats, 0},
	};
	int count = 0;

	_Static_assert(sizeof(slots) / sizeof(slots[0]) <= SLOTS_MAX, "SLOTS_MAX");
	for (size_t i = 0; i < sizeof(slots) / sizeof(slots[0]); i++) {
		int ret = slot_read(slots[i].outer, slots[i].slot, &out[count]);

		if (ret)
			return ret;
		count += out[count] != 0;
	}
	return count;
}

static bool is_among(uint32_t id, const uint32_t *ids, int count)
{
	for (int i = 0; i < count; i++)
		if (ids[i] == id)
			return true;
	return false;
}

static void strays_unpin(const struct instance *instance, const uint32_t *ids, int count)
{
	struct dirent *entry;
	DIR *dir;

	if (pins_dir_open(instance->path, &dir))
		return;
	while ((entry = readdir(dir))) {
		uint32_t id;

		if (sscanf(entry->d_name, PIN_PREFIX "%" SCNu32, &id) == 1 &&
		    !is_among(id, ids, count))
			unlinkat(dirfd(dir), entry->d_name, 0);
	}
	closedir(dir);
}

/* Not where a slot cannot be read: its map keeps its pin. */
void inner_tidy(const struct instance *instance)
{
	uint32_t ids[SLOTS_MAX];
	int count = has_pins(instance) ? slots_read(instance, ids) : -ENOENT;

	if (count >= 0)
		strays_unpin(instance, ids, count);
}
