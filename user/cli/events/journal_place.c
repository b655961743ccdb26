// SPDX-License-Identifier: GPL-2.0-only
/* A folder is named after the inode of the network namespace, by which the pins are named, and
 * after its cookie, for another namespace may get the inode of one that is gone. */
#include "cli/events/journal_place.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kernel/instance/bpffs.h"
#include "kernel/instance/liveness.h"
#include "kernel/instance/pins.h"
#include "kernel/scope.h"

#define FOLDER_MODE 0700
#define FILE_MODE   0600

/* root: BPFFS/rlctl/INODE. Another bpffs than the usual one is part of the name. */
int journal_folder(const char *root, char out[JOURNAL_PATH_MAX])
{
	static const char usual[] = BPFFS_DEFAULT "/";
	bool is_usual = !strncmp(root, usual, strlen(usual));
	const char *inode = strrchr(root, '/');
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0), len;
	uint64_t cookie = 0; /* of this network namespace; 0 before Linux 5.14 */
	socklen_t size = sizeof(cookie);
	size_t before;

	if (fd >= 0 && getsockopt(fd, SOL_SOCKET, SO_NETNS_COOKIE, &cookie, &size))
		cookie = 0;
	if (fd >= 0)
		close(fd);
	if (!inode)
		return -EINVAL;
	len = snprintf(out, JOURNAL_PATH_MAX, JOURNAL_FOLDER "/%s-%" PRIx64, inode + 1, cookie);
	before = (size_t)len;
	if (!is_usual)
		len = snprintf(out + len, JOURNAL_PATH_MAX - before, "-%.*s", (int)(inode - root),
			       root) +
		      len;
	for (char *c = out + before; *c; c++)
		if (*c == '/')
			*c = ':';
	return len < JOURNAL_PATH_MAX ? 0 : -ENAMETOOLONG;
}

int journal_path(enum journal_place place, const char *pins, const char *ending,
		 char out[JOURNAL_PATH_MAX])
{
	const char *below = place == PLACE_KEPT ? "/" JOURNAL_KEPT : "";
	char root[INSTANCE_PATH_MAX], folder[JOURNAL_PATH_MAX];
	const char *name = strrchr(pins, '/');
	int ret;

	if (!name)
		return -EINVAL;
	snprintf(root, sizeof(root), "%.*s", (int)(name - pins), pins);
	ret = journal_folder(root, folder);
	if (!ret && snprintf(out, JOURNAL_PATH_MAX, "%s%s%s%s", folder, below, name, ending) >=
			    JOURNAL_PATH_MAX)
		ret = -ENAMETOOLONG;
	return ret;
}

int regular_open(int folder, const char *path, int flags)
{
	int fd = openat(folder, path, flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, FILE_MODE);
	struct stat st;

	if (fd < 0)
		return -errno;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode))
		return fd;
	close(fd);
	return -EINVAL;
}

int journal_open(enum journal_place place, const char *pins, const char *ending, int flags)
{
	char path[JOURNAL_PATH_MAX], folder[JOURNAL_PATH_MAX];
	int fd, ret = journal_path(place, pins, ending, path);

	if (ret)
		return ret;
	fd = regular_open(AT_FDCWD, path, flags);
	if (fd != -ENOENT || !(flags & O_CREAT) || place == PLACE_KEPT)
		return fd;
	mkdir(JOURNAL_FOLDER, FOLDER_MODE);
	snprintf(folder, sizeof(folder), "%.*s", (int)(strrchr(path, '/') - path), path);
	mkdir(folder, FOLDER_MODE);
	return regular_open(AT_FDCWD, path, flags);
}

/* ---- the folder that is kept */

int journal_keep(const char *root, const char *folder, char former[JOURNAL_PATH_MAX])
{
	char run[JOURNAL_PATH_MAX], link[JOURNAL_PATH_MAX + 8], next[JOURNAL_PATH_MAX + 16];
	int ret = journal_folder(root, run);
	struct stat st;
	ssize_t len;

	if (ret)
		return ret;
	if ((mkdir(folder, FOLDER_MODE) && errno != EEXIST) || stat(folder, &st))
		return -errno;
	if (!S_ISDIR(st.st_mode))
		return -ENOTDIR;
	/* Whoever may write to it could put anything in the place of a journal. */
	if (st.st_uid != geteuid() || st.st_mode & (S_IWGRP | S_IWOTH))
		return -EPERM;
	mkdir(JOURNAL_FOLDER, FOLDER_MODE);
	mkdir(run, FOLDER_MODE);
	snprintf(link, sizeof(link), "%s/" JOURNAL_KEPT, run);
	snprintf(next, sizeof(next), "%s.next", link);
	len = readlink(link, former, JOURNAL_PATH_MAX - 1);
	former[len > 0 ? len : 0] = '\0';
	if (!strcmp(former, folder))
		former[0] = '\0';
	unlink(next);
	return symlink(folder, next) || rename(next, link) ? -errno : 0;
}

/* ---- names */

static bool ending_cut(char *name, const char *ending)
{
	size_t len = strlen(name), cut = strlen(ending);

	if (len < cut || strcmp(name + len - cut, ending) != 0)
		return false;
	name[len - cut] = '\0';
	return true;
}

bool journal_name_split(const char *file, struct journal_name *out)
{
	char device[IF_NAMESIZE];
	enum rl_hook hook;

	snprintf(out->current, sizeof(out->current), "%s", file);
	out->is_old = ending_cut(out->current, JOURNAL_OLD);
	memcpy(out->pins, out->current, sizeof(out->pins));
	ending_cut(out->pins, JOURNAL_BANS);
	return pins_name_split(out->pins, device, &hook);
}

/* ---- namespaces that are gone */

static void folder_remove(const char *name)
{
	char path[JOURNAL_PATH_MAX];
	struct dirent *entry;
	DIR *dir;

	snprintf(path, sizeof(path), JOURNAL_FOLDER "/%.255s", name);
	dir = opendir(path);
	while (dir && (entry = readdir(dir)))
		if (entry->d_name[0] != '.')
			unlinkat(dirfd(dir), entry->d_name, 0);
	scope_dir(&dir);
	rmdir(path);
}

/* name: INODE-COOKIE..., ours: that of this namespace. A namespace with the same inode and another
 * cookie is gone, too. */
static bool is_gone(const char *name, const char *ours)
{
	char *end, *our_end;
	unsigned long inode = strtoul(name, &end, 10), our_inode = strtoul(ours, &our_end, 10);

	if (end == name || *end != '-' || inode > UINT32_MAX)
		return false;
	if (inode == our_inode)
		return strtoull(end + 1, NULL, 16) != strtoull(our_end + 1, NULL, 16);
	return netns_is_gone((uint32_t)inode);
}

void journals_tidy(const char *pins)
{
	CLOSED_DIR DIR *dir = opendir(JOURNAL_FOLDER);
	char path[JOURNAL_PATH_MAX];
	const char *ours;
	struct dirent *entry;

	if (!dir || journal_path(PLACE_RUN, pins, "", path))
		return;
	*strrchr(path, '/') = '\0';
	ours = strrchr(path, '/') + 1;
	while ((entry = readdir(dir)))
		if (strcmp(entry->d_name, ours) != 0 && is_gone(entry->d_name, ours))
			folder_remove(entry->d_name);
}
