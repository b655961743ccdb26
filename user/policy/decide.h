/* SPDX-License-Identifier: GPL-2.0-only */
/* The rules that decide on packets, in the order in which the data path finds them. Pure; for `rule
 * get` and the lockout guard.
 */
#ifndef RLCTL_DECIDE_H
#define RLCTL_DECIDE_H

#include "policy.h"

/* TCP packets between two addresses (mapped), without fragments. */
struct flow {
	uint8_t src[16], dst[16];
	bool dst_known;
	uint16_t sport, dport; /* 0: unknown */
};

/* The packets to decide on: those of one lookup address. */
struct asked {
	uint8_t addr[16]; /* mapped */
	bool by_dest;
	const struct flow *flow; /* only these packets; NULL: all packets of the address */
};

/* Appends to *out the rules that decide on at least one of the packets, in the order in which a
 * packet meets them. 0 or -ENOMEM. */
int rules_decide(const struct policy *policy, const struct asked *asked, struct policy *out);

#endif
