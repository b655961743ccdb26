// SPDX-License-Identifier: GPL-2.0-only
/* Enters network namespaces by name. */

#include "netns.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "message.h"

int netns_enter(const char *name)
{
	char path[256];
	int fd, ret = 0;

	if (!*name || strchr(name, '/') || !strcmp(name, ".") || !strcmp(name, "..")) {
		fail("-n %s: invalid name of a network namespace", name);
		return -EINVAL;
	}
	snprintf(path, sizeof(path), "/run/netns/%s", name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || setns(fd, CLONE_NEWNET)) {
		ret = -errno;
		fail("-n %s: %s%s", name, strerror(-ret),
		     ret == -ENOENT ? ": `ip netns list` lists the namespaces" : "");
	}
	if (fd >= 0)
		close(fd);
	return ret;
}
