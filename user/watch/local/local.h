/* SPDX-License-Identifier: GPL-2.0-only */
/* The sockets of a machine, as the packets of a capture show them: those that it sent, and those
 * that arrived and passed. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/captured.h"

/* ---- packet.c: a captured packet, as far as sockets look at it */

/* Flags of a TCP segment, as in its header. */
enum tcp_flag { TCP_FIN = 1, TCP_SYN = 2, TCP_RST = 4, TCP_ACK = 16 };

/* How a packet belongs to a conversation. */
enum local_kind {
	LOCAL_NONE, /* not at all: another protocol, a later fragment, not IP, malformed */
	LOCAL_TCP,
	LOCAL_UDP,
	LOCAL_ECHO_REQUEST,
	LOCAL_ECHO_REPLY,
};

struct local_packet {
	uint64_t time_ns;
	bool has_addresses;       /* false: not IP, or its header was not captured */
	uint8_t src[16], dst[16]; /* mapped */
	enum local_kind kind;
	bool malformed;
	bool has_ports;       /* of TCP, UDP or SCTP */
	bool fragment, later; /* any fragment; one without the transport header */
	uint8_t proto;
	uint16_t sport, dport; /* of an echo, both are its identifier */
	uint8_t flags;         /* enum tcp_flag */
	uint32_t seq, ack;     /* of TCP */
	uint32_t length;       /* of the TCP payload */
};

void local_packet_parse(const struct captured *captured, struct local_packet *out);

/* Which way a captured packet went, seen from the machine that has these addresses. */

#define LOCAL_ADDRESSES_MAX 64

struct local_addresses {
	size_t count;
	struct local_address {
		const char *word; /* as given */
		uint8_t addr[16]; /* mapped */
		uint8_t len;
		uint64_t sent, arrived; /* packets */
	} list[LOCAL_ADDRESSES_MAX];
};

enum local_way {
	LOCAL_ARRIVES, /* to the machine, to everybody, or not IP */
	LOCAL_SENT,
	LOCAL_ELSEWHERE, /* between other addresses */
};

/* Also counts the packet for the addresses in it. A packet between two of them arrives: whoever
 * forges the machine's address has sent nothing in its name. */
enum local_way local_way_of(struct local_addresses *local, const struct captured *captured,
			    const struct local_packet *packet);

/* ---- whether a packet is established, and how the capture says so */

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

/* ---- tcp.c: the TCP socket of a connection, as far as both directions show it
 *
 * Only packets that the machine sends make a connection or half of one. Those that arrive move it
 * on where the sequence numbers are those that a stack takes, so that a forged segment changes
 * nothing. */

/* The kernel's states of the same names; OPEN is all others that a full socket may have, which the
 * fields below distinguish. */
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

/* ---- udp.c: a conversation without a connection (UDP, ICMP echo), by who sent first
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

/* ---- stack.c: all of them
 *
 * Memory is bounded: conversations that the machine has begun or accepted, and those that a peer
 * has begun alone (a handshake that is not complete, UDP that nobody asked for), have
 * LOCAL_CONVERSATIONS_MAX each, so that a flood pushes out none of the first. Beyond that, the one
 * without packets for longest is forgotten.
 */

#define LOCAL_CONVERSATIONS_MAX (1u << 18) /* about 200 bytes each */

struct local_stack;

/* max: of each kind. NULL: out of memory. */
struct local_stack *local_stack_new(size_t max);
void local_stack_free(struct local_stack *stack);

/* The machine sent it. 0 or -ENOMEM. */
int local_stack_sent(struct local_stack *stack, const struct local_packet *packet);

/* Is the packet established, if it arrives now? */
struct local_proof local_stack_proof(const struct local_stack *stack,
				     const struct local_packet *packet);

/* It has arrived; a packet that was dropped reaches no socket. 0 or -ENOMEM. */
int local_stack_arrived(struct local_stack *stack, const struct local_packet *packet, bool passed);

/* Forgets all conversations, but not how many it has forgotten. */
void local_stack_clear(struct local_stack *stack);

/* Conversations of the machine that were forgotten for want of room. */
uint64_t local_stack_forgotten(const struct local_stack *stack);
