/* SPDX-License-Identifier: GPL-2.0-only */
/* Limits on open connections: which they are, and how many connections each of their keys has.
 * Programs that see the sockets of the network namespace write the counts (bpf/connections.bpf.c),
 * packets read them (bpf/limit/backend_connections.h). Part of rlctl_abi.h.
 */
#pragma once

#include <linux/bpf.h>
#include <linux/types.h>

#include "abi/policy.h"

#define RL_CONNECTION_LIMITS 8       /* of a policy */
#define RL_CONNECTION_PLACES 16      /* for those of two policies, while one follows the other */
#define RL_CONNECTIONS_MAX   1000000 /* N of a limit */

/* Which connections a limit counts: those of these addresses and ports. */
struct rl_connection_limit {
	__u32 limit_id; /* 0: the place is free */
	__u8 counts;    /* 1: connections are added; 0: only taken away */
	__u8 by_dest;   /* `prefix` is of the own address, else of the peer's */
	__u8 src_len;   /* 0..128, mapped; with src_family */
	__u8 dst_len;
	__u8 prefix_len;
	__u8 prefix_family; /* 4, 6; 0: any address */
	__u8 src_family;
	__u8 dst_family;
	__u8 sport_count; /* 0: any port */
	__u8 dport_count;
	__u8 pad[2];
	__u64 open; /* connections, of all keys */
	__u8 prefix[16], src[16], dst[16];
	struct rl_limit limit; /* its key alone */
	struct rl_port_range sport[RL_PORT_RANGES_MAX];
	struct rl_port_range dport[RL_PORT_RANGES_MAX];
};
_Static_assert(sizeof(struct rl_connection_limit) == 264, "rl_connection_limit");
_Static_assert(RL_CONNECTION_PLACES * 264 % 64 == 0, "what follows them begins a cache line");

/* How many connections a key has: bpf/algorithm/connections.h. A set is one cache line; a key has
 * two of them. */
#define RL_CONNECTION_WAYS 8
struct rl_connection_set {
	__u64 way[RL_CONNECTION_WAYS];
};
_Static_assert(sizeof(struct rl_connection_set) == 64, "a cache line");

/* The one element of the map `connections`; its sets are a power of two. */
struct rl_connections {
	__u64 seed[2]; /* of the hash of keys */
	__u64 epoch;   /* programs of another one change nothing any more */
	__u64 unseen;  /* connections that are not counted, because there was no room; sum */
	__u64 pad[4];
	struct rl_connection_limit limit[RL_CONNECTION_PLACES];
	struct rl_connection_set set[];
};
_Static_assert(sizeof(struct rl_connections) % 64 == 0, "no set in two cache lines");
#define RL_CONNECTIONS_SIZE(sets) \
	(sizeof(struct rl_connections) + (sets) * sizeof(struct rl_connection_set))

/* States of a socket whose connection is open: a bit each. SYN_RECV is not among them, in which a
 * handshake is not complete. */
#define RL_CONNECTION_STATES                                                             \
	(1u << BPF_TCP_ESTABLISHED | 1u << BPF_TCP_FIN_WAIT1 | 1u << BPF_TCP_FIN_WAIT2 | \
	 1u << BPF_TCP_CLOSE_WAIT | 1u << BPF_TCP_LAST_ACK | 1u << BPF_TCP_CLOSING)

/* Open sockets as user space lists them for a recount: the data of a test run, whose first bytes
 * the kernel takes for a header of Ethernet. */
#define RL_OPEN_SOCKETS 64
struct rl_open_socket {
	__u8 src[16], dst[16]; /* mapped; as in packets that it receives */
	__u16 sport, dport;
	__u32 recount;    /* which one, not 0; 0: there is no socket here */
	__u32 peer_began; /* 1: it seems so: a socket listens on its port */
};
struct rl_open_sockets {
	__u8 ethernet[16];
	struct rl_open_socket socket[RL_OPEN_SOCKETS];
};
_Static_assert(sizeof(struct rl_open_sockets) <= 3072, "a test run takes less than a page");
