// SPDX-License-Identifier: GPL-2.0-only
/* Directories, locks and pins below the bpffs. */

#include "kernel/instance/pins.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "base/message.h"
#include "kernel/attach/hook_names.h"
#include "kernel/instance/bpffs.h"
#include "kernel/maps/map.h"
#include "kernel/scope.h"

int pins_root(const char *bpffs, bool make, char out[INSTANCE_PATH_MAX])
{
	struct stat netns;
	int ret = bpffs_ensure(bpffs, make);

	if (ret)
		return ret;
	if (stat("/proc/self/ns/net", &netns)) {
		ret = -errno;
		fail("/proc/self/ns/net: %s: is /proc mounted?", strerror(-ret));
		return ret;
	}
	if (snprintf(out, INSTANCE_PATH_MAX, "%s/" PINS_FOLDER "/%ju", bpffs,
		     (uintmax_t)netns.st_ino) >= INSTANCE_PATH_MAX - 64) {
		fail("--bpffs %s: path too long", bpffs);
		return -ENAMETOOLONG;
	}
	return 0;
}

int pins_path(const char *root, const char *device, enum rl_hook hook, char out[INSTANCE_PATH_MAX])
{
	int len = snprintf(out, INSTANCE_PATH_MAX, "%s/%s-%s", root, device, hook_name(hook));

	/* bpffs allows no dot in a name, so VLAN devices (eth0.100) are written with a colon, which
	 * device names cannot hold. */
	for (char *c = out + strlen(root) + 1; *c; c++)
		if (*c == '.')
			*c = ':';
	return len < INSTANCE_PATH_MAX ? 0 : -ENAMETOOLONG;
}

bool pins_name_split(const char *name, char device[IF_NAMESIZE], enum rl_hook *hook)
{
	const char *dash = strrchr(name, '-');
	size_t len = dash ? dash - name : 0;

	if (!len || len >= IF_NAMESIZE)
		return false;
	for (int h = RL_HOOK_XDP; h <= RL_HOOK_EGRESS; h++) {
		if (strcmp(dash + 1, hook_name(h)))
			continue;
		memcpy(device, name, len);
		device[len] = '\0';
		for (char *c = device; *c; c++)
			if (*c == ':')
				*c = '.';
		*hook = h;
		return true;
	}
	return false;
}

bool pins_next(DIR *dir, const char *root, struct pinned *out)
{
	struct dirent *entry;

	while ((entry = readdir(dir)))
		if (pins_name_split(entry->d_name, out->device, &out->hook) &&
		    !pins_path(root, out->device, out->hook, out->path))
			return true;
	return false;
}

bool pins_netns_next(DIR *dir, const char *all, char out[INSTANCE_PATH_MAX + 32])
{
	struct dirent *entry;

	while ((entry = readdir(dir))) {
		snprintf(out, INSTANCE_PATH_MAX + 32, "%s/%.24s", all, entry->d_name);
		if (entry->d_name[0] != '.')
			return true;
	}
	return false;
}

void pins_parent(const char *path, int levels, char out[INSTANCE_PATH_MAX])
{
	snprintf(out, INSTANCE_PATH_MAX, "%s", path);
	while (levels-- > 0)
		*strrchr(out, '/') = '\0';
}

/* ---- opening, without following symbolic links */

/* Opens the path component by component. openat2() could do it at once, but services with
 * RestrictSUIDSGID= may not call it. A symbolic link gives -ENOTDIR instead of a directory, -ELOOP
 * instead of a pin. */
static int open_below(int folder, const char *path, int flags)
{
	char rest[INSTANCE_PATH_MAX], *next = NULL;
	int at = folder;

	snprintf(rest, sizeof(rest), "%s", path);
	for (char *name = strtok_r(rest, "/", &next); name && at >= 0;) {
		char *after = strtok_r(NULL, "/", &next);
		int fd = openat(at, name,
				(after ? O_PATH | O_DIRECTORY : flags) | O_NOFOLLOW | O_CLOEXEC);
		struct stat entry;
		int ret = fd < 0 || fstat(fd, &entry) ? -errno
			  : S_ISLNK(entry.st_mode)    ? -ELOOP
						      : 0;

		if (ret)
			scope_fd(&fd);
		if (at != folder)
			close(at);
		at = ret ? ret : fd;
		name = after;
	}
	return at;
}

