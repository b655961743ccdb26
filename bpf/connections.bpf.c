// SPDX-License-Identifier: GPL-2.0-only
/* Counts the open connections of one network namespace for limits on them
 * (algorithm/connections.h). It decides nothing.
 *
 * A connection is open from when its handshake is complete until its socket is closed; a socket
 * in TIME_WAIT is closed. It counts if the peer began it. Each socket says under which limits it is
 * counted, and nothing but its own end or a change of the limits takes it away again: what is
 * counted is taken away once, and what could not be counted is never taken away. All of this is
 * done with the socket locked: the kernel changes the state of a socket under its lock, and the
 * walk through those that are there holds it as well.
 *
 * The programs at the tracepoint are the same one twice. Since Linux 6.1 a program is not run for
 * an event that interrupts it on its own CPU, and one CPU may be at two changes of state at once,
 * of a process and of a packet. Then the other one is run; whichever comes second finds nothing to
 * do.
 */
#include <linux/bpf.h>
#include <linux/in.h>
#include <stdbool.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "algorithm/connections.h"
#include "map.h"

#define AF_INET  2
#define AF_INET6 10

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct in6_addr___kernel {
	union {
		__u32 u6_addr32[4];
	} in6_u;
};

struct net {
	__u64 net_cookie;
};

struct sock_common {
	__be32 skc_daddr;
	__be32 skc_rcv_saddr;
	__be16 skc_dport;
	__u16 skc_num;
	unsigned short skc_family;
	volatile unsigned char skc_state;
	struct {
		struct net *net;
	} skc_net;
	struct in6_addr___kernel skc_v6_daddr;
	struct in6_addr___kernel skc_v6_rcv_saddr;
};

struct sock {
	struct sock_common __sk_common;
	__u16 sk_protocol;
};

struct seq_file;

struct bpf_iter_meta {
	struct seq_file *seq;
};

struct bpf_iter__tcp {
	struct bpf_iter_meta *meta;
	struct sock_common *sk_common;
};

#pragma clang attribute pop

const volatile __u64 netns_cookie = 0;
const volatile __u64 epoch = 0;
const volatile __u32 set_mask = 1; /* rl_connections.set: how many, less 1 */

/* The map `connections`. */
SIZED_MAP(counts, ARRAY, BPF_F_MMAPABLE, 1, __u32, AT_ATTACH(RL_CONNECTIONS_SIZE(2)));

#define NO_ROOM (~0u) /* is no limit's id */

/* A socket whose peer began notes its addresses and ports, of which the kernel forgets some before
 * it is closed, and the limits under which it is counted, in the place that each has in
 * rl_connections.limit; 0: none. */
struct counted {
	struct connection of;
	bool is_read;
	__u32 limit_id[RL_CONNECTION_PLACES]; /* NO_ROOM: not counted under it for want of room */
};

MAP(sockets, SK_STORAGE, BPF_F_NO_PREALLOC, 0, int, struct counted);

/* During a walk: a bit for each port on which a socket listens. */
MAP(listening, ARRAY, 0, 65536 / 64, __u32, __u64);

/* NULL: the counts are begun anew, by other programs. */
static __always_inline struct rl_connections *table(void)
{
	__u32 zero = 0;
	struct rl_connections *all = bpf_map_lookup_elem(&counts, &zero);

	return all && READ_ONCE(all->epoch) == epoch ? all : NULL;
}

/* ---- counting */

static __always_inline struct rl_connection_set *set_of(struct rl_connections *all, __u64 hash,
							bool second)
{
	__u64 at = connection_set_of(hash, set_mask, second);

	barrier_var(at); /* the verifier of Linux 6.1 follows no more than the last step */
	return &all->set[at & set_mask];
}

/* The limit of this place counts the connection from now on: its id, or NO_ROOM. */
static __always_inline __u32 limit_add(struct rl_connections *all,
				       struct rl_connection_limit *limit, __u32 id, __u64 hash)
{
	if (!connection_add(set_of(all, hash, false), set_of(all, hash, true), hash))
		return NO_ROOM;
	__sync_fetch_and_add(&limit->open, 1);
	return id;
}

/* Returns the id that a socket is to note in a place where it has noted `noted`. Apart: the
 * verifier follows it once, and not for each place. */
__noinline __u32 limit_settle(const struct connection *c, __u32 place, __u32 noted, bool open)
{
	struct rl_connections *all = table();
	struct rl_connection_limit *limit;
	bool counts, was_unseen = noted == NO_ROOM;
	__u32 id;
	__u64 hash;

	if (!all || !c)
		return noted;
	limit = &all->limit[place & (RL_CONNECTION_PLACES - 1)];
	id = READ_ONCE(limit->limit_id);
	if (noted != id)
		noted = 0; /* of a limit that is gone, and its counts with it */
	if (!id)
		return 0;
	counts = open && READ_ONCE(limit->counts) && connection_is_of(limit, c);
	if (counts == !!noted)
		return noted;
	hash = connection_hash(all->seed, id, &limit->limit, c);
	if (counts) {
		noted = limit_add(all, limit, id, hash);
		if (noted == NO_ROOM && !was_unseen)
			__sync_fetch_and_add(&all->unseen, 1);
		return noted;
	}
	connection_take(set_of(all, hash, false), set_of(all, hash, true), hash);
	__sync_fetch_and_sub(&limit->open, 1);
	return 0;
}

