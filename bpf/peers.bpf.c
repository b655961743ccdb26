// SPDX-License-Identifier: GPL-2.0-only
/* Feeds the filter of peers (algorithm/peers.h) with the sockets of one network namespace that
 * packets may belong to. Attached to the root of cgroup v2, where every socket of the machine is.
 * It decides nothing. A socket is noted before a look-up can report it as established, and until it
 * is closed; sockets that were there before are noted by user space (user/kernel/proof/peers.c).
 *
 * TCP: when it connects, or its handshake is complete; a socket that connects is in the kernel's
 * table a moment before, but then nobody has seen its SYN. Where another program takes
 * BPF_SOCK_OPS_STATE_CB_FLAG away, the socket stays noted.
 *
 * UDP: when it connects. The hook runs before that, and without the socket's lock: it may fail, and
 * the socket keep the peer it had. So a socket keeps what it is connected to, and the last three
 * that it tried beside; what is too much goes when it is closed. Races: of four threads that
 * connect one socket at once, to four peers, one may take the peer of another away. An address that
 * a program at the root replaces which runs after this one is noted as it was before: such a peer
 * counts for a minute after each packet that is sent to it, by the companion.
 */
#include <linux/bpf.h>
#include <linux/in.h>
#include <stdbool.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "algorithm/peers.h"
#include "map.h"

#define AF_INET6 10

const volatile __u64 netns_cookie = 0;

/* The map `peers`. */
SIZED_MAP(filter, ARRAY, BPF_F_MMAPABLE, 1, __u32, sizeof(struct rl_peers));

/* The word in which a socket notes something: 0, or a place. */
#define PLACE_NOTED    (1u << 31)
#define PLACE_WHERE    29 /* enum peers_where, in two bits */
#define PLACE_TAG_BITS 12
#define PLACES         4
_Static_assert(RL_PEER_MORE <= 1u << (PLACE_WHERE - PLACE_TAG_BITS), "a set fits");
_Static_assert(PEERS_TAG_MASK >> PLACE_TAG_BITS == 0, "a tag fits");

struct noted {
	__u32 places[PLACES]; /* TCP has the first alone */
	__u32 next;           /* the one to give up for another peer */
};

MAP(sockets, SK_STORAGE, BPF_F_NO_PREALLOC, 0, int, struct noted);

union address {
	__u32 words[4]; /* in network order, mapped */
	__u64 halves[2];
};

static __always_inline struct rl_peers *table(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&filter, &zero);
}

static __always_inline struct peers_key key_of(__u32 place)
{
	return (struct peers_key){.set = place >> PLACE_TAG_BITS, .tag = place & PEERS_TAG_MASK};
}

static __always_inline void address_ipv4(union address *a, __be32 ipv4)
{
	a->words[0] = 0;
	a->words[1] = 0;
	a->words[2] = bpf_htonl(0xffff);
	a->words[3] = ipv4;
}

/* Where it would be noted. */
static __noinline __u32 place_of(const union address *a)
{
	struct rl_peers *peers = table();
	struct peers_key key;

	if (!peers || !a)
		return 0;
	key = peers_key_of(peers->seed, address_is_mapped(a->halves), a->halves);
	return PLACE_NOTED | key.set << PLACE_TAG_BITS | key.tag;
}

/* The place, with enum peers_where. */
static __noinline __u32 place_add(__u32 place)
{
	struct rl_peers *peers = table();

	if (!peers || !place)
		return 0;
	return place | peers_note(peers, key_of(place), peers_time(bpf_ktime_get_ns()), PEERS_ADD)
			       << PLACE_WHERE;
}

static __noinline int place_remove(__u32 place)
{
	struct rl_peers *peers = table();

	if (peers && place)
		peers_remove(peers, key_of(place), place >> PLACE_WHERE & 3);
	return 0;
}

static __always_inline bool is_place(__u32 noted, __u32 place)
{
	return (noted & ~(3u << PLACE_WHERE)) == place;
}

/* ---- TCP */

/* The socket is locked, or not visible yet. It has another place where its end was not seen. */
static __always_inline bool tcp_note(struct bpf_sock *sk, __u32 place)
{
	struct noted *noted;
	__u32 before;

	noted = bpf_sk_storage_get(&sockets, sk, NULL, BPF_SK_STORAGE_GET_F_CREATE);
	if (noted && is_place(noted->places[0], place))
		return true;
	place = place_add(place);
	if (!noted)
		return false; /* no memory: it stays */
	before = noted->places[0];
	noted->places[0] = place;
	place_remove(before);
	return true;
}

static __always_inline void tcp_add(struct bpf_sock_ops *ctx)
{
	struct bpf_sock *sk = ctx->sk;
	union address a;

	if (!sk || bpf_get_netns_cookie(ctx) != netns_cookie)
		return;
	if (ctx->family == AF_INET6) {
		a.words[0] = ctx->remote_ip6[0];
		a.words[1] = ctx->remote_ip6[1];
		a.words[2] = ctx->remote_ip6[2];
		a.words[3] = ctx->remote_ip6[3];
	} else {
		address_ipv4(&a, ctx->remote_ip4);
	}
	if (tcp_note(sk, place_of(&a)))
		bpf_sock_ops_cb_flags_set(ctx,
					  ctx->bpf_sock_ops_cb_flags | BPF_SOCK_OPS_STATE_CB_FLAG);
}

