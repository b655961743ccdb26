/* SPDX-License-Identifier: GPL-2.0-only */
/* The TCP and UDP sockets of this network namespace, by sock_diag. */
#pragma once

#include <stdint.h>

#include "policy/packets/decide.h"

struct tcp_socket {
	struct flow flow; /* of received packets: its destination is the socket's own address */
	uint32_t inode;   /* 0: no process has it open */
	uint32_t ifindex; /* of the device that it is bound to; 0: any */
};

/* NULL: only whether they can be listed matters. */
typedef void (*tcp_socket_fn)(const struct tcp_socket *socket, void *arg);

/* Calls `each` for every socket in this state (TCP_LISTEN, TCP_ESTABLISHED) and, unless `port` is
 * 0, on this local port. 0 or a negative errno. Silent. */
int tcp_sockets_read(int state, uint16_t port, tcp_socket_fn each, void *arg);

/* Calls `each` for every open connection, and for some that have just ended. A list may miss one
 * that others leave meanwhile. 0 or a negative errno. Silent. */
int open_sockets_read(tcp_socket_fn each, void *arg);

/* Calls `each` for every socket that is connected, or on the way to it: whose packets are, or will
 * be, `established`. A list may miss one that others leave meanwhile. 0 or a negative errno.
 * Silent.
 */
int peer_sockets_read(tcp_socket_fn each, void *arg);

/* Sockets of a remote address, whose packets are `established`. */
struct peer_sockets {
	uint64_t tcp; /* connections */
	uint64_t udp; /* connected sockets */
};

/* Those of the mapped address. 0 or a negative errno. Silent. */
int peer_sockets_count(const uint8_t addr[16], struct peer_sockets *out);
