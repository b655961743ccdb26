// SPDX-License-Identifier: GPL-2.0-only
/* Counts the open connections of one network namespace for limits on them
 * (algorithm/connections.h). It decides nothing.
 *
 * A connection is open from when its handshake is complete until its socket is closed; a socket
 * in TIME_WAIT is closed. It counts if the peer began it. Each socket says under which limits it is
 * counted, and nothing but its own end or a change of the limits takes it away again: what is
 * counted is taken away once, and what could not be counted is never taken away.
 *
 * The kernel changes the state of a socket under its lock. A recount of the sockets that are there
 * has no lock: the socket is busy while it is settled, and whoever finds it busy leaves what is new
 * in its flags, where it is seen at the end. Nor may a recount iterate over sockets (iter/tcp): the
 * kernel's iterator takes references to handshakes that have none yet (sock_hold in
 * bpf_iter_tcp_established_batch; 6.18), and memory is freed that is in use. So user space lists
 * them by sock_diag, and each is looked up.
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

#pragma clang attribute pop

const volatile __u64 netns_cookie = 0;
const volatile __u64 epoch = 0;
const volatile __u32 set_mask = 1; /* rl_connections.set: how many, less 1 */

/* The map `connections`. */
SIZED_MAP(counts, ARRAY, BPF_F_MMAPABLE, 1, __u32, AT_ATTACH(RL_CONNECTIONS_SIZE(2)));

#define NO_ROOM       (~0u) /* is no limit's id */

#define SOCKET_BUSY   1u
#define SOCKET_CLOSED 2u

/* A socket whose peer began notes its addresses and ports, of which the kernel forgets some before
 * it is closed, and the limits under which it is counted, in the place that each has in
 * rl_connections.limit; 0: none. */
struct counted {
	struct connection of;
	__u32 flags;
	__u32 recount; /* the one that found it first; 0: it was seen to begin */
	bool is_read;
	__u32 limit_id[RL_CONNECTION_PLACES]; /* NO_ROOM: not counted under it for want of room */
};

MAP(sockets, SK_STORAGE, BPF_F_NO_PREALLOC, 0, int, struct counted);

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

static __always_inline void limits_settle(struct counted *counted, bool open)
{
	for (__u32 i = 0; i < RL_CONNECTION_PLACES; i++)
		counted->limit_id[i] = limit_settle(&counted->of, i, counted->limit_id[i], open);
}

/* A second time if it was closed meanwhile, unless another one has begun to. */
static __always_inline void socket_settle(struct counted *counted)
{
	for (int i = 0; i < 2; i++) {
		__u32 flags = __sync_fetch_and_or(&counted->flags, SOCKET_BUSY);

		if (flags & SOCKET_BUSY)
			return;
		limits_settle(counted, !(flags & SOCKET_CLOSED));
		if (flags == (__sync_fetch_and_and(&counted->flags, ~SOCKET_BUSY) & ~SOCKET_BUSY))
			return;
	}
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
	if (begins && !counted->is_read) {
		connection_read(sk, &counted->of);
		counted->is_read = true;
	}
	if (!begins)
		__sync_fetch_and_or(&counted->flags, SOCKET_CLOSED);
	socket_settle(counted);
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

/* ---- a recount of those that are there */

/* NULL, or a reference. */
static __always_inline struct bpf_sock *socket_find(struct __sk_buff *skb,
						    const struct connection *c)
{
	struct bpf_sock_tuple tuple = {};

	if (address_is_mapped(c->src)) {
		tuple.ipv4.saddr = ((const __u32 *)c->src)[3];
		tuple.ipv4.daddr = ((const __u32 *)c->dst)[3];
		tuple.ipv4.sport = bpf_htons(c->sport);
		tuple.ipv4.dport = bpf_htons(c->dport);
		return bpf_sk_lookup_tcp(skb, &tuple, sizeof(tuple.ipv4), BPF_F_CURRENT_NETNS, 0);
	}
	__builtin_memcpy(tuple.ipv6.saddr, c->src, sizeof(c->src));
	__builtin_memcpy(tuple.ipv6.daddr, c->dst, sizeof(c->dst));
	tuple.ipv6.sport = bpf_htons(c->sport);
	tuple.ipv6.dport = bpf_htons(c->dport);
	return bpf_sk_lookup_tcp(skb, &tuple, sizeof(tuple.ipv6), BPF_F_CURRENT_NETNS, 0);
}

/* One that is seen for the first time is not counted yet: it may be closing just now, and then its
 * end has found nothing that could be taken away. The next recount, before which user space waits
 * for all programs that run, looks it up again: the kernel makes a socket that closes unfindable
 * before it changes its state, so what is found then is open, and its end will be seen. 1: first
 * seen. */
static __always_inline int socket_recount(struct bpf_sock *sk, const struct connection *c,
					  const struct rl_open_socket *listed)
{
	struct counted *counted;

	if (!(RL_CONNECTION_STATES >> (sk->state & 31) & 1))
		return 0;
	counted = bpf_sk_storage_get(&sockets, sk, NULL, 0);
	if (!counted && listed->peer_began) {
		counted = bpf_sk_storage_get(&sockets, sk, NULL, BPF_SK_STORAGE_GET_F_CREATE);
		if (counted)
			counted->recount = listed->recount;
	}
	if (!counted)
		return 0;
	if (counted->recount == listed->recount)
		return 1;
	if (!counted->is_read) {
		counted->of = *c;
		counted->is_read = true;
	}
	socket_settle(counted);
	return 0;
}

/* Apart: the verifier follows it once. */
__noinline int listed_recount(struct __sk_buff *skb, __u32 i)
{
	struct rl_open_socket listed;
	struct connection c = {};
	struct bpf_sock *sk;
	int first;

	if (!skb ||
	    bpf_skb_load_bytes(skb, offsetof(struct rl_open_sockets, socket) + i * sizeof(listed),
			       &listed, sizeof(listed)))
		return 0;
	__builtin_memcpy(c.src, listed.src, sizeof(c.src));
	__builtin_memcpy(c.dst, listed.dst, sizeof(c.dst));
	c.sport = listed.sport;
	c.dport = listed.dport;
	sk = listed.recount ? socket_find(skb, &c) : NULL;
	if (!sk)
		return 0;
	first = socket_recount(sk, &c, &listed);
	bpf_sk_release(sk);
	return first;
}

/* Run by user space over struct rl_open_sockets, in the network namespace of these. Returns how
 * many are not counted yet. */
SEC("tc")
int rlctl_recount(struct __sk_buff *skb)
{
	int first = 0;

	for (__u32 i = 0; i < RL_OPEN_SOCKETS; i++)
		first += listed_recount(skb, i);
	return first;
}

char LICENSE[] SEC("license") = "GPL";
