// SPDX-License-Identifier: GPL-2.0-only
/* Pins of network namespaces that were deleted, which nobody can reach from inside any more. Their
 * maps are used by no program that anything but pins holds: that shows from everywhere, and is
 * asked first. The pins of a living namespace are its own affair: they may be half made, or their
 * loss is still to be told.
 */

#include "gc.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "bpffs.h"
#include "find.h"
#include "instance.h"
#include "liveness.h"
#include "map.h"
#include "pins.h"
#include "program.h"
#include "remains.h"
#include "rename.h"
#include "tcx.h"

#define UNLOAD_WAIT_US 10000 /* a program goes an RCU grace period after its pin */
#define UNLOAD_WAITS   100

/* Does any program in the kernel use the map? Where that may not be asked, one may. */
static bool is_used(uint32_t map)
{
	uint32_t id = 0, found;

	while (!bpf_prog_get_next_id(id, &id)) {
		int fd = bpf_prog_get_fd_by_id(id);
		bool used = program_uses(fd, map, &found) != 0;

		if (fd >= 0)
			close(fd);
		if (used)
			return true;
	}
	return errno != ENOENT;
}

/* Its maps are used by no program, or by programs that only pins hold: those of dispatchers, and
 * that of a link whose device is gone. */
static bool is_idle(struct liveness *liveness, const char *path)
{
	uint32_t policy;
	int ret = pins_policy_id(path, &policy);

	if (ret) /* -ENOENT: half made, or half removed */
		return ret == -ENOENT;
	return tcx_link_is_dead(path) || !is_used(policy) || xdp_remains(liveness, path, false);
}

/* A namespace's folder is called after its inode number. */
static bool is_of_gone_netns(struct liveness *liveness, const char *name)
{
	char *end;
	unsigned long inode = strtoul(name, &end, 10);

	return end != name && !*end && inode <= UINT32_MAX && netns_is_gone(liveness, inode);
}

/* Clears the pins of dispatchers, and waits for the programs to go with them. */
static void remains_clear(struct liveness *liveness, const char *path)
{
	uint32_t policy;

	if (!xdp_remains(liveness, path, true) || pins_policy_id(path, &policy))
		return;
	for (int i = 0; i < UNLOAD_WAITS && is_used(policy); i++)
		usleep(UNLOAD_WAIT_US);
}

/* One instance's folder. An attach that is under way holds the lock; it is waited for. */
static void instance_sweep(struct liveness *liveness, const char *path)
{
	int lock = pins_lock(path, false);

	if (lock < 0)
		return;
	remains_clear(liveness, path);
	if (is_idle(liveness, path))
		pins_remove(path);
	close(lock);
}

static void namespace_sweep(struct liveness *liveness, const char *folder, const char *netns)
{
	char path[INSTANCE_PATH_MAX + 32];
	struct dirent *entry;
	DIR *dir = opendir(folder);

	while (dir && (entry = readdir(dir)))
		if (entry->d_name[0] != '.' &&
		    snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name) <
			    INSTANCE_PATH_MAX &&
		    is_idle(liveness, path) && is_of_gone_netns(liveness, netns))
			instance_sweep(liveness, path);
	if (dir)
		closedir(dir);
}

void pins_sweep(const char *root)
{
	char all[INSTANCE_PATH_MAX], folder[INSTANCE_PATH_MAX + 32];
	struct liveness liveness = {0};
	struct dirent *entry;
	DIR *dir;

	snprintf(all, sizeof(all), "%s", root);
	*strrchr(all, '/') = '\0';
	dir = opendir(all);
	while (dir && (entry = readdir(dir))) {
		snprintf(folder, sizeof(folder), "%s/%.24s", all, entry->d_name);
		if (entry->d_name[0] != '.' && strcmp(folder, root))
			namespace_sweep(&liveness, folder, entry->d_name);
	}
	if (dir)
		closedir(dir);
	liveness_close(&liveness);
}

/* ---- what doctor sees of it */

struct leftovers {
	struct liveness liveness;
	void (*visit)(const char *path, const char *device, enum rl_hook hook, void *arg);
	void *arg;
};

/* Another process is at work there: what is half made may become whole. */
static bool is_busy(const char *path)
{
	int fd = pins_folder_open(path);
	bool busy = fd < 0 || flock(fd, LOCK_SH | LOCK_NB);

	if (fd >= 0)
		close(fd);
	return busy;
}

/* In this namespace: the device has no program of the instance. */
static bool is_left_over(const char *path, const char *device, enum rl_hook hook)
{
	struct device_program program;
	struct instance_maps maps;
	uint32_t policy;
	int ret = pins_open(path, false, &maps);

	if (ret)
		return ret == -ENOENT;
	ret = map_id(maps.policy, &policy);
	maps_close(&maps);
	return !ret && device_program_find(device, hook, policy, &program) == -ENOENT;
}

/* All instances below the folder of a namespace; netns is NULL for this one. */
static void leftovers_in(const char *folder, const char *netns, struct leftovers *left)
{
	char path[2 * INSTANCE_PATH_MAX], device[IF_NAMESIZE];
	struct dirent *entry;
	enum rl_hook hook;
	DIR *dir = opendir(folder);

	while (dir && (entry = readdir(dir))) {
		if (!pins_name_split(entry->d_name, device, &hook) ||
		    snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name) >=
			    INSTANCE_PATH_MAX ||
		    is_busy(path))
			continue;
		if (!netns && is_left_over(path, device, hook))
			left->visit(path, device, hook, left->arg);
		else if (netns && is_idle(&left->liveness, path) &&
			 is_of_gone_netns(&left->liveness, netns))
			left->visit(path, NULL, hook, left->arg);
	}
	if (dir)
		closedir(dir);
}

void pins_leftovers(const char *bpffs,
		    void (*visit)(const char *path, const char *device, enum rl_hook hook,
				  void *arg),
		    void *arg)
{
	struct leftovers left = {.visit = visit, .arg = arg};
	char root[INSTANCE_PATH_MAX], folder[INSTANCE_PATH_MAX + 32];
	struct dirent *entry;
	DIR *dir;

	if (!bpffs_mounted(bpffs) || pins_root_follow(bpffs, false, root))
		return;
	leftovers_in(root, NULL, &left);
	snprintf(folder, sizeof(folder), "%s/rlctl", bpffs);
	dir = opendir(folder);
	while (dir && (entry = readdir(dir))) {
		snprintf(folder, sizeof(folder), "%.200s/rlctl/%.24s", bpffs, entry->d_name);
		if (entry->d_name[0] != '.' && strcmp(folder, root) != 0)
			leftovers_in(folder, entry->d_name, &left);
	}
	if (dir)
		closedir(dir);
	liveness_close(&left.liveness);
}
