// SPDX-License-Identifier: GPL-2.0-only
/* Answers of netlink as the kernel gives them, and as it gives them when lists change or calls
 * fail. The socket is played here; the rest is libmnl's.
 */
#include <errno.h>
#include <linux/rtnetlink.h>
#include <stdint.h>

#include "cases.h"
#include "kernel/attach/qdisc.h"
#include "kernel/device/netlink.h"

#define PORT      7
#define PARTS_MAX 32

/* ---- the socket: each call of recvfrom takes the next part */

struct part {
	int error;   /* of the call */
	int objects; /* of RTM_NEWQDISC, with a parent */
	uint16_t flags;
	uint16_t end; /* the message behind them: NLMSG_DONE, NLMSG_ERROR or 0 */
	int status;   /* of NLMSG_ERROR */
	uint32_t seq; /* 0: the request's */
};

static const struct part *parts;
static size_t parts_read, requests;

struct mnl_socket *mnl_socket_open2(int bus, int flags)
{
	static char nothing;

	(void)bus;
	assert_int_equal(flags, SOCK_CLOEXEC);
	return (void *)&nothing;
}

int mnl_socket_bind(struct mnl_socket *nl, unsigned int groups, pid_t pid)
{
	(void)nl;
	(void)groups;
	(void)pid;
	return 0;
}

unsigned int mnl_socket_get_portid(const struct mnl_socket *nl)
{
	(void)nl;
	return PORT;
}

int mnl_socket_close(struct mnl_socket *nl)
{
	(void)nl;
	return 0;
}

ssize_t mnl_socket_sendto(const struct mnl_socket *nl, const void *req, size_t siz)
{
	const struct nlmsghdr *request = req;

	(void)nl;
	assert_int_equal(request->nlmsg_len, siz);
	assert_int_equal(request->nlmsg_flags & NLM_F_REQUEST, NLM_F_REQUEST);
	requests++;
	return (ssize_t)siz;
}

static struct nlmsghdr *message_put(char **at, const struct part *part, uint16_t type)
{
	struct nlmsghdr *head = mnl_nlmsg_put_header(*at);

	head->nlmsg_type = type;
	head->nlmsg_flags = part->flags;
	head->nlmsg_seq = part->seq ? part->seq : 1;
	head->nlmsg_pid = PORT;
	return head;
}

static void object_put(char **at, const struct part *part)
{
	struct nlmsghdr *head = message_put(at, part, RTM_NEWQDISC);
	struct tcmsg *tc = mnl_nlmsg_put_extra_header(head, sizeof(*tc));

	tc->tcm_ifindex = 1;
	tc->tcm_parent = 0x10001;
	mnl_attr_put_strz(head, TCA_KIND, "fq");
	*at += head->nlmsg_len;
}

static void end_put(char **at, const struct part *part)
{
	struct nlmsghdr *head = message_put(at, part, part->end);

	if (part->end == NLMSG_ERROR) {
		struct nlmsgerr *error = mnl_nlmsg_put_extra_header(head, sizeof(*error));

		error->error = part->status;
	}
	*at += head->nlmsg_len;
}

ssize_t mnl_socket_recvfrom(const struct mnl_socket *nl, void *buf, size_t siz)
{
	const struct part *part = &parts[parts_read++];
	char *at = buf;

	(void)nl;
	assert_true(parts_read <= PARTS_MAX && siz >= 4096);
	if (part->error) {
		errno = part->error;
		return -1;
	}
	for (int i = 0; i < part->objects; i++)
		object_put(&at, part);
	if (part->end)
		end_put(&at, part);
	assert_true(at > (char *)buf);
	return at - (char *)buf;
}

static void play(const struct part *next)
{
	parts = next;
	parts_read = requests = 0;
}

/* ---- one request */

static int count(const struct nlmsghdr *message, void *arg)
{
	assert_int_equal(message->nlmsg_type, RTM_NEWQDISC);
	++*(int *)arg;
	return MNL_CB_OK;
}

struct row {
	const char *name;
	struct part parts[4];
	int ret, objects;
};

