// SPDX-License-Identifier: GPL-2.0-only
/* Notifications of rtnetlink, of which only that one came is used. */

#include "kernel/device/links.h"

#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>
#include <unistd.h>

int links_watch_open(void)
{
	struct sockaddr_nl to = {.nl_family = AF_NETLINK, .nl_groups = RTMGRP_LINK};
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE);

	if (fd < 0)
		return -errno;
	if (bind(fd, (const struct sockaddr *)&to, sizeof(to))) {
		int error = errno;

		close(fd);
		return -error;
	}
	return fd;
}

void links_watch_drain(int fd)
{
	char part; /* of a message; the rest is dropped */

	while (recv(fd, &part, sizeof(part), MSG_TRUNC) > 0 || errno == ENOBUFS)
		;
}
