/* SPDX-License-Identifier: GPL-2.0-only */
/* `over challenge`: a SYN over the limit is answered with the listening socket's own SYN cookie, so
 * that the stack takes the ACK of whoever received it, and nothing is kept of the others. The
 * kernel makes the cookie, and says when it wants none: then the SYN passes. rlctl-policy(5).
 */
#pragma once

#include <asm-generic/errno-base.h>

#include "answer/answer.h"
#include "proof/proof.h"

#define TCP_BYTES_MAX   60
#define SYN_ACK_WINDOW  64240 /* as Linux offers; there is no scale, as in any cookie's answer */
#define SIMULATED_MSS   1460
#define FAMILY_INET     2
#define FAMILY_INET6    10
#define TCP_OPTION_MSS  2
#define TCP_FLAGS_FINAL 0x05 /* FIN, RST */

/* A SYN over the limit becomes one of these. */
enum challenge { CHALLENGE_DROPPED, CHALLENGE_PASSES, CHALLENGE_EXISTS, CHALLENGE_ANSWERED };

/* The answer from its TCP header on: never more than four bytes longer than the SYN. */
struct syn_ack {
	__be16 source, dest;
	__be32 seq, ack;
	__u8 offset, flags;
	__be16 window, check, urgent;
	__u8 mss_kind, mss_len;
	__be16 mss;
};
_Static_assert(sizeof(struct syn_ack) == 24, "words, which are summed");

/* A TCP header with its options. */
struct tcp_copy {
	__u8 bytes[TCP_BYTES_MAX];
};

/* How long the header is that is copied; 0: it cannot be. The bounds are asked for as in watch.h.
 */
static __always_inline __u64 tcp_load(struct xdp_md *ctx, const struct packet *p,
				      struct tcp_copy *tcp)
{
	__u64 bytes;

	if (bpf_xdp_load_bytes(ctx, p->transport, tcp, sizeof(struct tcphdr)))
		return 0;
	bytes = tcp->bytes[12] / 16 * 4u;
	if (bytes <= sizeof(struct tcphdr))
		return bytes == sizeof(struct tcphdr) ? bytes : 0;
	barrier_var(bytes);
	if (bytes > sizeof(*tcp))
		return 0;
	return bpf_xdp_load_bytes(ctx, p->transport, tcp, bytes) ? 0 : bytes;
}

/* The least of an IP header that the kernel asks for. */
static __always_inline void network_of(struct ipv6hdr *ip, const struct packet *p)
{
	struct iphdr *ip4 = (void *)ip;

	if (p->flags & PACKET_IPV4) {
		ip4->version = 4;
		ip4->ihl = 5;
		ip4->saddr = mapped_ipv4(p->src);
		ip4->daddr = mapped_ipv4(p->dst);
		return;
	}
	ip->version = 6;
	__builtin_memcpy(&ip->saddr, p->src, 16);
	__builtin_memcpy(&ip->daddr, p->dst, 16);
}

/* A listening socket may be bound to any address: on a machine that forwards, only its routes say
 * whether the packet is its own. */
static __always_inline bool is_for_this_machine(struct xdp_md *ctx, const struct packet *p)
{
	struct bpf_fib_lookup fib = {.ifindex = ctx->ingress_ifindex, .l4_protocol = IPPROTO_TCP};
	long found;

	if (p->flags & PACKET_IPV4) {
		fib.family = FAMILY_INET;
		fib.ipv4_src = mapped_ipv4(p->src);
		fib.ipv4_dst = mapped_ipv4(p->dst);
	} else {
		fib.family = FAMILY_INET6;
		__builtin_memcpy(fib.ipv6_src, p->src, 16);
		__builtin_memcpy(fib.ipv6_dst, p->dst, 16);
	}
	found = bpf_fib_lookup(ctx, &fib, sizeof(fib), 0);
	return found == BPF_FIB_LKUP_RET_NOT_FWDED || found == BPF_FIB_LKUP_RET_FWD_DISABLED;
}

__noinline int challenge_is_ours(struct xdp_md *ctx, const struct packet *p)
{
	return p && is_for_this_machine(ctx, p);
}

/* With a listening socket: enum challenge, and the cookie in p->receipt. */
static __always_inline int listener_challenge(struct bpf_sock *sk, struct packet *p,
					      struct tcp_copy *tcp, __u64 tcp_bytes)
{
	struct ipv6hdr ip = {};
	__s64 cookie;

	network_of(&ip, p);
	cookie = bpf_tcp_gen_syncookie(sk, &ip, sizeof(ip), (void *)tcp, tcp_bytes);
	if (cookie == -ENOENT)
		return CHALLENGE_PASSES;
	if (cookie < 0)
		return CHALLENGE_DROPPED;
	p->receipt.cookie = cookie;
	return CHALLENGE_ANSWERED;
}

