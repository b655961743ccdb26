/* SPDX-License-Identifier: GPL-2.0-only */
/* Whether a packet is established, how the capture says so, and the sockets that say so. Pure. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "watch/local_packet.h"

/* X(NAME, "key"): the keys are those of simulate -j. */
#define LOCAL_CERTAINTIES(X)                                            \
	X(KNOWN, "known")     /* by all packets of its conversation */  \
	X(GUESSED, "guessed") /* the capture lacks what would say it */ \
	X(UNSEEN, "unseen")   /* the machine has sent nothing in this conversation */
#define LOCAL_CERTAINTY_ENUM(name, ...) LOCAL_##name,
enum local_certainty { LOCAL_CERTAINTIES(LOCAL_CERTAINTY_ENUM) LOCAL_CERTAINTY_COUNT };

struct local_proof {
	bool established;
	enum local_certainty certainty;
};

/* ---- local_tcp.c: the TCP socket of a connection, as far as both directions show it
 *
 * Only packets that the machine sends make a connection or half of one. Those that arrive move it
 * on where the sequence numbers are those that a stack takes, so that a forged segment changes
 * nothing. */

/* The kernel's states of the same names; OPEN is all others that a full socket may have, which the
 * fields below tell apart. */
enum local_tcp_state {
	LOCAL_TCP_NONE, /* the machine has sent nothing yet */
	LOCAL_TCP_SYN_SENT,
	LOCAL_TCP_NEW_SYN_RECV,
	LOCAL_TCP_OPEN,
	LOCAL_TCP_CLOSED, /* or TIME_WAIT, or FIN_WAIT2 */
};

struct local_tcp {
	uint64_t syn_ns; /* of the latest SYN that was sent */
	uint32_t snd_una, snd_nxt, rcv_nxt;
	uint32_t peer_fin; /* the sequence number after the peer's FIN */
	uint8_t state;     /* enum local_tcp_state */
	bool guessed;      /* its beginning is not in the capture, or its end cannot be seen */
	bool held;         /* the policy has dropped the packet that would have opened it */
	bool peer_fin_seen;
	bool fin_received; /* CLOSE_WAIT, LAST_ACK, CLOSING */
	bool fin_sent;     /* FIN_WAIT1, LAST_ACK, CLOSING */
};

void local_tcp_sent(struct local_tcp *tcp, const struct local_packet *p);
void local_tcp_arrived(struct local_tcp *tcp, const struct local_packet *p, bool passed);
struct local_proof local_tcp_proof(const struct local_tcp *tcp, uint64_t now_ns);

/* ---- local_udp.c: a conversation without a connection (UDP, ICMP echo), by who sent first
 *
 * That is bpf/proof/asked.h, without what that may forget. */

struct local_udp {
	uint64_t ours_ns, theirs_ns; /* the latest packet in which that side counts as the first */
	uint64_t dropped_ns;         /* the latest packet of the peer that was dropped */
	bool ours, theirs, dropped;  /* whether there was one */
	bool unbound;                /* theirs came to a port that may have had no socket */
	bool sent;                   /* the machine has sent */
	bool guessed;
};

/* The machine sends from `port` to `peer_port`. */
void local_udp_sent(struct local_udp *udp, uint64_t now_ns, uint16_t port, uint16_t peer_port);
/* is_bound: the machine has just sent from that port. */
void local_udp_arrived(struct local_udp *udp, uint64_t now_ns, bool is_bound, bool passed);
struct local_proof local_udp_proof(const struct local_udp *udp, uint64_t now_ns);
