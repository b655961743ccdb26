// SPDX-License-Identifier: GPL-2.0-only
/* Network namespaces and their names. */

#include "kernel/device/netns.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "base/message.h"
#include "kernel/scope.h"

#define NAMES "/run/netns"

/* `top -n 1` is top(1)'s way to ask for one screen. */
static const char *advice(const char *name, int error)
{
	if (error != -ENOENT)
		return "";
	if (!name[strspn(name, "0123456789")])
		return ": -n names a network namespace; `rlctl top --once` shows one screen";
	return ": `ip netns list` lists the namespaces";
}

int netns_enter(const char *name)
{
	char path[256];
	int ret;

	if (!*name || strchr(name, '/') || !strcmp(name, ".") || !strcmp(name, "..")) {
		fail("-n %s: invalid name of a network namespace", name);
		return -EINVAL;
	}
	snprintf(path, sizeof(path), NAMES "/%s", name);
	CLOSED int fd = open(path, O_RDONLY | O_CLOEXEC);
	ret = fd < 0 || setns(fd, CLONE_NEWNET) ? -errno : 0;
	if (ret)
		fail("-n %s: %s%s", name, strerror(-ret), advice(name, ret));
	return ret;
}

static bool is_same(const struct stat *a, const struct stat *b)
{
	return a->st_ino == b->st_ino && a->st_dev == b->st_dev;
}

int netns_name(char out[NAME_MAX + 1])
{
	struct stat first, own, named;
	struct dirent *entry;
	/* Unknown, as in services that do not see process 1. A file of a namespace has a number of
	 * its own, and unlike /proc/1/ns/net can be looked at without capabilities. */
	bool unknown = stat("/proc/1/net/dev", &first) || stat("/proc/self/net/dev", &own);

	out[0] = '\0';
	if ((!unknown && is_same(&first, &own)) || stat("/proc/self/ns/net", &own))
		return 0;
	CLOSED_DIR DIR *dir = opendir(NAMES);
	while (dir && (entry = readdir(dir))) {
		if (fstatat(dirfd(dir), entry->d_name, &named, 0) || !is_same(&own, &named))
			continue;
		snprintf(out, NAME_MAX + 1, "%s", entry->d_name);
		return 0;
	}
	return unknown ? 0 : -ENOENT;
}

int netns_cookie_read(__u64 *out)
{
	CLOSED int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	socklen_t size = sizeof(*out);

	return fd < 0 || getsockopt(fd, SOL_SOCKET, SO_NETNS_COOKIE, out, &size) ? -errno : 0;
}
