// SPDX-License-Identifier: GPL-2.0-only
/* One socket and one answer for each request. */

#include "netlink_tc.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define ANSWER_BYTES 32768 /* the kernel never sends more at once */

struct tc_request tc_request_make(uint16_t type, uint16_t flags, int ifindex)
{
	return (struct tc_request){
		.head = {.nlmsg_len = NLMSG_LENGTH(sizeof(struct tcmsg)),
			 .nlmsg_type = type,
			 .nlmsg_flags = NLM_F_REQUEST | flags,
			 .nlmsg_seq = 1},
		.tc = {.tcm_family = AF_UNSPEC, .tcm_ifindex = ifindex},
	};
}

void tc_request_put(struct tc_request *request, uint16_t type, const void *data, size_t size)
{
	struct rtattr *attribute = (void *)((char *)request + NLMSG_ALIGN(request->head.nlmsg_len));

	attribute->rta_type = type;
	attribute->rta_len = RTA_LENGTH(size);
	if (size)
		memcpy(RTA_DATA(attribute), data, size);
	request->head.nlmsg_len = NLMSG_ALIGN(request->head.nlmsg_len) + RTA_SPACE(size);
}

struct answer {
	int (*each)(const struct nlmsghdr *message, void *arg);
	void *arg;
	bool ended;
};

static int message_read(const struct nlmsghdr *message, struct answer *answer)
{
	const struct nlmsgerr *error = NLMSG_DATA(message);

	if (message->nlmsg_type == NLMSG_DONE || message->nlmsg_type == NLMSG_ERROR)
		answer->ended = true;
	if (message->nlmsg_type == NLMSG_ERROR)
		return error->error;
	return answer->ended || !answer->each ? 0 : answer->each(message, answer->arg);
}

static int answer_read(int fd, struct answer *answer)
{
	union {
		struct nlmsghdr head;
		char bytes[ANSWER_BYTES];
	} buffer;
	int ret = 0;

	while (!ret && !answer->ended) {
		ssize_t got = recv(fd, &buffer, sizeof(buffer), 0);
		unsigned int left = got > 0 ? got : 0;

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got ? -errno : -ECONNRESET;
		for (const struct nlmsghdr *m = &buffer.head; !ret && NLMSG_OK(m, left);
		     m = NLMSG_NEXT(m, left))
			ret = message_read(m, answer);
	}
	return ret;
}

int tc_request_send(struct tc_request *request,
		    int (*each)(const struct nlmsghdr *message, void *arg), void *arg)
{
	struct answer answer = {.each = each, .arg = arg};
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE), ret;

	if (fd < 0)
		return -errno;
	if (!each)
		request->head.nlmsg_flags |= NLM_F_ACK;
	if (send(fd, request, request->head.nlmsg_len, 0) < 0)
		ret = -errno;
	else
		ret = answer_read(fd, &answer);
	close(fd);
	return ret;
}

static const struct rtattr *attribute_find(const struct rtattr *at, unsigned int left,
					   uint16_t type)
{
	for (; RTA_OK(at, left); at = RTA_NEXT(at, left))
		if ((at->rta_type & NLA_TYPE_MASK) == type)
			return at;
	return NULL;
}

const struct rtattr *tc_attribute(const struct nlmsghdr *message, uint16_t type)
{
	const struct tcmsg *tc = NLMSG_DATA(message);

	return attribute_find(TCA_RTA(tc), TCA_PAYLOAD(message), type);
}

const struct rtattr *tc_attribute_in(const struct rtattr *outer, uint16_t type)
{
	return attribute_find(RTA_DATA(outer), RTA_PAYLOAD(outer), type);
}
