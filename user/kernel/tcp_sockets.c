// SPDX-License-Identifier: GPL-2.0-only
/* The TCP sockets of this network namespace, by sock_diag. */

#include "tcp_sockets.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/sock_diag.h>
#include <string.h>
#include <sys/socket.h>

#include "netlink.h"

struct reader {
	tcp_socket_fn each;
	void *arg;
};

/* IPv4 as an IPv4-mapped address. */
static void address_read(uint8_t family, const __be32 from[4], uint8_t out[16])
{
	memset(out, 0, 16);
	if (family == AF_INET6) {
		memcpy(out, from, 16);
		return;
	}
	out[10] = out[11] = 0xff;
	memcpy(out + 12, from, 4);
}

static int socket_read(const struct nlmsghdr *message, void *arg)
{
	const struct inet_diag_msg *msg = mnl_nlmsg_get_payload(message);
	const struct reader *reader = arg;
	struct flow flow = {.dst_known = true,
			    .sport = ntohs(msg->id.idiag_dport),
			    .dport = ntohs(msg->id.idiag_sport)};

	address_read(msg->idiag_family, msg->id.idiag_dst, flow.src);
	address_read(msg->idiag_family, msg->id.idiag_src, flow.dst);
	reader->each(&flow, msg->idiag_inode, reader->arg);
	return MNL_CB_OK;
}

static int family_read(uint8_t family, int state, uint16_t port, struct reader *reader)
{
	union netlink_request request;
	struct inet_diag_req_v2 *ask =
		netlink_start(&request, SOCK_DIAG_BY_FAMILY, NLM_F_DUMP, sizeof(*ask));

	ask->sdiag_family = family;
	ask->sdiag_protocol = IPPROTO_TCP;
	ask->idiag_states = 1u << state;
	ask->id.idiag_sport = htons(port);
	return netlink_ask(NETLINK_SOCK_DIAG, &request, socket_read, reader);
}

int tcp_sockets_read(int state, uint16_t port, tcp_socket_fn each, void *arg)
{
	struct reader reader = {each, arg};
	int ret = family_read(AF_INET, state, port, &reader);
	int ret6 = family_read(AF_INET6, state, port, &reader);

	return ret ? ret : ret6;
}
