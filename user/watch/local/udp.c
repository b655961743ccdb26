// SPDX-License-Identifier: GPL-2.0-only
/* Sockets that are connected to a peer cannot be seen: all are taken as bound alone.
 *
 * Nor can it be seen whether a packet of the machine answers one of the peer. It is taken as no
 * answer, if the machine's port is the higher one, and the peer's packet came to a port from which
 * the machine had not sent lately, so that there was perhaps no socket. If the policy has dropped
 * the peer's packet, but the capture has what the machine sent after it, that is an answer, which
 * would not have been sent, if the machine's port is the lower one.
 */
#include "watch/local/local.h"

#include "base/units.h"

#define COUNTS_NS NS_PER_MINUTE

static bool counts(bool noted, uint64_t noted_ns, uint64_t now_ns)
{
	return noted && now_ns <= noted_ns + COUNTS_NS;
}

void local_udp_sent(struct local_udp *udp, uint64_t now_ns, uint16_t port, uint16_t peer_port)
{
	bool theirs = counts(udp->theirs, udp->theirs_ns, now_ns);

	udp->sent = true;
	if (theirs && udp->unbound) {
		udp->guessed = true;
		udp->unbound = false;
		theirs = udp->theirs = peer_port >= port;
	}
	if (theirs) {
		udp->theirs_ns = now_ns;
		return;
	}
	if (counts(udp->dropped, udp->dropped_ns, now_ns)) {
		udp->guessed = true;
		if (port < peer_port)
			return;
	}
	udp->dropped = false;
	udp->ours = true;
	udp->ours_ns = now_ns;
}

void local_udp_arrived(struct local_udp *udp, uint64_t now_ns, bool is_bound, bool passed)
{
	if (counts(udp->ours, udp->ours_ns, now_ns))
		return;
	if (!passed) {
		udp->dropped = true;
		udp->dropped_ns = now_ns;
		return;
	}
	udp->unbound = !is_bound && (udp->unbound || !counts(udp->theirs, udp->theirs_ns, now_ns));
	udp->theirs = true;
	udp->theirs_ns = now_ns;
}

struct local_proof local_udp_proof(const struct local_udp *udp, uint64_t now_ns)
{
	bool ours = counts(udp->ours, udp->ours_ns, now_ns);
	bool silent = udp->ours && !ours; /* a connected socket would still prove it */

	return (struct local_proof){
		.established = ours,
		.certainty = !udp->sent               ? LOCAL_UNSEEN
			     : udp->guessed || silent ? LOCAL_GUESSED
						      : LOCAL_KNOWN,
	};
}
