// SPDX-License-Identifier: GPL-2.0-only
/* Devices that were called something else when they got their instance: the pins follow, so that
 * every verb finds it under the name of now. The device's number, which stays, says which it is.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "kernel_internal.h"
#include "output.h"

bool instance_info_read(const char *path, struct rl_instance *out)
{
	uint32_t zero = 0;
	int fd = pin_open_at(path, "instance", false);
	bool read;

	read = fd >= 0 && !map_value_check(fd, sizeof(*out)) &&
	       !bpf_map_lookup_elem(fd, &zero, out) && out->abi_version == RL_ABI_VERSION;
	if (fd >= 0)
		close(fd);
	return read;
}

/* Where the device is of another name now, and has the program. */
static bool is_renamed(const char *path, const char *device, enum rl_hook hook,
		       char now[IF_NAMESIZE])
{
	struct device_program program;
	struct rl_instance info;

	return instance_info_read(path, &info) && if_nametoindex(device) != info.ifindex &&
	       if_indextoname(info.ifindex, now) && !pins_program_find(path, now, hook, &program);
}

/* Where the new name has pins already they are in the way until they are detached. A trial is known
 * by its path, so its end is waited for. */
static void pins_rename(const char *root, const char *path, const char *device, enum rl_hook hook)
{
	char now[IF_NAMESIZE], to[INSTANCE_PATH_MAX];
	int lock = pins_lock(path, false);

	if (lock < 0)
		return;
	if (is_renamed(path, device, hook, now) && !pins_path(root, now, hook, to) &&
	    trial_check(path) == -ENOENT && !rename(path, to))
		note("%s: is called %s now, and so is its instance at %s", device, now,
		     hook_name(hook));
	close(lock);
}

void pins_follow(const char *root)
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
