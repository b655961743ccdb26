// SPDX-License-Identifier: GPL-2.0-only
/* Pins of deleted network namespaces, which are unreachable from inside. A directory is removed if
 * no program uses its maps, apart from programs that only pins hold; that can be checked from any
 * namespace and is checked first. Pins of existing namespaces are left to commands in those
 * namespaces: they may be incomplete because an attach is in progress, or their loss is yet to be
 * reported. */

#include "kernel/instance/gc.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "base/privilege.h"
#include "kernel/attach/companion.h"
#include "kernel/attach/program.h"
#include "kernel/attach/qdisc.h"
#include "kernel/attach/tcx.h"
#include "kernel/device/device.h"
#include "kernel/instance/bpffs.h"
#include "kernel/instance/find.h"
#include "kernel/instance/group.h"
#include "kernel/instance/instance.h"
#include "kernel/instance/liveness.h"
#include "kernel/instance/pins.h"
#include "kernel/maps/map.h"
#include "kernel/scope.h"

#define UNLOAD_WAIT_US 10000 /* a program is freed an RCU grace period after its pin */
#define UNLOAD_WAITS   100

/* Does any program use the map? True if unknown. */
static bool is_used(uint32_t map)
{
	uint32_t id = 0, found;

	while (!bpf_prog_get_next_id(id, &id))
		if (program_id_uses(id, map, &found))
			return true;
	return errno != ENOENT;
}

/* Its maps are used by no program, or only by programs that pins hold: those of dispatchers, and
 * that of a link whose device is gone. */
static bool is_unused(const char *path)
{
	uint32_t policy;
	int ret = pins_policy_id(path, &policy);

	if (ret) /* -ENOENT: incomplete */
		return ret == -ENOENT;
	return tcx_link_is_dead(path) || !is_used(policy) || stale_dispatchers(path, false);
}

bool instance_is_elsewhere(const char *path)
{
	bool elsewhere = privilege_held(PRIVILEGE_SYS_ADMIN);

	for (int i = 0; i < UNLOAD_WAITS && elsewhere; i++) {
		elsewhere = !is_unused(path);
		if (elsewhere)
			usleep(UNLOAD_WAIT_US);
	}
	return elsewhere;
}

/* A namespace's directory is named after its inode number. */
static bool is_of_gone_netns(const char *folder)
{
	const char *name = strrchr(folder, '/') + 1;
	char *end;
	unsigned long inode = strtoul(name, &end, 10);

	return end != name && !*end && inode <= UINT32_MAX && netns_is_gone(inode);
}

/* Removes unused instances, but leaves one to another command if an attach holds its lock. */
static void namespace_gc(const char *folder)
{
	char path[INSTANCE_PATH_MAX + 32];
	CLOSED_DIR DIR *dir = opendir(folder);
	struct dirent *entry;
	uint32_t policy;

	while (dir && (entry = readdir(dir))) {
		int lock = -1;

		if (entry->d_name[0] != '.' &&
		    snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name) <
			    INSTANCE_PATH_MAX &&
		    is_unused(path) && is_of_gone_netns(folder))
			lock = pins_lock_within(path, false, LOCK_WORD_MS);
		if (lock < 0)
			continue;
		/* Their programs are unloaded some time after the pins of stale dispatchers. */
		if (stale_dispatchers(path, true) && !pins_policy_id(path, &policy))
			for (int i = 0; i < UNLOAD_WAITS && is_used(policy); i++)
				usleep(UNLOAD_WAIT_US);
		if (is_unused(path))
			pins_remove(path);
		group_way_close(path);
		pins_unlock(lock);
	}
}

void pins_gc(const char *root)
{
	char all[INSTANCE_PATH_MAX], folder[INSTANCE_PATH_MAX + 32];

	pins_parent(root, 1, all);
	CLOSED_DIR DIR *dir = opendir(all);
	while (dir && pins_netns_next(dir, all, folder))
		if (strcmp(folder, root) != 0)
			namespace_gc(folder);
}

/* ---- pins of detached instances: a deleted device leaves them, and a new one may get its name */