/* A SYN for a connection that exists, or is in TIME_WAIT, is for the stack to judge: a client that
 * uses its port again, when it has forgotten the connection and this machine has not, learns so
 * from the stack alone. One SYN does for that, so that few pass: a host with one connection could
 * send any number of them. For a handshake under way the stack sends its SYN-ACK again by itself.
 */
static __always_inline int socket_challenge(struct xdp_md *ctx, struct packet *p,
					    struct tcp_copy *tcp, __u64 tcp_bytes)
{
	struct bpf_sock_tuple tuple;
	__u32 size = proof_tuple(&tuple, p);
	int challenged = CHALLENGE_DROPPED;
	struct bpf_sock *sk;

	sk = bpf_skc_lookup_tcp(ctx, &tuple, size, BPF_F_CURRENT_NETNS, 0);
	if (!sk)
		return CHALLENGE_DROPPED;
	if (sk->state == BPF_TCP_LISTEN)
		challenged = listener_challenge(sk, p, tcp, tcp_bytes);
	else if (sk->state != BPF_TCP_NEW_SYN_RECV)
		challenged = CHALLENGE_EXISTS;
	bpf_sk_release(sk);
	return challenged;
}

__noinline int challenge_ask(struct xdp_md *ctx, struct packet *p)
{
	struct tcp_copy tcp = {};
	__u64 bytes;

	if (!p)
		return CHALLENGE_DROPPED;
	bytes = tcp_load(ctx, p, &tcp);
	if (!bytes || tcp.bytes[13] & TCP_FLAGS_FINAL)
		return CHALLENGE_DROPPED;
	if (!config.clock_injected)
		return socket_challenge(ctx, p, &tcp, bytes);
	/* Sockets of this machine say nothing about a capture: there, somebody listens. */
	p->receipt.cookie = (__u64)SIMULATED_MSS << 32;
	return CHALLENGE_ANSWERED;
}

/* May one more SYN of a connection that exists pass? */
__noinline int existing_take(struct packet *p)
{
	const struct rl_gcra rate = gcra_constant(&config.existing_rate);
	struct rl_answers *all = only(&answers);
	__u64 taken;

	return p && all &&
	       gcra_consume(&rate, &all->existing, gcra_now(clock_precise(p)), 1, &taken);
}

/* Also what passes is held to the rate of answers. */
__noinline int challenge(struct xdp_md *ctx, struct packet *p)
{
	int challenged;

	if (!p || !answer_may(ctx, p) || !answer_take(p))
		return CHALLENGE_DROPPED;
	challenged = challenge_ask(ctx, p);
	if (challenged == CHALLENGE_ANSWERED && !config.clock_injected &&
	    !challenge_is_ours(ctx, p))
		challenged = CHALLENGE_DROPPED;
	if (challenged == CHALLENGE_EXISTS)
		challenged = existing_take(p) ? CHALLENGE_PASSES : CHALLENGE_DROPPED;
	if (challenged == CHALLENGE_DROPPED)
		answer_return();
	return challenged;
}

static __always_inline __u16 syn_ack_mss(const struct packet *p)
{
	__u16 asked = p->receipt.cookie >> 32;
	__u16 most = p->flags & PACKET_IPV4 ? config.challenge_mss4 : config.challenge_mss6;

	return asked < most ? asked : most;
}

/* The frame becomes the SYN-ACK. 0: it could not. */
__noinline int challenge_answer(struct xdp_md *ctx, struct packet *p)
{
	const __be32 *words;
	struct syn_ack *tcp;
	__u64 sum;

	if (!p || !answer_turn(ctx, p, sizeof(*tcp)))
		return 0;
	tcp = (void *)(long)ctx->data + (p->transport & ANSWER_AT);
	if ((void *)(tcp + 1) > (void *)(long)ctx->data_end)
		return 0;
	tcp->ack = bpf_htonl(bpf_ntohl(tcp->seq) + 1);
	tcp->seq = bpf_htonl(p->receipt.cookie);
	tcp->offset = sizeof(*tcp) / 4 << 4;
	tcp->flags = 0x12; /* SYN, ACK */
	tcp->window = bpf_htons(SYN_ACK_WINDOW);
	tcp->check = 0;
	tcp->urgent = 0;
	tcp->mss_kind = TCP_OPTION_MSS;
	tcp->mss_len = 4;
	tcp->mss = bpf_htons(syn_ack_mss(p));
	sum = sum_pseudo_header(p, sizeof(*tcp));
	words = (const __be32 *)tcp;
	for (__u32 i = 0; i < sizeof(*tcp) / 4; i++)
		sum += words[i];
	tcp->check = ~sum_fold(sum);
	return 1;
}
