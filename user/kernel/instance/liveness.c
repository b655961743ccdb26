// SPDX-License-Identifier: GPL-2.0-only
/* Reads the kernel's own lists and reference counts through a BPF program. /proc shows neither
 * namespaces that only a descriptor, a socket or a mount holds, nor those of processes that this
 * one may not inspect. If that cannot be determined, it counts as in use. */

#include "kernel/instance/liveness.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/lock.h"
#include "kernel/attach/program.h"
#include "kernel/instance/instance.h"
#include "kernel/instance/pins.h"
#include "kernel/scope.h"
#include "liveness.skel.h"

/* The program's answer; 0 ("unknown") if it could not run. */
static uint32_t ask(const struct bpf_program *program, uint64_t first, uint64_t second)
{
	uint64_t args[] = {first, second};
	LIBBPF_OPTS(bpf_test_run_opts, opts, .ctx_in = args, .ctx_size_in = sizeof(args));

	return bpf_prog_test_run_opts(bpf_program__fd(program), &opts) ? 0 : opts.retval;
}

/* Loaded once by a process, for itself and those that it forks, as libbpf reads all types of the
 * kernel for it; NULL if it cannot be. */
static const struct liveness_bpf *liveness(void)
{
	static struct liveness_bpf *skel;
	static bool asked;

	if (!asked)
		skel = liveness_bpf__open_and_load();
	asked = true;
	return skel;
}

bool netns_is_gone(uint32_t inode)
{
	const struct liveness_bpf *skel = liveness();

	return skel && ask(skel->progs.netns_find, inode, 0) == RL_NETNS_NONE;
}

/* Does the program have references besides the `known` ones? True if unknown. */
static bool program_is_held(uint32_t program, uint32_t known)
{
	CLOSED int fd = bpf_prog_get_fd_by_id(program);
	const struct liveness_bpf *skel;
	uint32_t references = 0;

	if (fd < 0)
		return fd != -ENOENT;
	skel = liveness();
	if (skel)
		references = ask(skel->progs.program_references, fd, program);
	return references != known + 1; /* the descriptor's own */
}

/* ---- stale dispatchers
 *
 * libxdp's pins of a dispatcher that was detached by force or with its device. They keep the
 * dispatcher and its programs loaded, and so all maps of an instance. While a dispatcher is
 * attached the same pins keep the programs of all its users (libxdp(3)), so they are removed only
 * if nothing else holds the dispatcher. Then all of them are removed at once, as by `xdp-loader
 * clean`, because no program of a detached dispatcher runs. */

struct dispatcher {
	uint32_t id;
	uint32_t links; /* of its programs; each link holds a reference */
	bool ours;      /* one of the programs uses the policy map */
};

/* The program of a link; counts the link if it attaches to the dispatcher. */
static int link_open(int folder, const char *name, struct dispatcher *out)
{
	struct bpf_link_info info = {0};
	uint32_t size = sizeof(info);
	CLOSED int link = pin_open(folder, name, true);
	int ret = link < 0 ? link : bpf_obj_get_info_by_fd(link, &info, &size);

	if (ret)
		return ret;
	if (info.type == BPF_LINK_TYPE_TRACING && info.tracing.target_obj_id == out->id)
		out->links++;
	return bpf_prog_get_fd_by_id(info.prog_id);
}

/* A dispatcher's directory, or NULL. */
static DIR *dispatcher_dir(int all, const char *folder)
{
	int fd = openat(all, folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);

	if (!dir)
		scope_fd(&fd);
	return dir;
}

/* The dispatcher has the instance's program, and only these pins hold it: no device in any
 * namespace, and no process that has pinned it and is about to attach it. */
static bool is_stale(int all, const char *folder, uint32_t policy)
{
	struct dispatcher dispatcher = {0};
	struct dirent *entry;
	uint32_t id;

	if (sscanf(folder, "dispatch-%u-%u", &id, &dispatcher.id) != 2)
		return false;
	CLOSED_DIR DIR *dir = dispatcher_dir(all, folder);
	while (dir && (entry = readdir(dir))) {
		const char *name = entry->d_name, *dash = strrchr(name, '-');
		bool is_link = dash && !strcmp(dash, "-link");
		int uses;

		if (*name == '.')
			continue;
		CLOSED int fd = is_link ? link_open(dirfd(dir), name, &dispatcher)
					: pin_open(dirfd(dir), name, false);
		uses = program_uses(fd, policy, &id);
		if (uses < 0)
			return false;
		dispatcher.ours |= uses;
	}
	return dispatcher.ours && !program_is_held(dispatcher.id, dispatcher.links);
}

/* The directory of all dispatchers. */
static int dispatchers_open(const char *path)
{
	char bpffs[INSTANCE_PATH_MAX], all[INSTANCE_PATH_MAX + 8];
	int fd, ret;

	pins_parent(path, PINS_LEVELS, bpffs);
	snprintf(all, sizeof(all), "%s/xdp", bpffs);
	fd = open(all, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	ret = fd < 0 ? -errno : folder_owner_check(fd);
	if (!ret)
		return fd;
	scope_fd(&fd);
	return ret == -ENOTDIR || ret == -ELOOP ? -PINS_FOREIGN : ret;
}

bool dispatchers_are_foreign(const char *path)
{
	CLOSED int fd = dispatchers_open(path);

	return fd == -PINS_FOREIGN;
}

/* The same, locked as libxdp locks it. */
static int dispatchers_lock(const char *path)
{
	int ret, fd = dispatchers_open(path);

	if (fd < 0)
		return fd;
	ret = lock_wait(fd, path, LOCK_WAIT_MS);
	if (!ret)
		return fd;
	close(fd);
	return ret;
}

static void folder_remove(int all, const char *folder)
{
	CLOSED_DIR DIR *dir = dispatcher_dir(all, folder);
	struct dirent *entry;

	while (dir && (entry = readdir(dir)))
		if (entry->d_name[0] != '.' && unlinkat(dirfd(dir), entry->d_name, 0))
			return;
	if (dir)
		unlinkat(all, folder, AT_REMOVEDIR);
}

int stale_dispatchers(const char *path, bool clear)
{
	struct dirent *entry;
	int lock, count = 0;
	uint32_t policy;

	if (pins_policy_id(path, &policy))
		return 0;
	lock = dispatchers_lock(path);
	CLOSED_DIR DIR *dir = lock < 0 ? NULL : fdopendir(lock);
	if (!dir)
		scope_fd(&lock);
	while (dir && (entry = readdir(dir))) {
		if (!is_stale(lock, entry->d_name, policy))
			continue;
		count++;
		if (clear)
			folder_remove(lock, entry->d_name);
	}
	return count;
}

void replaced_dispatcher_remove(const char *path, int ifindex, uint32_t id)
{
	char folder[sizeof("dispatch--") + 20];
	CLOSED int lock = dispatchers_lock(path);

	if (lock < 0)
		return;
	snprintf(folder, sizeof(folder), "dispatch-%d-%u", ifindex, id);
	folder_remove(lock, folder);
}
