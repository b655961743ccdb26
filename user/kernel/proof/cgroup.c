// SPDX-License-Identifier: GPL-2.0-only
#include "kernel/proof/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#define ROOT_INODE 1 /* of the hierarchy; the root of a namespace is another directory of it */

/* Blanks in a path are written as octal numbers. */
static void path_unescape(char *path)
{
	char *to = path;

	for (const char *from = path; *from; to++) {
		unsigned int byte;

		if (sscanf(from, "\\%3o", &byte) == 1) {
			*to = (char)byte;
			from += 4;
		} else {
			*to = *from++;
		}
	}
	*to = '\0';
}

static int root_open_at(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct statfs system;
	struct stat root;
	int ret;

	if (fd < 0)
		return -errno;
	ret = fstatfs(fd, &system) || fstat(fd, &root) ? -errno : 0;
	if (!ret && (system.f_type != CGROUP2_SUPER_MAGIC || root.st_ino != ROOT_INODE))
		ret = -EXDEV;
	if (!ret)
		return fd;
	close(fd);
	return ret;
}

/* The mount point of such a line of mountinfo, in it; proc(5). NULL: it is of something else. */
static char *mount_point(char *line)
{
	char *kind = strstr(line, " - cgroup2 "), *point = line;

	for (int field = 0; kind && point && field < 4; field++)
		point = strchr(point + 1, ' ');
	if (!kind || !point || point > kind)
		return NULL;
	*strchrnul(++point, ' ') = '\0';
	path_unescape(point);
	return point;
}

int cgroup_root_open(void)
{
	FILE *mounts = fopen("/proc/self/mountinfo", "re");
	int fd = mounts ? -ENOENT : -errno;
	char *line = NULL;
	size_t size = 0;

	while (fd < 0 && mounts && getline(&line, &size, mounts) >= 0) {
		const char *point = mount_point(line);

		if (point)
			fd = root_open_at(point);
	}
	free(line);
	if (mounts)
		fclose(mounts);
	return fd;
}
