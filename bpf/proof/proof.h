/* SPDX-License-Identifier: GPL-2.0-only */
/* Is a packet established: does it belong to a connection of this machine, or answer what this
 * machine asked? The kernel's sockets say so, and for UDP and echo a table of what was asked, which
 * no dropped packet writes; rlctl-policy(5). Only full sockets count: a listening one, a handshake
 * that is not complete and TIME_WAIT prove nothing. Sequence numbers are not looked at. A UDP
 * socket that is only bound, and echo replies, prove no more than whom this machine asked
 * (asked.h).
 *
 * Rules are classified before anything is looked up: where one asks, the answer is wanted, the
 * entry looks it up once, and the packet is classified anew. A packet that no lookup could
 * prove is not looked up.
 */
#pragma once

#include "proof/asked.h"
#include "clock.h"
#include "packet/packet.h"
#include "packet/skb_parse.h"

#if ASKS_CONNTRACK
#include "proof/conntrack.h"
#endif

volatile __u32 simulated_proof = RL_SIMULATED_NONE; /* with clock_injected */
volatile __u32 simulated_asked = 0;                 /* becomes 1 where the policy asks */

/* States of a socket that has a connection, or asks for one. In SYN_RECV (fast open, or both sides
 * connect at once) the handshake is not complete. */
#define STATE(name) (1u << BPF_TCP_##name)
#define STATES_PROVEN                                                                 \
	(STATE(ESTABLISHED) | STATE(SYN_SENT) | STATE(FIN_WAIT1) | STATE(FIN_WAIT2) | \
	 STATE(CLOSE_WAIT) | STATE(LAST_ACK) | STATE(CLOSING))

/* A SYN begins a connection: it belongs to none. */
static __always_inline bool proof_is_possible(const struct packet *p)
{
	if (p->flags & (PACKET_LATER | PACKET_SYN))
		return false;
	return p->proto == IPPROTO_TCP || p->proto == IPPROTO_UDP ||
	       (config.keeps_asked && is_icmp(p));
}

/* Does a rule's `established` hold, or its `not established`? Neither does before it is known. */
static __always_inline bool established_holds(struct packet *p, const struct rl_match *m)
{
	if (p->proof == PROOF_UNASKED)
		p->proof = proof_is_possible(p) ? PROOF_WANTED : PROOF_NONE;
	if (p->proof == PROOF_WANTED)
		return false;
	return (p->proof == PROOF_ESTABLISHED) == !(m->negated & RL_MATCH_ESTABLISHED);
}

static __always_inline __be32 mapped_ipv4(const __u8 addr[16])
{
	return ((const __be32 *)addr)[3];
}

/* As a packet that arrives would have them: the remote end is the source. Its size. */
static __always_inline __u32 proof_tuple(struct bpf_sock_tuple *tuple, const struct packet *p)
{
	const __u8 *remote = config.frames_leave ? p->dst : p->src;
	const __u8 *local = config.frames_leave ? p->src : p->dst;
	__be16 remote_port = bpf_htons(config.frames_leave ? p->dport : p->sport);
	__be16 local_port = bpf_htons(config.frames_leave ? p->sport : p->dport);

	if (p->flags & PACKET_IPV4) {
		tuple->ipv4.saddr = mapped_ipv4(remote);
		tuple->ipv4.daddr = mapped_ipv4(local);
		tuple->ipv4.sport = remote_port;
		tuple->ipv4.dport = local_port;
		return sizeof(tuple->ipv4);
	}
	__builtin_memcpy(tuple->ipv6.saddr, remote, 16);
	__builtin_memcpy(tuple->ipv6.daddr, local, 16);
	tuple->ipv6.sport = remote_port;
	tuple->ipv6.dport = local_port;
	return sizeof(tuple->ipv6);
}

/* The state of a socket that was looked up, which is given back; 0: there is none. */
static __always_inline __u32 socket_state(struct bpf_sock *sk)
{
	__u32 state;

	if (!sk)
		return 0;
	state = sk->state;
	bpf_sk_release(sk);
	return state;
}

static __always_inline enum proof tcp_proof(void *ctx, struct bpf_sock_tuple *tuple, __u32 size)
{
	__u32 state = socket_state(bpf_skc_lookup_tcp(ctx, tuple, size, BPF_F_CURRENT_NETNS, 0));

	if (STATES_PROVEN >> (state & 31) & 1)
		return PROOF_ESTABLISHED;
	return config.counts_connections && state == BPF_TCP_TIME_WAIT ? PROOF_CLOSED : PROOF_NONE;
}

/* A socket is bound, and to no peer. */
static __always_inline enum proof bound_proof(const struct packet *p)
{
	if (!config.keeps_asked)
		return PROOF_NONE;
	return asked_us_first(p, p->sport, p->dport) ? PROOF_ESTABLISHED : PROOF_BOUND;
}

static __always_inline enum proof udp_proof(void *ctx, const struct packet *p,
					    struct bpf_sock_tuple *tuple, __u32 size)
{
	__u32 state = socket_state(bpf_sk_lookup_udp(ctx, tuple, size, BPF_F_CURRENT_NETNS, 0));

	if (!state)
		return PROOF_NONE;
	return state == BPF_TCP_ESTABLISHED ? PROOF_ESTABLISHED : bound_proof(p);
}

/* Is it the reply to an echo that this machine requested? */
static __always_inline enum proof echo_proof(void *ctx, bool skb, const struct packet *p)
{
	struct icmp_header icmp;

	if (skb ? skb_load(ctx, p->transport, &icmp, sizeof(icmp))
		: bpf_xdp_load_bytes(ctx, p->transport, &icmp, sizeof(icmp)))
		return PROOF_NONE;
	return is_echo(p, &icmp, ECHO_REPLY, ECHO_REPLY_ICMP6) &&
			       asked_us_first(p, 0, echo_identifier(&icmp))
		       ? PROOF_ESTABLISHED
		       : PROOF_NONE;
}

static __always_inline enum proof simulated_look_up(const struct packet *p)
{
	simulated_asked = 1;
	if (simulated_proof == RL_SIMULATED_BOUND)
		return p->proto == IPPROTO_UDP ? bound_proof(p) : PROOF_NONE;
	return simulated_proof == RL_SIMULATED_ESTABLISHED ? PROOF_ESTABLISHED : PROOF_NONE;
}

/* ctx is that of XDP or of tc: the same calls, of two types. */
static __always_inline int proof_look_up(void *ctx, bool skb, const struct packet *p)
{
	struct bpf_sock_tuple tuple;
	__u32 size;

	if (!p || !proof_is_possible(p))
		return PROOF_NONE;
	if (is_icmp(p) && (!config.clock_injected || simulated_proof == RL_SIMULATED_BOUND))
		return echo_proof(ctx, skb, p);
	if (config.clock_injected)
		return simulated_look_up(p);
	size = proof_tuple(&tuple, p);
#if ASKS_CONNTRACK
	return conntrack_proof(ctx, skb, p->proto, &tuple, size, config.frames_leave);
#endif
	return p->proto == IPPROTO_TCP ? tcp_proof(ctx, &tuple, size)
				       : udp_proof(ctx, p, &tuple, size);
}

__noinline int xdp_proof(struct xdp_md *ctx, const struct packet *p)
{
	return proof_look_up(ctx, false, p);
}

__noinline int skb_proof(struct __sk_buff *skb, const struct packet *p)
{
	return proof_look_up(skb, true, p);
}
