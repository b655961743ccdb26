// SPDX-License-Identifier: GPL-2.0-only
/* What a network namespace leaves when it is deleted: pins that nobody inside it can reach any
 * more. Their maps are used by no loaded program, which shows from everywhere. What a living one
 * has is its own affair: what looks left over there may be half made, or is still to be told of.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "kernel_doctor.h"
#include "kernel_internal.h"
#include "kernel_tcx.h"

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

/* One instance's folder. An attach that is under way holds the lock; it is waited for. */
static void instance_sweep(const char *path)
{
	int lock = pins_lock(path, false);
	uint32_t policy;
	int ret;

	if (lock < 0)
		return;
	xdp_remains_clear(path, 0);
	ret = pins_policy_id(path, &policy); /* -ENOENT: half made, or half removed */
	if (ret == -ENOENT || (!ret && (tcx_link_is_dead(path) || !is_used(policy))))
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

/* Is the namespace the one of a process? */
static bool process_is_in(const char *inode)
{
	char path[280], link[64], wanted[64];
	struct dirent *entry;
	DIR *dir = opendir("/proc");
	bool found = !dir;

	snprintf(wanted, sizeof(wanted), "net:[%.24s]", inode);
	while (!found && (entry = readdir(dir))) {
		ssize_t size;

		snprintf(path, sizeof(path), "/proc/%s/ns/net", entry->d_name);
		size = readlink(path, link, sizeof(link) - 1);
		if (size < 0)
			continue;
		link[size] = '\0';
		found = !strcmp(link, wanted);
	}
	if (dir)
		closedir(dir);
	return found;
}

/* Has the namespace a name, as `ip netns` gives them? */
static bool netns_is_named(const char *inode)
{
	struct dirent *entry;
	DIR *dir = opendir("/run/netns");
	bool found = false;

	while (dir && !found && (entry = readdir(dir))) {
		char path[300], number[24];
		struct stat netns;

		snprintf(path, sizeof(path), "/run/netns/%s", entry->d_name);
		if (stat(path, &netns))
			continue;
		snprintf(number, sizeof(number), "%ju", (uintmax_t)netns.st_ino);
		found = !strcmp(number, inode);
	}
	if (dir)
		closedir(dir);
	return found;
}

static bool netns_lives(const char *inode)
{
	return netns_is_named(inode) || process_is_in(inode);
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
		if (entry->d_name[0] != '.' && strcmp(path, root) && !netns_lives(entry->d_name))
			namespace_sweep(path);
	}
	if (dir)
		closedir(dir);
}

/* ---- what doctor sees of it */

struct leftovers {
	void (*visit)(const char *path, const char *device, void *arg);
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

static bool is_left_over(const char *path, const char *device, enum rl_hook hook)
{
	struct device_program program;
	struct instance_maps maps;
	uint32_t policy;
	int ret;

	if (is_busy(path))
		return false;
	ret = pins_open(path, false, &maps);
	if (ret)
		return ret == -ENOENT;
	ret = map_id(maps.policy, &policy);
	maps_close(&maps);
	if (ret)
		return false;
	return device ? device_program_find(device, hook, policy, &program) == -ENOENT
		      : tcx_link_is_dead(path) || !is_used(policy);
}

/* All instances below the folder of a namespace. */
static void leftovers_in(const char *folder, bool of_this_namespace, const struct leftovers *left)
{
	char path[2 * INSTANCE_PATH_MAX], device[IF_NAMESIZE];
	struct dirent *entry;
	enum rl_hook hook;
	DIR *dir = opendir(folder);

	while (dir && (entry = readdir(dir))) {
		const char *name = NULL;

		if (!pins_name_split(entry->d_name, device, &hook))
			continue;
		if (of_this_namespace)
			name = device;
		if (snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name) <
			    INSTANCE_PATH_MAX &&
		    is_left_over(path, name, hook))
			left->visit(path, name, left->arg);
	}
	if (dir)
		closedir(dir);
}

void pins_leftovers(const char *bpffs,
		    void (*visit)(const char *path, const char *device, void *arg), void *arg)
{
	const struct leftovers left = {visit, arg};
	char root[INSTANCE_PATH_MAX], folder[INSTANCE_PATH_MAX + 32];
	struct dirent *entry;
	DIR *dir;

	if (!bpffs_mounted(bpffs) || pins_root(bpffs, false, root))
		return;
	leftovers_in(root, true, &left);
	snprintf(folder, sizeof(folder), "%s/rlctl", bpffs);
	dir = opendir(folder);
	while (dir && (entry = readdir(dir))) {
		snprintf(folder, sizeof(folder), "%.200s/rlctl/%.24s", bpffs, entry->d_name);
		if (entry->d_name[0] != '.' && strcmp(folder, root) != 0 &&
		    !netns_lives(entry->d_name))
			leftovers_in(folder, false, &left);
	}
	if (dir)
		closedir(dir);
}
