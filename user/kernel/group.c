// SPDX-License-Identifier: GPL-2.0-only
/* Read access for a group. It is stored only in the group and mode of the pin directory. Parent
 * directories are made searchable for everyone; their other contents keep their modes. */

#include "group.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "instance.h"
#include "message.h"
#include "pins.h"

#define FOLDER_MODE 0750
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
	return folder.st_mode & S_IRGRP ? 0 : -ENOENT;
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
	struct stat entry;
	int ret, folder;
	gid_t group;

	ret = group_read(path, &group);
	if (ret)
		return ret == -ENOENT ? 0 : ret;
	folder = pins_folder_open(path);
	if (folder < 0)
		return folder;
	ret = fstatat(folder, name, &entry, AT_SYMLINK_NOFOLLOW) ? -errno : 0;
	if (!ret)
		ret = entry_give(folder, name, group,
				 S_ISDIR(entry.st_mode) ? FOLDER_MODE : PIN_MODE);
	close(folder);
	return ret;
}

/* Entries first, then the directory itself. */
static int folder_give(const char *path, int folder, gid_t group)
{
	struct dirent *entry;
	DIR *dir;
	int ret = pins_dir_open(path, &dir);

	if (ret)
		return ret;
	for (errno = 0; !ret && (entry = readdir(dir)); errno = 0)
		if (entry->d_name[0] != '.' && strcmp(entry->d_name, "trial") != 0)
			ret = entry_give(folder, entry->d_name, group, PIN_MODE);
	if (!ret)
		ret = -errno;
	closedir(dir);
	if (!ret && (fchown(folder, -1, group) || fchmod(folder, FOLDER_MODE)))
		ret = -errno;
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

static int way_open_up(const char *path)
{
	char part[INSTANCE_PATH_MAX];
	int ret = 0;

	snprintf(part, sizeof(part), "%s", path);
	for (int up = 1; !ret && up <= 3; up++) { /* BPFFS/rlctl/NETNS/DEVICE-HOOK */
		*strrchr(part, '/') = '\0';
		ret = path_open_up(part, up == 1 ? LIST_MODE & 0555 : PASS_MODE & 0111);
	}
	return ret;
}

int group_give(const char *path, const char *device, gid_t group)
{
	int folder = pins_folder_open(path);
	int ret = folder < 0 ? folder : folder_give(path, folder, group);

	if (!ret)
		ret = way_open_up(path);
	if (folder >= 0)
		close(folder);
	if (ret)
		fail("%s: giving the group its pins failed: %s%s", device, strerror(-ret),
		     ret == -EPERM ? ": this needs CAP_CHOWN, or membership of the group" : "");
	return ret;
}

int instance_group_set(const struct instance *instance, gid_t group)
{
	return group_give(instance->path, instance->device, group);
}
