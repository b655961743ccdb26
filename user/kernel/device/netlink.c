// SPDX-License-Identifier: GPL-2.0-only
/* Sends each request on a socket of its own. */

#include "kernel/device/netlink.h"

#include <errno.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define ANSWER_BYTES 32768 /* the kernel never sends more at once */

void *netlink_start(union netlink_request *request, uint16_t type, uint16_t flags, size_t size)
{
	struct nlmsghdr *head = mnl_nlmsg_put_header(memset(request, 0, sizeof(*request)));

	head->nlmsg_type = type;
	head->nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | flags;
	head->nlmsg_seq = 1;
	return mnl_nlmsg_put_extra_header(head, size);
}

static int answer_read(const struct mnl_socket *from, const struct nlmsghdr *request, mnl_cb_t each,
		       void *arg)
{
	_Alignas(struct nlmsghdr) char bytes[ANSWER_BYTES];
	int ret = MNL_CB_OK;

	while (ret > MNL_CB_STOP) {
		ssize_t got = mnl_socket_recvfrom(from, bytes, sizeof(bytes));

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got ? -errno : -ECONNRESET;
		ret = mnl_cb_run(bytes, (size_t)got, request->nlmsg_seq,
				 mnl_socket_get_portid(from), each, arg);
	}
	return ret < 0 ? -errno : 0;
}

int netlink_ask(int protocol, union netlink_request *request, mnl_cb_t each, void *arg)
{
	struct mnl_socket *to = mnl_socket_open2(protocol, SOCK_CLOEXEC);
	int ret;

	if (!to)
		return -errno;
	if (mnl_socket_bind(to, 0, MNL_SOCKET_AUTOPID) < 0 ||
	    mnl_socket_sendto(to, request, request->head.nlmsg_len) < 0)
		ret = -errno;
	else
		ret = answer_read(to, &request->head, each, arg);
	mnl_socket_close(to);
	return ret;
}

static const struct nlattr *attribute_find(const struct nlattr *at, const char *end, uint16_t type,
					   size_t size)
{
	for (; mnl_attr_ok(at, (int)(end - (const char *)at)); at = mnl_attr_next(at))
		if (mnl_attr_get_type(at) == type)
			return mnl_attr_get_payload_len(at) >= size ? at : NULL;
	return NULL;
}

const struct nlattr *netlink_attribute(const struct nlmsghdr *message, size_t head, uint16_t type,
				       size_t size)
{
	return attribute_find(mnl_nlmsg_get_payload_offset(message, head),
			      mnl_nlmsg_get_payload_tail(message), type, size);
}

const struct nlattr *netlink_attribute_in(const struct nlattr *outer, uint16_t type, size_t size)
{
	const char *inside = mnl_attr_get_payload(outer);

	return attribute_find((const void *)inside, inside + mnl_attr_get_payload_len(outer), type,
			      size);
}

/* ---- generic netlink */

void netlink_generic_start(union netlink_request *request, uint16_t family, uint8_t command,
			   uint16_t flags)
{
	struct genlmsghdr *head = netlink_start(request, family, flags, sizeof(*head));

	head->cmd = command;
	head->version = 1;
}

static int family_take(const struct nlmsghdr *message, void *arg)
{
	const struct nlattr *at = netlink_attribute(message, sizeof(struct genlmsghdr),
						    CTRL_ATTR_FAMILY_ID, sizeof(uint16_t));

	if (at)
		*(uint16_t *)arg = mnl_attr_get_u16(at);
	return MNL_CB_OK;
}

int netlink_family_find(const char *name, uint16_t *out)
{
	union netlink_request request;
	int ret;

	*out = 0;
	netlink_generic_start(&request, GENL_ID_CTRL, CTRL_CMD_GETFAMILY, 0);
	mnl_attr_put_strz(&request.head, CTRL_ATTR_FAMILY_NAME, name);
	ret = netlink_ask(NETLINK_GENERIC, &request, family_take, out);
	return ret || *out ? ret : -ENOENT;
}

/* ---- notifications of rtnetlink, of which only that one came is used */

int links_watch_open(void)
{
	struct sockaddr_nl to = {.nl_family = AF_NETLINK, .nl_groups = RTMGRP_LINK};
	int ret, fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE);

	if (fd >= 0 && !bind(fd, (const struct sockaddr *)&to, sizeof(to)))
		return fd;
	ret = -errno;
	if (fd >= 0)
		close(fd);
	return ret;
}

void links_watch_drain(int fd)
{
	char part; /* of a message; the rest is dropped */

	while (recv(fd, &part, sizeof(part), MSG_TRUNC) > 0 || errno == ENOBUFS)
		;
}
