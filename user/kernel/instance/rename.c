// SPDX-License-Identifier: GPL-2.0-only
/* Renames pins after their devices were renamed, so that every verb finds an instance under the
 * device's current name. The interface index, which never changes, identifies the device. */

#include "kernel/instance/rename.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "base/message.h"
#include "kernel/attach/hook_names.h"
#include "kernel/attach/program.h"
#include "kernel/attach/trial_record.h"
#include "kernel/instance/find.h"
#include "kernel/instance/instance.h"
#include "kernel/instance/pins.h"

/* Has the device of these pins, with the program on it, another name now? */
static bool is_renamed(const char *path, const char *device, enum rl_hook hook,
		       char now[IF_NAMESIZE])
{
	struct device_program program;
	struct rl_instance info;

	return instance_info_read(path, &info) && if_nametoindex(device) != info.ifindex &&
	       if_indextoname(info.ifindex, now) && !pins_program_find(path, now, hook, &program);
}

/* Does nothing if the new name already has pins; detach removes those. Does nothing while a trial
 * runs, because a trial finds its instance by path. */
static void pins_rename(const char *root, const char *path, const char *device, enum rl_hook hook)
{
	char now[IF_NAMESIZE], to[INSTANCE_PATH_MAX];
	int lock = pins_lock_within(path, false, LOCK_WORD_MS);

	if (lock < 0)
		return;
	if (is_renamed(path, device, hook, now) && !pins_path(root, now, hook, to) &&
	    trial_check(path) == -ENOENT && !rename(path, to))
		note("%s: renamed to %s, and so is its instance at %s", device, now,
		     hook_name(hook));
	pins_unlock(lock);
}

static void pins_follow(const char *root)
{
	char path[INSTANCE_PATH_MAX], device[IF_NAMESIZE], now[IF_NAMESIZE];
	DIR *dir = opendir(root);
	struct dirent *entry;
	enum rl_hook hook;

	while (dir && (entry = readdir(dir)))
		if (pins_name_split(entry->d_name, device, &hook) &&
		    !pins_path(root, device, hook, path) && is_renamed(path, device, hook, now))
			pins_rename(root, path, device, hook);
	if (dir)
		closedir(dir);
}

int pins_root_follow(const char *bpffs, bool make, char out[INSTANCE_PATH_MAX])
{
	int ret = pins_root(bpffs, make, out);

	if (!ret)
		pins_follow(out);
	return ret;
}