/* The bpffs of a path, whose last "/rlctl/" begins what is below. */
static int bpffs_open(const char *path, const char **below)
{
	char bpffs[INSTANCE_PATH_MAX];
	const char *found = NULL;
	int fd;

	for (const char *at = path; (at = strstr(at, "/" PINS_FOLDER "/")); at++)
		found = at;
	if (!found)
		return -EINVAL;
	*below = found + 1;
	snprintf(bpffs, sizeof(bpffs), "%.*s", (int)(found - path), path);
	fd = open(*bpffs ? bpffs : "/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* The path leads through a link or a directory of another user: nothing below is ours to remove. */
static bool is_foreign(int error)
{
	return error == -ELOOP || error == -ENOTDIR || error == -PINS_FOREIGN;
}

/* A bpffs may be writable by everyone, as /tmp is; whoever creates the directory first controls its
 * contents. */
int folder_owner_check(int folder)
{
	struct stat entry;

	if (fstat(folder, &entry))
		return -errno;
	return (entry.st_uid && entry.st_uid != geteuid()) || entry.st_mode & (S_IWGRP | S_IWOTH)
		       ? -PINS_FOREIGN
		       : 0;
}

static int root_owner_check(int bpffs)
{
	CLOSED int fd = open_below(bpffs, PINS_FOLDER, O_PATH | O_DIRECTORY);

	return fd < 0 ? fd : folder_owner_check(fd);
}

bool pins_are_foreign(const char *bpffs)
{
	CLOSED int fd = open(bpffs, O_PATH | O_DIRECTORY | O_CLOEXEC);

	return fd >= 0 && is_foreign(root_owner_check(fd));
}

int pins_folder_open(const char *path, int flags)
{
	const char *below;
	CLOSED int bpffs = bpffs_open(path, &below);
	int ret = bpffs < 0 ? bpffs : root_owner_check(bpffs);

	return ret ? ret : open_below(bpffs, below, flags | O_DIRECTORY);
}

int pins_dir_open(const char *path, DIR **out)
{
	int ret, folder = pins_folder_open(path, O_RDONLY);

	if (folder < 0)
		return folder;
	*out = fdopendir(folder);
	if (*out)
		return 0;
	ret = -errno;
	close(folder);
	return ret;
}

/* Creates every directory of the path below the bpffs, which exists. */
static int folders_make(const char *path)
{
	char rest[INSTANCE_PATH_MAX], *next = NULL;
	const char *below;
	int fd = bpffs_open(path, &below);

	if (fd < 0)
		return fd;
	snprintf(rest, sizeof(rest), "%s", below);
	for (char *name = strtok_r(rest, "/", &next); name; name = strtok_r(NULL, "/", &next)) {
		bool first = name == rest;
		int folder;
		if (mkdirat(fd, name, 0700) && errno != EEXIST)
			folder = -errno;
		else
			folder = first ? root_owner_check(fd) : 0;
		if (!folder)
			folder = open_below(fd, name, O_PATH | O_DIRECTORY);
		close(fd);
		if (folder < 0)
			return folder;
		fd = folder;
	}
	close(fd);
	return 0;
}

static int parent_remove(const char *path)
{
	char parent[INSTANCE_PATH_MAX];

	pins_parent(path, 1, parent);
	return rmdir(parent) && errno != ENOTEMPTY && errno != ENOENT ? -errno : 0;
}

bool folder_is(int fd, const char *path)
{
	struct stat opened, named;

	return !fstat(fd, &opened) && !lstat(path, &named) && opened.st_ino == named.st_ino;
}

/* Locks the descriptor and returns it, or closes it. The group of an earlier version could read the
 * directory, and so lock it. */
static int private_lock(int fd, const char *path, unsigned int wait_ms)
{
	struct stat folder;
	int ret;

	if (fd < 0)
		return fd;
	if (!fstat(fd, &folder) && folder.st_mode & (S_IRGRP | S_IROTH))
		fchmod(fd, folder.st_mode & 07777 & ~(S_IRGRP | S_IROTH));
	ret = lock_wait(fd, path, wait_ms);
	if (!ret)
		return fd;
	close(fd);
	return ret;
}

int pins_lock_within(const char *path, bool create, unsigned int wait_ms)
{
	for (;;) {
		int ret = create ? folders_make(path) : 0;
		int fd;

		/* A concurrent detach may remove a parent directory again. */
		if (ret == -ENOENT)
			continue;
		if (ret) {
			if (!is_foreign(ret))
				parent_remove(path);
			return ret;
		}
		fd = private_lock(pins_folder_open(path, O_RDONLY), path, wait_ms);
		if (fd == -ENOENT && create)
			continue;
		if (fd < 0)
			return fd;
		/* The previous holder of the lock may have detached and removed the directory. */
		if (folder_is(fd, path)) {
			message_hold();
			return fd;
		}
		close(fd);
		if (!create)
			return -ENOENT;
	}
}

int pins_lock(const char *path, bool create)
{
	return pins_lock_within(path, create, LOCK_WAIT_MS);
}

/* The directory rlctl itself, which lasts; others may search it at most. Earlier versions lock that
 * of the namespace instead: theirs and ours exclude each other by the instance's lock alone. */
int pins_lock_all(const char *path, unsigned int wait_ms)
{
	char all[INSTANCE_PATH_MAX];
	const char *below;
	CLOSED int bpffs = bpffs_open(path, &below);
	int fd = bpffs < 0 ? bpffs : root_owner_check(bpffs);

	if (fd)
		return fd;
	snprintf(all, sizeof(all), "%.*s", (int)(below + strlen(PINS_FOLDER) - path), path);
	fd = private_lock(open_below(bpffs, PINS_FOLDER, O_RDONLY | O_DIRECTORY), all, wait_ms);
	if (fd >= 0)
		message_hold();
	return fd;
}

void pins_unlock(int lock)
{
	if (lock < 0)
		return;
	close(lock);
	message_release();
}

/* The kernel follows symbolic links in pin paths, so the pin is named by a descriptor. */
int pin_open(int folder, const char *name, bool write)
{
	LIBBPF_OPTS(bpf_obj_get_opts, opts, .file_flags = write ? 0 : BPF_F_RDONLY);
	CLOSED int pin = open_below(folder, name, O_PATH);
	char path[32];

	if (pin < 0)
		return pin;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", pin);
	return bpf_obj_get_opts(path, &opts);
}

int pin_open_at(const char *path, const char *name, bool write)
{
	CLOSED int folder = pins_folder_open(path, O_PATH);

	return folder < 0 ? folder : pin_open(folder, name, write);
}

int pin_make(const char *path, const char *name, int fd)
{
	char pin[INSTANCE_PATH_MAX + 64];

	snprintf(pin, sizeof(pin), "%s/%s", path, name);
	return bpf_obj_pin(fd, pin);
}

void pin_remove(const char *path, const char *name)
{
	char pin[INSTANCE_PATH_MAX + 64];

	snprintf(pin, sizeof(pin), "%s/%s", path, name);
	unlink(pin);
}

int pins_policy_id(const char *path, uint32_t *out)
{
	CLOSED int fd = pin_open_at(path, "policy", false);

	return fd < 0 ? fd : map_id(fd, out);
}

static int files_unlink(DIR *dir)
{
	struct dirent *entry;
	int ret = 0;

	for (errno = 0; (entry = readdir(dir)); errno = 0)
		if (entry->d_name[0] != '.' && unlinkat(dirfd(dir), entry->d_name, 0))
			ret = -errno;
	return ret ? ret : -errno;
}

int folder_clear(const char *path, const char *name)
{
	char folder[INSTANCE_PATH_MAX + 16];
	CLOSED_DIR DIR *dir = NULL;
	int ret;

	snprintf(folder, sizeof(folder), "%s/%s", path, name);
	ret = pins_dir_open(folder, &dir);
	if (ret)
		return ret == -ENOENT ? 0 : ret;
	ret = files_unlink(dir);
	return rmdir(folder) ? ret ?: -errno : ret;
}

int pins_clear(const char *path)
{
	CLOSED_DIR DIR *dir = NULL;
	int ret = pins_dir_open(path, &dir);

	if (ret)
		return ret == -ENOENT ? 0 : ret;
	folder_clear(path, TRIAL_FOLDER);
	folder_clear(path, COMPANION_FOLDER);
	return files_unlink(dir);
}

int folders_remove(const char *path)
{
	if (rmdir(path) && errno != ENOENT)
		return -errno;
	return parent_remove(path); /* fails while another instance is in it */
}

int pins_remove(const char *path)
{
	int ret = pins_clear(path);

	return ret ? ret : folders_remove(path);
}

const char *pins_error_hint(int error)
{
	switch (error) {
	case -EACCES:
	case -EPERM:
		return ": run as root (members of the group of `attach --group` may only read)";
	case -ELOOP:
	case -ENOTDIR:
		return ": symbolic links are not followed there: find out who created it, and "
		       "remove it";
	case -PINS_FOREIGN:
		return ": the directory rlctl of this bpffs belongs to another user, or others may "
		       "write to it: find out who created it, and remove it";
	default:
		return "";
	}
}
