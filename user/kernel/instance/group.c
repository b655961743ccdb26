// SPDX-License-Identifier: GPL-2.0-only
/* Read access for a group. It is stored only in the group and mode of the pin directory. Parent
 * directories are made searchable for everyone as long as one instance has a group; their other
 * contents keep their modes. */

#include "kernel/instance/group.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/message.h"
#include "kernel/instance/pins.h"
#include "kernel/scope.h"

#define FOLDER_MODE 0710 /* who may read a directory can lock it */
#define PIN_MODE    0640
#define LIST_MODE   0755 /* of the namespace's directory: lists the devices */
#define PASS_MODE   0711

int group_read(const char *path, gid_t *out)
{
	CLOSED int fd = pins_folder_open(path, O_PATH);
	struct stat folder;

	if (fd < 0)
		return fd;
	if (fstat(fd, &folder))
		return -errno;
	*out = folder.st_gid;
	return folder.st_mode & S_IXGRP ? 0 : -ENOENT;
}

/* Sets the group before the mode, so that no other group can read in between. */
static int entry_give(int folder, const char *name, gid_t group, mode_t mode)
{
	struct stat entry;

	if (fstatat(folder, name, &entry, AT_SYMLINK_NOFOLLOW) ||
	    fchownat(folder, name, -1, group, AT_SYMLINK_NOFOLLOW))
		return -errno;
	if (S_ISLNK(entry.st_mode))
		return -ELOOP;
	return fchmodat(folder, name, mode, 0) ? -errno : 0;
}

int group_inherit(const char *path, const char *name)
{
	struct stat entry;
	gid_t group;
	mode_t mode;
	int ret = group_read(path, &group);

	if (ret)
		return ret == -ENOENT ? 0 : ret;
	CLOSED int folder = pins_folder_open(path, O_PATH);
	if (folder < 0)
		return folder;
	if (fstatat(folder, name, &entry, AT_SYMLINK_NOFOLLOW))
		return -errno;
	mode = S_ISDIR(entry.st_mode) ? FOLDER_MODE : PIN_MODE;
	if (entry.st_gid == group && (entry.st_mode & 07777) == mode)
		return 0;
	return entry_give(folder, name, group, mode);
}

int group_pin(const char *path, const char *name, int fd)
{
	int ret = pin_make(path, name, fd);

	if (ret)
		return ret;
	ret = group_inherit(path, name);
	if (ret)
		pin_remove(path, name);
	return ret;
}

/* Entries first, then the directory itself. */
static int folder_give(const char *path, gid_t group)
{
	CLOSED_DIR DIR *dir = NULL;
	struct dirent *entry;
	int ret = pins_dir_open(path, &dir);

	if (ret)
		return ret;
	for (errno = 0; !ret && (entry = readdir(dir)); errno = 0)
		if (entry->d_name[0] != '.' && strcmp(entry->d_name, TRIAL_FOLDER) != 0)
			ret = entry_give(dirfd(dir), entry->d_name, group, PIN_MODE);
	if (!ret)
		ret = -errno;
	if (!ret && (fchown(dirfd(dir), -1, group) || fchmod(dirfd(dir), FOLDER_MODE)))
		ret = -errno;
	return ret;
}

static bool has_mode(const char *path, mode_t mode)
{
	struct stat file;

	return !stat(path, &file) && (file.st_mode & mode) == mode;
}

/* Adds missing bits to the mode. */
static int path_open_up(const char *path, mode_t mode)
{
	struct stat folder;

	if (stat(path, &folder))
		return -errno;
	if ((folder.st_mode & mode) == mode)
		return 0;
	return chmod(path, (folder.st_mode & 07777) | mode) ? -errno : 0;
}

/* BPFFS/rlctl/NETNS/DEVICE-HOOK */
struct way {
	char netns[INSTANCE_PATH_MAX], all[INSTANCE_PATH_MAX], bpffs[INSTANCE_PATH_MAX];
};

static struct way way_of(const char *path)
{
	struct way way = {0};

	pins_parent(path, 1, way.netns);
	pins_parent(path, 2, way.all);
	pins_parent(path, 3, way.bpffs);
	return way;
}

/* That the bpffs was private is noted in the mode of the directory rlctl. */
static int way_open_up(const char *path)
{
	struct way way = way_of(path);
	int ret, lock = pins_lock_all(path, LOCK_WAIT_MS);

	if (lock < 0)
		return lock;
	ret = path_open_up(way.netns, LIST_MODE & 0555) ?: path_open_up(way.all, PASS_MODE & 0111);
	if (!ret && !has_mode(way.bpffs, S_IXOTH) && !has_mode(way.bpffs, S_IXGRP))
		ret = path_open_up(way.all, S_ISVTX);
	if (!ret)
		ret = path_open_up(way.bpffs, PASS_MODE & 0111);
	pins_unlock(lock);
	return ret;
}

/* Has a directory in this one the mode? */
static bool is_needed(const char *path, mode_t mode)
{
	CLOSED_DIR DIR *dir = opendir(path);
	struct dirent *entry;
	struct stat folder;

	while (dir && (entry = readdir(dir)))
		if (entry->d_name[0] != '.' &&
		    !fstatat(dirfd(dir), entry->d_name, &folder, AT_SYMLINK_NOFOLLOW) &&
		    S_ISDIR(folder.st_mode) && folder.st_mode & mode)
			return true;
	return false;
}

void group_way_close(const char *path)
{
	struct way way = way_of(path);
	bool ours = has_mode(way.all, S_ISVTX);
	struct stat bpffs;
	int lock;

	if (!has_mode(way.all, S_IXOTH))
		return;
	lock = pins_lock_all(path, LOCK_WORD_MS);
	if (lock < 0)
		return; /* the next one does it */
	if (!is_needed(way.netns, S_IXGRP))
		chmod(way.netns, 0700);
	if (!is_needed(way.all, S_IXOTH)) {
		chmod(way.all, 0700);
		if (ours && !stat(way.bpffs, &bpffs))
			chmod(way.bpffs, bpffs.st_mode & 07700);
	}
	pins_unlock(lock);
}

int group_give(const char *path, const char *device, gid_t group)
{
	int ret = folder_give(path, group) ?: way_open_up(path);

	if (ret)
		fail("%s: giving the group its pins failed: %s%s", device, strerror(-ret),
		     ret == -EPERM ? ": this needs CAP_CHOWN, or membership of the group" : "");
	return ret;
}
