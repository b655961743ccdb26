// SPDX-License-Identifier: GPL-2.0-only
/* Lists instances and opens the one that a target names. */

#include "open.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "find.h"
#include "hooks.h"
#include "instance.h"
#include "message.h"
#include "owner.h"
#include "pins.h"
#include "program.h"
#include "rename.h"
#include "report.h"

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

int instance_open_at(const char *path, const char *device, enum rl_hook hook, enum use use,
		     struct instance *out)
{
	int lock = use == USE_WRITE ? pins_lock(path, false) : -1;
	int ret = use == USE_WRITE && lock < 0
			  ? lock
			  : instance_open_path(path, device, use != USE_READ, out);

	if (!ret) {
		ret = program_check(out);
		if (ret)
			maps_close(&out->fd);
	} else if (ret == -ENOENT) {
		ret = version_check(path, device, hook);
	}
	if (!ret)
		out->lock_fd = lock;
	else if (lock >= 0)
		close(lock);
	return ret;
}

struct pin_list {
	char root[INSTANCE_PATH_MAX];
	struct dirent **entries;
	int count;
};

static int is_visible(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

static int pins_list(const struct target *target, struct pin_list *out)
{
	int folder, ret = pins_root_follow(target->bpffs, false, out->root);

	if (ret)
		return ret;
	folder = ret = pins_folder_open(out->root);
	if (folder >= 0) {
		out->count = scandirat(folder, ".", &out->entries, is_visible, alphasort);
		ret = out->count < 0 ? -errno : 0;
		close(folder);
	}
	if (!ret || ret == -ENOENT)
		return 0;
	fail("%s: %s%s", out->root, strerror(-ret), pins_error_hint(ret));
	return ret;
}

static void pins_list_clear(struct pin_list *list)
{
	for (int i = 0; i < list->count; i++)
		free(list->entries[i]);
	if (list->count >= 0)
		free(list->entries);
}

static bool target_matches(const struct target *target, const char *name, char device[IF_NAMESIZE],
			   enum rl_hook *hook)
{
	if (!pins_name_split(name, device, hook))
		return false;
	if (target->device && strcmp(target->device, device))
		return false;
	return target->hook < 0 || target->hook == (int)*hook;
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

		if (!target_matches(target, list.entries[i]->d_name, device, &hook) ||
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
	pins_list_clear(&list);
	if (!ret)
		ret = unseen;
	return !ret && !visited ? refused : ret;
}

/* The instance chosen among those that match. */
struct choice {
	char device[IF_NAMESIZE];
	enum rl_hook hook;
	int matches, attached;
};

/* Prefers the first attached instance, else the first. A single match is not checked. */
static void choice_add(const char *root, const char *device, enum rl_hook hook, bool alone,
		       struct choice *choice)
{
	bool attached = alone || instance_is_attached(root, device, hook);

	if (!choice->matches || (attached && !choice->attached)) {
		memcpy(choice->device, device, sizeof(choice->device));
		choice->hook = hook;
	}
	choice->matches++;
	choice->attached += attached;
}

/* Chooses one instance that the target matches; stale pins do not count if another one is attached.
 */
static int pins_choose(const struct target *target, const struct pin_list *list,
		       struct choice *choice)
{
	char device[IF_NAMESIZE];
	enum rl_hook hook;
	int matches = 0;

	for (int i = 0; i < list->count; i++)
		matches += target_matches(target, list->entries[i]->d_name, device, &hook);
	for (int i = 0; i < list->count; i++)
		if (target_matches(target, list->entries[i]->d_name, device, &hook))
			choice_add(list->root, device, hook, matches == 1, choice);
	if (choice->attached > 1) {
		fail("several instances: choose one with -i DEV%s (`rlctl status` lists them)",
		     target->device ? " --hook HOOK" : "");
		return -ENOTUNIQ;
	}
	if (choice->matches)
		return 0;
	if (target->device)
		return report_open_error(target->device, RL_HOOK_XDP, -ENOENT);
	fail("nothing attached: `rlctl attach DEV`");
	return -ENOENT;
}

static int open_for(const struct target *target, enum use use, struct instance *out)
{
	char path[INSTANCE_PATH_MAX];
	struct pin_list list = {0};
	struct choice choice = {.hook = RL_HOOK_XDP};
	int ret = pins_list(target, &list);

	if (!ret)
		ret = pins_choose(target, &list, &choice);
	if (!ret)
		ret = pins_path(list.root, choice.device, choice.hook, path);
	pins_list_clear(&list);
	if (ret)
		return ret;
	ret = instance_open_at(path, choice.device, choice.hook, use, out);
	return ret ? report_open_error(choice.device, choice.hook, ret) : 0;
}

int instance_open(const struct target *target, bool write, struct instance *out)
{
	return open_for(target, write ? USE_WRITE : USE_READ, out);
}

int instance_open_shared(const struct target *target, struct instance *out)
{
	return open_for(target, USE_SHARED, out);
}