/* Removes the pins last, so that a failed detach can be repeated. Holds the lock of all hooks, so
 * that an instance that takes over clsact will remove it. */
int instance_clean(const char *path, const char *device)
{
	struct instance instance;
	int lock = pins_lock_all(path, LOCK_WAIT_MS), ret;

	if (lock < 0)
		return lock;
	ret = instance_open_maps(path, device, true, INSTANCE_MAPS_ALL, &instance);
	if (!ret) {
		if (instance.info.companion)
			ret = companion_remove(&instance);
		if (!ret)
			ret = qdiscs_restore(&instance);
		instance_close(&instance);
	} else if (ret == -ENOENT || ret == -EPROTO || ret == -ELOOP) {
		ret = 0; /* incomplete, of another version, or a symbolic link replaces a pin */
	}
	stale_dispatchers(path, true);
	if (!ret)
		ret = pins_clear(path);
	pins_unlock(lock);
	return ret;
}

/* Locked, as an attach or a detach may be in progress. */
static void detached_clear(const char *path, const char *device, enum rl_hook hook)
{
	int lock = pins_lock_within(path, false, LOCK_WORD_MS);

	if (lock < 0)
		return;
	if (!instance_is_attached(path, device, hook) && !instance_is_elsewhere(path) &&
	    !instance_clean(path, device))
		pins_remove(path);
	group_way_close(path);
	pins_unlock(lock);
}

void hooks_clear(const char *root, const char *device, enum rl_hook except)
{
	char path[INSTANCE_PATH_MAX];

	for (int hook = RL_HOOK_XDP; hook <= RL_HOOK_EGRESS; hook++)
		if (hook != (int)except && !pins_path(root, device, hook, path) &&
		    !instance_is_attached(path, device, hook))
			detached_clear(path, device, hook);
}

bool gone_devices_clear(const char *root)
{
	CLOSED_DIR DIR *dir = NULL;
	struct pinned at;
	bool left = false;

	if (pins_dir_open(root, &dir))
		return false;
	while (pins_next(dir, root, &at)) {
		if (device_index(at.device) != -ENODEV)
			continue;
		if (is_unused(at.path))
			detached_clear(at.path, at.device, at.hook);
		left |= !access(at.path, F_OK);
	}
	return left;
}

/* ---- for doctor */

/* For instances of this namespace: is the program not on the device? */
static bool is_left_over(const char *path, const char *device, enum rl_hook hook)
{
	struct device_program program;
	struct instance_maps maps;
	uint32_t policy;
	int ret = pins_open(path, false, INSTANCE_MAPS_ALL, &maps);

	if (ret)
		return ret == -ENOENT;
	ret = map_id(maps.policy, &policy);
	maps_close(&maps);
	return !ret && device_program_find(device, hook, policy, &program) == -ENOENT;
}

/* Visits the unused instances in a namespace's directory, this one's or another. */
static void leftovers_in(const char *folder, bool here, pins_visit_fn *visit, void *arg)
{
	CLOSED_DIR DIR *dir = opendir(folder);
	struct pinned at;

	while (dir && pins_next(dir, folder, &at)) {
		int lock = pins_lock_within(at.path, false, 0);

		pins_unlock(lock);
		if (lock < 0)
			continue; /* another process has it: an incomplete instance may be completed
				   */
		if (here && is_left_over(at.path, at.device, at.hook))
			visit(at.path, at.device, at.hook, arg);
		else if (!here && is_unused(at.path) && is_of_gone_netns(folder))
			visit(at.path, NULL, at.hook, arg);
	}
}

void pins_leftovers(const char *bpffs, pins_visit_fn *visit, void *arg)
{
	char root[INSTANCE_PATH_MAX], all[INSTANCE_PATH_MAX], folder[INSTANCE_PATH_MAX + 32];

	if (!bpffs_mounted(bpffs) || pins_root_follow(bpffs, false, root))
		return;
	leftovers_in(root, true, visit, arg);
	pins_parent(root, 1, all);
	CLOSED_DIR DIR *dir = opendir(all);
	while (dir && pins_netns_next(dir, all, folder))
		if (strcmp(folder, root) != 0)
			leftovers_in(folder, false, visit, arg);
}