/* ---- sockets */

static __always_inline void address_mapped(__u64 out[2], __be32 ipv4)
{
	__u32 *words = (__u32 *)out;

	out[0] = 0;
	words[2] = bpf_htonl(0xffff);
	words[3] = ipv4;
}

static __always_inline void address_of(__u64 out[2], const struct in6_addr___kernel *ipv6)
{
	__u32 *words = (__u32 *)out;

	words[0] = ipv6->in6_u.u6_addr32[0];
	words[1] = ipv6->in6_u.u6_addr32[1];
	words[2] = ipv6->in6_u.u6_addr32[2];
	words[3] = ipv6->in6_u.u6_addr32[3];
}

static __always_inline void connection_read(const struct sock *sk, struct connection *c)
{
	const struct sock_common *common = &sk->__sk_common;

	if (common->skc_family == AF_INET) {
		address_mapped(c->src, common->skc_daddr);
		address_mapped(c->dst, common->skc_rcv_saddr);
	} else {
		address_of(c->src, &common->skc_v6_daddr);
		address_of(c->dst, &common->skc_v6_rcv_saddr);
	}
	c->sport = bpf_ntohs(common->skc_dport);
	c->dport = common->skc_num;
}

/* The socket is locked. */
static __always_inline void socket_settle(const struct sock *sk, struct counted *counted, bool open)
{
	const struct connection *c = &counted->of;

	if (!counted->is_read) {
		connection_read(sk, &counted->of);
		counted->is_read = true;
	}
	for (__u32 i = 0; i < RL_CONNECTION_PLACES; i++)
		counted->limit_id[i] = limit_settle(c, i, counted->limit_id[i], open);
}

/* Its state changes. */
static __always_inline int state_changes(struct sock *sk, int from, int to)
{
	bool begins = from == BPF_TCP_SYN_RECV && to == BPF_TCP_ESTABLISHED;
	struct counted *counted;

	if (!begins && to != BPF_TCP_CLOSE)
		return 0;
	if (sk->sk_protocol != IPPROTO_TCP ||
	    sk->__sk_common.skc_net.net->net_cookie != netns_cookie)
		return 0;
	counted = bpf_sk_storage_get(&sockets, sk, NULL, begins ? BPF_SK_STORAGE_GET_F_CREATE : 0);
	if (!counted)
		return 0; /* or no memory: it is not counted */
	socket_settle(sk, counted, begins);
	return 0;
}

SEC("tp_btf/inet_sock_set_state")
int BPF_PROG(rlctl_state, struct sock *sk, int from, int to)
{
	return state_changes(sk, from, to);
}

SEC("tp_btf/inet_sock_set_state")
int BPF_PROG(rlctl_state_again, struct sock *sk, int from, int to)
{
	return state_changes(sk, from, to);
}

/* ---- the walk through all that are there */

#define STATE(name) (1u << BPF_TCP_##name)
#define STATES_OPEN                                                                     \
	(STATE(ESTABLISHED) | STATE(FIN_WAIT1) | STATE(FIN_WAIT2) | STATE(CLOSE_WAIT) | \
	 STATE(LAST_ACK) | STATE(CLOSING))

/* Listening sockets come before all others. */
SEC("iter/tcp")
int rlctl_walk(struct bpf_iter__tcp *ctx)
{
	struct sock_common *common = ctx->sk_common;
	struct counted *counted;
	struct sock *sk;
	__u32 state, index;
	__u64 *word;
	__u16 port;

	sk = common ? (struct sock *)bpf_skc_to_tcp_sock(common) : NULL;
	if (!sk)
		return 0;
	state = sk->__sk_common.skc_state;
	port = sk->__sk_common.skc_num;
	index = port / 64;
	word = bpf_map_lookup_elem(&listening, &index);
	if (!word)
		return 0;
	if (state == BPF_TCP_LISTEN)
		__sync_fetch_and_or(word, 1ull << port % 64);
	if (!(STATES_OPEN >> (state & 31) & 1))
		return 0;
	/* Nothing says who began a connection that was there before; where a socket listens, the
	 * peer is taken to have done so. */
	counted = bpf_sk_storage_get(&sockets, sk, NULL,
				     READ_ONCE(*word) >> port % 64 & 1 ? BPF_SK_STORAGE_GET_F_CREATE
								       : 0);
	if (counted)
		socket_settle(sk, counted, true);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
