/* SPDX-License-Identifier: GPL-2.0-only */
/* A conversation without a connection (UDP, ICMP echo), by who sent first: bpf/proof/asked.h,
 * without what that may forget. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "watch/local_packet.h"
#include "watch/local_proof.h"

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