static __always_inline void tcp_remove(struct bpf_sock_ops *ctx)
{
	struct bpf_sock *sk = ctx->sk;
	struct noted *noted;

	if (!sk)
		return;
	noted = bpf_sk_storage_get(&sockets, sk, NULL, 0);
	if (!noted)
		return;
	place_remove(noted->places[0]);
	bpf_sk_storage_delete(&sockets, sk);
}

SEC("sockops")
int rlctl_tcp(struct bpf_sock_ops *ctx)
{
	switch (ctx->op) {
	case BPF_SOCK_OPS_TCP_CONNECT_CB:
	case BPF_SOCK_OPS_ACTIVE_ESTABLISHED_CB:
	case BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB:
		tcp_add(ctx);
		break;
	case BPF_SOCK_OPS_STATE_CB:
		if (ctx->args[1] == BPF_TCP_CLOSE)
			tcp_remove(ctx);
	}
	return 1;
}

/* ---- UDP */

/* The place of what the socket is connected to; 0: nothing. */
static __always_inline __u32 place_connected(struct bpf_sock *sk)
{
	union address a;

	if (sk->state != BPF_TCP_ESTABLISHED)
		return 0;
	if (sk->family == AF_INET6) {
		a.words[0] = sk->dst_ip6[0];
		a.words[1] = sk->dst_ip6[1];
		a.words[2] = sk->dst_ip6[2];
		a.words[3] = sk->dst_ip6[3];
	} else {
		address_ipv4(&a, sk->dst_ip4);
	}
	return place_of(&a);
}

static __always_inline bool is_noted(struct noted *noted, __u32 place)
{
	for (__u32 i = 0; i < PLACES; i++) {
		if (!is_place(noted->places[i], place))
			continue;
		noted->next = i + 1; /* it is given up last */
		return true;
	}
	return false;
}

/* An address of zeros is this machine: its own of the socket, else that of loopback. */
static __always_inline void any_replace(union address *a, struct bpf_sock *sk)
{
	if (a->halves[0] || a->words[3])
		return;
	if (a->words[2]) /* mapped */
		a->words[3] = sk->src_ip4 ? sk->src_ip4 : bpf_htonl(0x7f000001);
	else if (sk->src_ip6[2] == bpf_htonl(0xffff) && !sk->src_ip6[0] && !sk->src_ip6[1])
		address_ipv4(a, bpf_htonl(0x7f000001));
	else
		a->words[3] = bpf_htonl(1);
}

static __always_inline void udp_add(struct bpf_sock *sk, union address *a)
{
	struct noted *noted;
	__u32 place, connected, i;

	any_replace(a, sk);
	place = place_of(a);
	noted = bpf_sk_storage_get(&sockets, sk, NULL, BPF_SK_STORAGE_GET_F_CREATE);
	if (noted && is_noted(noted, place))
		return;
	place = place_add(place);
	if (!noted)
		return; /* no memory: it stays */
	/* A place to give up: not the one that is connected. */
	connected = place_connected(sk);
	i = noted->next;
	if (is_place(noted->places[i % PLACES], connected))
		i++;
	noted->next = i + 1;
	place_remove(__sync_lock_test_and_set(&noted->places[i % PLACES], place));
}

SEC("cgroup/connect4")
int rlctl_udp4(struct bpf_sock_addr *ctx)
{
	struct bpf_sock *sk = ctx->sk;
	union address a;

	if (ctx->protocol != IPPROTO_UDP || !sk || bpf_get_netns_cookie(ctx) != netns_cookie)
		return 1;
	address_ipv4(&a, ctx->user_ip4);
	udp_add(sk, &a);
	return 1;
}

SEC("cgroup/connect6")
int rlctl_udp6(struct bpf_sock_addr *ctx)
{
	struct bpf_sock *sk = ctx->sk;
	union address a;

	if (ctx->protocol != IPPROTO_UDP || !sk || bpf_get_netns_cookie(ctx) != netns_cookie)
		return 1;
	a.words[0] = ctx->user_ip6[0];
	a.words[1] = ctx->user_ip6[1];
	a.words[2] = ctx->user_ip6[2];
	a.words[3] = ctx->user_ip6[3];
	udp_add(sk, &a);
	return 1;
}

/* It runs for all sockets; those of TCP may go on after it. */
SEC("cgroup/sock_release")
int rlctl_udp_close(struct bpf_sock *ctx)
{
	struct noted *noted;

	if (ctx->protocol != IPPROTO_UDP)
		return 1;
	noted = bpf_sk_storage_get(&sockets, ctx, NULL, 0);
	for (__u32 i = 0; noted && i < PLACES; i++)
		place_remove(__sync_lock_test_and_set(&noted->places[i], 0));
	return 1;
}

char LICENSE[] SEC("license") = "GPL";
