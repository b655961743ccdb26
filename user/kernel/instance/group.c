// SPDX-License-Identifier: GPL-2.0-only
/* Read access for a group. It is stored only in the group and mode of the pin directory. Parent
 * directories are made searchable for everyone as long as one instance has a group; their other
 * contents keep their modes. */

#include "kernel/instance/group.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/message.h"
#include "kernel/instance/pins.h"

#define FOLDER_MODE 0710 /* who may read a directory can lock it */
#define PIN_MODE    0640
#define LIST_MODE   0755 /* of the namespace's directory: lists the devices */
#define PASS_MODE   0711

/* -ENOENT if there is none. */
static int group_read(const char *path, gid_t *out)
{
	int ret, fd = pins_folder_open(path);
	struct stat folder;

	if (fd < 0)
		return fd;
	ret = fstat(fd, &folder) ? -errno : 0;
	close(fd);
	if (ret)
		return ret;
	*out = folder.st_gid;
	return folder.st_mode & S_IXGRP ? 0 : -ENOENT;
}

int instance_group(const struct instance *instance, gid_t *out)
{
	return group_read(instance->path, out);
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
	struct stat entry = {0};
	int ret, folder;
	gid_t group;
	mode_t mode;

	ret = group_read(path, &group);
	if (ret)
		return ret == -ENOENT ? 0 : ret;
	folder = pins_folder_open(path);
	if (folder < 0)
		return folder;
	ret = fstatat(folder, name, &entry, AT_SYMLINK_NOFOLLOW) ? -errno : 0;
	mode = S_ISDIR(entry.st_mode) ? FOLDER_MODE : PIN_MODE;
	if (!ret && (entry.st_gid != group || (entry.st_mode & 07777) != mode))
		ret = entry_give(folder, name, group, mode);
	close(folder);
	return ret;
}

/* Entries first, then the directory itself. */
static int folder_give(const char *path, gid_t group)
{
	struct dirent *entry;
	DIR *dir;
	int folder, ret = pins_dir_open(path, &dir);

	if (ret)
		return ret;
	folder = dirfd(dir);
	for (errno = 0; !ret && (entry = readdir(dir)); errno = 0)
		if (entry->d_name[0] != '.' && strcmp(entry->d_name, "trial") != 0)
			ret = entry_give(folder, entry->d_name, group, PIN_MODE);
	if (!ret)
		ret = -errno;
	if (!ret && (fchown(folder, -1, group) || fchmod(folder, FOLDER_MODE)))
		ret = -errno;
	closedir(dir);
	return ret;
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

static struct way way_of(const char *root)
{
	struct way way;

	snprintf(way.netns, sizeof(way.netns), "%s", root);
	snprintf(way.all, sizeof(way.all), "%s", root);
	*strrchr(way.all, '/') = '\0';
	snprintf(way.bpffs, sizeof(way.bpffs), "%s", way.all);
	*strrchr(way.bpffs, '/') = '\0';
	return way;
}

static bool has_mode(const char *path, mode_t mode)
{
	struct stat file;

	return !stat(path, &file) && (file.st_mode & mode) == mode;
}

/* That the bpffs was private is noted in the mode of the directory rlctl. */
static int way_open_up(const char *path)
{
	char root[INSTANCE_PATH_MAX];
	struct way way;
	int ret, lock;

	snprintf(root, sizeof(root), "%s", path);
	*strrchr(root, '/') = '\0';
	way = way_of(root);
	lock = ret = pins_lock_all(root, LOCK_WAIT_MS);
	if (lock < 0)
		return ret;
	ret = path_open_up(way.netns, LIST_MODE & 0555);
	if (!ret)
		ret = path_open_up(way.all, PASS_MODE & 0111);
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
	struct dirent *entry;
	struct stat folder;
	bool needed = false;
	DIR *dir = opendir(path);

	while (dir && !needed && (entry = readdir(dir)))
		needed = entry->d_name[0] != '.' &&
			 !fstatat(dirfd(dir), entry->d_name, &folder, AT_SYMLINK_NOFOLLOW) &&
			 S_ISDIR(folder.st_mode) && folder.st_mode & mode;
	if (dir)
		closedir(dir);
	return needed;
}

void group_way_close(const char *root)
{
	struct way way = way_of(root);
	bool ours = has_mode(way.all, S_ISVTX);
	struct stat bpffs;
	int lock;

	if (!has_mode(way.all, S_IXOTH))
		return;
	lock = pins_lock_all(root, LOCK_WORD_MS);
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
	int ret = folder_give(path, group);

	if (!ret)
		ret = way_open_up(path);
	if (ret)
		fail("%s: giving the group its pins failed: %s%s", device, strerror(-ret),
		     ret == -EPERM ? ": this needs CAP_CHOWN, or membership of the group" : "");
	return ret;
}

int instance_group_set(const struct instance *instance, gid_t group)
{
	return group_give(instance->path, instance->device, group);
}
