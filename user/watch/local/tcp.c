// SPDX-License-Identifier: GPL-2.0-only
/* Packets that the machine sent are taken as they are in the capture, also where the policy has
 * dropped what it answers. Two things cannot be seen, and are guessed: a connection that began
 * before the capture is open as soon as the machine sends in it; and it ends when the peer
 * acknowledges the machine's FIN, although a program that has only shut down its own direction has
 * a full socket until the peer closes too.
 */
#include "watch/local/local.h"

#include "base/units.h"

/* The longest wait for the answer to a SYN, with tcp_syn_retries=6. */
#define SYN_WAIT_NS (64 * NS_PER_SECOND)

static bool is_before(uint32_t a, uint32_t b)
{
	return (int32_t)(a - b) < 0;
}

/* Does it acknowledge something that was sent, and nothing that was not? */
static bool ack_fits(const struct local_tcp *tcp, const struct local_packet *p)
{
	return p->flags & TCP_ACK && is_before(tcp->snd_una, p->ack) &&
	       !is_before(tcp->snd_nxt, p->ack);
}

/* ---- what the machine sends */

/* Does the segment say that there is a socket, of which the capture lacks the handshake's end or
 * more? TIME_WAIT sends bare acknowledgments, and a request repeats that of its SYN. */
static bool shows_socket(const struct local_tcp *tcp, const struct local_packet *p)
{
	bool bare = !p->length && !(p->flags & TCP_FIN);

	switch (tcp->state) {
	case LOCAL_TCP_NONE:
		return true;
	case LOCAL_TCP_SYN_SENT:
		return !tcp->held;
	case LOCAL_TCP_NEW_SYN_RECV:
		return !tcp->held && (!bare || p->ack != tcp->rcv_nxt);
	case LOCAL_TCP_CLOSED: /* new data, not what is sent again */
		return p->length && is_before(tcp->snd_nxt, p->seq + p->length);
	}
	return false;
}

static void fin_check(struct local_tcp *tcp)
{
	if (tcp->peer_fin_seen && tcp->rcv_nxt == tcp->peer_fin)
		tcp->fin_received = true;
}

static void segment_sent(struct local_tcp *tcp, const struct local_packet *p)
{
	bool fin = p->flags & TCP_FIN;
	uint32_t end = p->seq + p->length + fin;

	if (is_before(tcp->snd_nxt, end))
		tcp->snd_nxt = end;
	if (tcp->state != LOCAL_TCP_OPEN)
		return;
	if (is_before(tcp->rcv_nxt, p->ack))
		tcp->rcv_nxt = p->ack;
	fin_check(tcp);
	tcp->fin_sent |= fin;
}

void local_tcp_sent(struct local_tcp *tcp, const struct local_packet *p)
{
	if (p->flags & TCP_RST) { /* a request or a SYN_SENT refuses a wrong ACK, and stays */
		if (tcp->state == LOCAL_TCP_OPEN)
			tcp->state = LOCAL_TCP_CLOSED;
		return;
	}
	if (p->flags & TCP_SYN) {
		*tcp = (struct local_tcp){
			.state = p->flags & TCP_ACK ? LOCAL_TCP_NEW_SYN_RECV : LOCAL_TCP_SYN_SENT,
			.syn_ns = p->time_ns,
			.snd_una = p->seq,
			.snd_nxt = p->seq + 1 + p->length,
			.rcv_nxt = p->ack,
		};
		return;
	}
	if (!(p->flags & TCP_ACK))
		return;
	if (shows_socket(tcp, p))
		*tcp = (struct local_tcp){
			.state = LOCAL_TCP_OPEN,
			.guessed = true,
			.snd_nxt = p->seq,
			.rcv_nxt = p->ack,
		};
	segment_sent(tcp, p);
}

/* ---- what arrives */

/* Does it begin at the window's left edge? The stack takes no other RST, but after a FIN one that
 * does not count it. */
static bool rst_fits(const struct local_tcp *tcp, const struct local_packet *p)
{
	return p->seq == tcp->rcv_nxt || (tcp->fin_received && p->seq + 1 == tcp->rcv_nxt);
}

/* In order, it moves the window's left edge; what follows a gap does so once the machine
 * acknowledges it. */
static void segment_arrived(struct local_tcp *tcp, const struct local_packet *p)
{
	uint32_t end = p->seq + p->length;
	bool in_order = !is_before(tcp->rcv_nxt, p->seq) && !is_before(end, tcp->rcv_nxt);

	if (p->flags & TCP_RST) {
		if (rst_fits(tcp, p))
			tcp->state = LOCAL_TCP_CLOSED;
		return;
	}
	if (p->flags & TCP_FIN && !is_before(end, tcp->rcv_nxt)) {
		tcp->peer_fin_seen = true;
		tcp->peer_fin = ++end;
	}
	if (in_order)
		tcp->rcv_nxt = end;
	fin_check(tcp);
	if (!tcp->fin_sent || !(p->flags & TCP_ACK) || p->ack != tcp->snd_nxt)
		return;
	tcp->state = LOCAL_TCP_CLOSED;
	tcp->guessed |= !tcp->fin_received;
}

/* In SYN_SENT an answer, with a SYN; in NEW_SYN_RECV the last packet of a handshake, without. */
static void opening_arrived(struct local_tcp *tcp, const struct local_packet *p, bool passed)
{
	bool asked = tcp->state == LOCAL_TCP_SYN_SENT, rst = p->flags & TCP_RST;

	if (rst && !asked ? !rst_fits(tcp, p) : !ack_fits(tcp, p))
		return;
	if (rst) {
		if (passed)
			tcp->state = LOCAL_TCP_CLOSED;
		return;
	}
	if (asked != (bool)(p->flags & TCP_SYN))
		return;
	tcp->held = !passed;
	if (!passed)
		return;
	tcp->state = LOCAL_TCP_OPEN;
	tcp->snd_una = p->ack;
	if (asked)
		tcp->rcv_nxt = p->seq + 1 + p->length;
}

void local_tcp_arrived(struct local_tcp *tcp, const struct local_packet *p, bool passed)
{
	if (tcp->state == LOCAL_TCP_SYN_SENT || tcp->state == LOCAL_TCP_NEW_SYN_RECV)
		opening_arrived(tcp, p, passed);
	if (tcp->state == LOCAL_TCP_OPEN && passed && !(p->flags & TCP_SYN))
		segment_arrived(tcp, p);
}

/* ---- what may arrive */

struct local_proof local_tcp_proof(const struct local_tcp *tcp, uint64_t now_ns)
{
	struct local_proof proof = {.certainty = tcp->guessed ? LOCAL_GUESSED : LOCAL_KNOWN};

	switch (tcp->state) {
	case LOCAL_TCP_NONE:
		proof.certainty = LOCAL_UNSEEN;
		break;
	case LOCAL_TCP_SYN_SENT:
		proof.established = now_ns < tcp->syn_ns + SYN_WAIT_NS;
		break;
	case LOCAL_TCP_OPEN:
		proof.established = true;
		break;
	}
	return proof;
}
