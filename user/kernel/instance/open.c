// SPDX-License-Identifier: GPL-2.0-only
/* Lists instances and opens the one that a target names. */

#include "kernel/instance/open.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/message.h"
#include "kernel/attach/program.h"
#include "kernel/instance/choose.h"
#include "kernel/instance/find.h"
#include "kernel/instance/hooks.h"
#include "kernel/instance/instance.h"
#include "kernel/instance/owner.h"
#include "kernel/instance/pins.h"
#include "kernel/instance/rename.h"
#include "kernel/report.h"

/* -ESTALE if the program of the maps is not on the device. */
static int program_check(const struct instance *instance)
{
	struct device_program program;
	int ret = owner_record_check(instance->path);

	if (!ret)
		ret = instance_program_find(instance, &program);
	return ret == -ENOENT ? -ESTALE : ret;
}

/* For an instance with missing maps: -EPROTO if its program is attached, as its version has other
 * maps. */
static int version_check(const char *path, const char *device, enum rl_hook hook)
{
	struct device_program program;
	int ret = pins_program_find(path, device, hook, &program);

	return ret ? ret : -EPROTO;
}

static int maps_open_at(const char *path, const char *device, enum rl_hook hook, enum use use,
			uint64_t maps, struct instance *out)
{
	int lock = use == USE_WRITE ? pins_lock(path, false) : -1;
	int ret = use == USE_WRITE && lock < 0
			  ? lock
			  : instance_open_maps(path, device, use != USE_READ, maps, out);

	if (!ret) {
		ret = program_check(out);
		if (ret)
			maps_close(&out->fd);
	} else if (ret == -ENOENT) {
		ret = version_check(path, device, hook);
	}
	if (!ret)
		out->lock_fd = lock;
	else
		pins_unlock(lock);
	return ret;
}

int instance_open_at(const char *path, const char *device, enum rl_hook hook, enum use use,
		     struct instance *out)
{
	return maps_open_at(path, device, hook, use, INSTANCE_MAPS_ALL, out);
}

/* Handles an instance that could not be opened, one of several. Returns the error if it makes the
 * listing incomplete, else `before`: a detached instance is skipped, and one of another version is
 * only reported. */
static int open_failed(const char *device, enum rl_hook hook, int error, int before)
{
	if (error == -ENOENT || error == -ESTALE)
		return before;
	report_open_error(device, hook, error);
	return error == -EPROTO ? before : error;
}

int instance_for_each(const struct target *target,
		      int (*visit)(struct instance *instance, void *arg), void *arg)
{
	struct pin_list list = {0};
	int ret = pins_list(target, &list), unseen = 0, refused = 0;
	bool visited = false;

	for (int i = 0; !ret && i < list.count; i++) {
		char device[IF_NAMESIZE], path[INSTANCE_PATH_MAX];
		struct instance instance;
		enum rl_hook hook;

		if (!pins_match(target, &list, list.entries[i]->d_name, device, &hook) ||
		    pins_path(list.root, device, hook, path))
			continue;
		ret = instance_open_at(path, device, hook, USE_READ, &instance);
		if (ret) {
			int *kept = ret == -EACCES ? &refused : &unseen;

			*kept = open_failed(device, hook, ret, *kept);
			ret = 0; /* instances that can be opened come first */
			continue;
		}
		ret = visit(&instance, arg);
		visited = true;
		instance_close(&instance);
	}
	if (!ret && !unseen && !refused)
		unseen = selection_check(target, &list);
	pins_list_clear(&list);
	if (!ret)
		ret = unseen;
	return !ret && !visited ? refused : ret;
}

static int open_for(const struct target *target, enum use use, uint64_t maps, struct instance *out)
{
	char path[INSTANCE_PATH_MAX], root[INSTANCE_PATH_MAX];
	struct places places = {0};
	const struct place *place;
	int ret = places_choose(target, &places);

	if (ret)
		return ret;
	place = &places.items[0];
	ret = pins_root(target->bpffs, false, root);
	if (!ret)
		ret = pins_path(root, place->device, place->hook, path);
	if (!ret) {
		ret = maps_open_at(path, place->device, place->hook, use, maps, out);
		if (ret == -EACCES && use != USE_READ)
			fail("%s: %s: run as root (members of the group of `attach --group` may "
			     "only read)",
			     place->device, strerror(-ret));
		else if (ret)
			report_open_error(place->device, place->hook, ret);
	}
	places_clear(&places);
	return ret;
}

int instance_open(const struct target *target, bool write, struct instance *out)
{
	return open_for(target, write ? USE_WRITE : USE_READ, INSTANCE_MAPS_ALL, out);
}

int instance_open_shared(const struct target *target, struct instance *out)
{
	return open_for(target, USE_SHARED, INSTANCE_MAPS_ALL, out);
}

int instance_open_sets(const struct target *target, bool write, struct instance *out)
{
	return open_for(target, write ? USE_WRITE : USE_READ, INSTANCE_MAPS_SETS, out);
}
