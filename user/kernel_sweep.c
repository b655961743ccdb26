// SPDX-License-Identifier: GPL-2.0-only
/* What a network namespace leaves when it is deleted: pins that nobody inside it can reach any
 * more. Their maps are used by no loaded program, which shows from everywhere.
 */
#include <dirent.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "kernel_internal.h"

/* Does any program in the kernel use the map? */
static bool is_used(uint32_t map)
{
	uint32_t id = 0, found;

	while (!bpf_prog_get_next_id(id, &id)) {
		int fd = bpf_prog_get_fd_by_id(id);
		bool used = program_uses(fd, map, &found);

		if (fd >= 0)
			close(fd);
		if (used)
			return true;
	}
	return false;
}

/* One instance's folder. An attach that is under way holds the lock; it is waited for. */
static void instance_sweep(const char *path)
{
	int lock = pins_lock(path, false);
	struct instance_maps maps;
	bool used = true;

	if (lock < 0)
		return;
	if (!pins_open(path, &maps)) {
		used = is_used(map_id(maps.policy));
		maps_close(&maps);
	}
	if (!used)
		pins_remove(path);
	close(lock);
}

static void namespace_sweep(const char *path)
{
	char instance[INSTANCE_PATH_MAX + 32];
	struct dirent *entry;
	DIR *dir = opendir(path);

	while (dir && (entry = readdir(dir)))
		if (entry->d_name[0] != '.' && snprintf(instance, sizeof(instance), "%s/%s", path,
							entry->d_name) < INSTANCE_PATH_MAX)
			instance_sweep(instance);
	if (dir)
		closedir(dir);
}

void pins_sweep(const char *root)
{
	char all[INSTANCE_PATH_MAX], path[INSTANCE_PATH_MAX + 32];
	struct dirent *entry;
	DIR *dir;

	snprintf(all, sizeof(all), "%s", root);
	*strrchr(all, '/') = '\0';
	dir = opendir(all);
	while (dir && (entry = readdir(dir))) {
		snprintf(path, sizeof(path), "%s/%.24s", all, entry->d_name);
		if (entry->d_name[0] != '.' && strcmp(path, root))
			namespace_sweep(path);
	}
	if (dir)
		closedir(dir);
}
