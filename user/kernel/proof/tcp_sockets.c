// SPDX-License-Identifier: GPL-2.0-only
/* The TCP and UDP sockets of this network namespace, by sock_diag. */

#include "kernel/proof/tcp_sockets.h"

#include <arpa/inet.h>
#include <linux/inet_diag.h>
#include <linux/sock_diag.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>

#include "kernel/device/netlink.h"
#include "rlctl_abi.h"

struct reader {
	tcp_socket_fn each;
	void *arg;
	bool whole; /* not what is left of a socket, nor what is to become one */
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

	if (reader->whole &&
	    !netlink_attribute(message, sizeof(*msg), INET_DIAG_SHUTDOWN, sizeof(uint8_t)))
		return MNL_CB_OK;

	struct tcp_socket socket = {.flow = {.dst_known = true,
					     .sport = ntohs(msg->id.idiag_dport),
					     .dport = ntohs(msg->id.idiag_sport)},
				    .inode = msg->idiag_inode,
				    .ifindex = msg->id.idiag_if};

	address_read(msg->idiag_family, msg->id.idiag_dst, socket.flow.src);
	address_read(msg->idiag_family, msg->id.idiag_src, socket.flow.dst);
	if (reader->each)
		reader->each(&socket, reader->arg);
	return MNL_CB_OK;
}

static int sockets_read(uint8_t protocol, uint32_t states, uint16_t port, struct reader *reader)
{
	static const uint8_t families[] = {AF_INET, AF_INET6};
	int ret = 0;

	for (size_t i = 0; i < sizeof(families); i++) {
		union netlink_request request;
		struct inet_diag_req_v2 *ask =
			netlink_start(&request, SOCK_DIAG_BY_FAMILY, NLM_F_DUMP, sizeof(*ask));
		int one;

		ask->sdiag_family = families[i];
		ask->sdiag_protocol = protocol;
		ask->idiag_states = states;
		ask->id.idiag_sport = htons(port);
		one = netlink_ask(NETLINK_SOCK_DIAG, &request, socket_read, reader);
		ret = ret ? ret : one;
	}
	return ret;
}

int tcp_sockets_read(int state, uint16_t port, tcp_socket_fn each, void *arg)
{
	struct reader reader = {.each = each, .arg = arg};

	return sockets_read(IPPROTO_TCP, 1u << state, port, &reader);
}

int open_sockets_read(tcp_socket_fn each, void *arg)
{
	struct reader reader = {.each = each, .arg = arg};

	return sockets_read(IPPROTO_TCP, RL_CONNECTION_STATES, 0, &reader);
}

/* ---- of peers */

/* TIME_WAIT and handshakes are listed as two of these states, but have no attributes. */
#define STATES_PEERS                                                                             \
	(1u << TCP_ESTABLISHED | 1u << TCP_SYN_SENT | 1u << TCP_SYN_RECV | 1u << TCP_FIN_WAIT1 | \
	 1u << TCP_FIN_WAIT2 | 1u << TCP_CLOSE_WAIT | 1u << TCP_LAST_ACK | 1u << TCP_CLOSING)

int peer_sockets_read(tcp_socket_fn each, void *arg)
{
	struct reader reader = {.each = each, .arg = arg, .whole = true};
	int ret = sockets_read(IPPROTO_TCP, STATES_PEERS, 0, &reader);

	return ret ? ret : sockets_read(IPPROTO_UDP, 1u << TCP_ESTABLISHED, 0, &reader);
}

/* ---- of one address */

/* As STATES_PROVEN in bpf/proof/proof.h, without the two that TIME_WAIT and handshakes are listed
 * as. */
#define STATES_OPEN                                                                                \
	(1u << TCP_ESTABLISHED | 1u << TCP_SYN_SENT | 1u << TCP_FIN_WAIT1 | 1u << TCP_CLOSE_WAIT | \
	 1u << TCP_LAST_ACK | 1u << TCP_CLOSING)

struct peer {
	const uint8_t *addr;
	uint64_t count;
};

static void peer_count(const struct tcp_socket *socket, void *arg)
{
	struct peer *peer = arg;

	peer->count += !memcmp(socket->flow.src, peer->addr, sizeof(socket->flow.src));
}

int peer_sockets_count(const uint8_t addr[16], struct peer_sockets *out)
{
	struct peer tcp = {addr, 0}, udp = {addr, 0};
	int ret = sockets_read(IPPROTO_TCP, STATES_OPEN, 0,
			       &(struct reader){.each = peer_count, .arg = &tcp});

	if (!ret)
		ret = sockets_read(IPPROTO_UDP, 1u << TCP_ESTABLISHED, 0,
				   &(struct reader){.each = peer_count, .arg = &udp});
	*out = (struct peer_sockets){tcp.count, udp.count};
	return ret;
}