TEST(answers)
{
	static const struct row rows[] = {
		{"done", {{.end = NLMSG_ERROR}}, 0, 0},
		{"refused", {{.end = NLMSG_ERROR, .status = -ENODEV}}, -ENODEV, 0},
		{"one object", {{.objects = 1}, {.end = NLMSG_ERROR}}, 0, 1},
		{"a list", {{.objects = 2}, {.objects = 1}, {.end = NLMSG_DONE}}, 0, 3},
		{"its end at once", {{.objects = 2, .end = NLMSG_DONE}}, 0, 2},
		{"an empty list", {{.end = NLMSG_DONE}}, 0, 0},
		{"it changed",
		 {{.objects = 2}, {.objects = 1, .flags = NLM_F_DUMP_INTR}},
		 -EINTR,
		 2},
		{"it changed at the end",
		 {{.objects = 2}, {.end = NLMSG_DONE, .flags = NLM_F_DUMP_INTR}},
		 -EINTR,
		 2},
		{"a signal", {{.error = EINTR}, {.objects = 1, .end = NLMSG_DONE}}, 0, 1},
		{"no buffers", {{.objects = 1}, {.error = ENOBUFS}}, -ENOBUFS, 1},
		{"of another request", {{.objects = 1, .seq = 9}}, -EPROTO, 0},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		union netlink_request request;
		int objects = 0, ret;

		play(rows[i].parts);
		netlink_start(&request, RTM_GETQDISC, NLM_F_DUMP, sizeof(struct tcmsg));
		ret = netlink_ask(NETLINK_ROUTE, &request, count, &objects);
		if (ret != rows[i].ret || objects != rows[i].objects || requests != 1)
			fail_msg("%s: %d, %d objects", rows[i].name, ret, objects);
	}
}

/* ---- a list that is asked for again */

TEST(interrupted_list)
{
	static const struct part twice[] = {{.objects = 2},
					    {.objects = 1, .flags = NLM_F_DUMP_INTR},
					    {.objects = 2},
					    {.end = NLMSG_DONE}};
	static struct part always[PARTS_MAX];
	struct qdiscs found;

	play(twice);
	assert_int_equal(qdiscs_read(1, &found), 0);
	assert_int_equal(found.children, 2);
	assert_int_equal(found.fq_children, 2);
	assert_int_equal(requests, 2);

	for (int i = 0; i < PARTS_MAX; i++)
		always[i] = (struct part){.objects = 1, .flags = NLM_F_DUMP_INTR};
	play(always);
	assert_int_equal(qdiscs_read(1, &found), -EINTR);
	assert_int_equal(requests, NETLINK_TRIES);
}

/* ---- attributes */

TEST(attributes)
{
	union netlink_request request;
	const struct nlattr *outer;
	struct nlattr *nest;

	netlink_start(&request, RTM_NEWQDISC, 0, sizeof(struct tcmsg));
	mnl_attr_put_u32(&request.head, TCA_STATS, 1);
	nest = mnl_attr_nest_start(&request.head, TCA_OPTIONS);
	mnl_attr_put_u32(&request.head, 11, 5);
	mnl_attr_nest_end(&request.head, nest);
	mnl_attr_put_u16(&request.head, 12, 6);

	outer = netlink_attribute(&request.head, sizeof(struct tcmsg), TCA_OPTIONS, 0);
	assert_ptr_equal(outer, nest);
	assert_int_equal(mnl_attr_get_u32(netlink_attribute_in(outer, 11, 4)), 5);
	assert_null(netlink_attribute_in(outer, 11, 5));
	assert_null(netlink_attribute_in(outer, 12, 0));
	assert_null(netlink_attribute(&request.head, sizeof(struct tcmsg), 11, 0));
	assert_null(netlink_attribute(&request.head, sizeof(struct tcmsg), 12, 4));
	assert_int_equal(
		mnl_attr_get_u16(netlink_attribute(&request.head, sizeof(struct tcmsg), 12, 2)), 6);
}
