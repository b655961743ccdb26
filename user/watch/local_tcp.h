/* SPDX-License-Identifier: GPL-2.0-only */
/* The TCP socket of a connection, as far as the packets of both directions show it. Pure.
 *
 * Only packets that the machine sends make a connection or half of one. Those that arrive move it
 * on where the sequence numbers are those that a stack takes, so that a forged segment changes
 * nothing.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "watch/local_packet.h"
#include "watch/local_proof.h"

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
