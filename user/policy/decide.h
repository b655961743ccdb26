/* SPDX-License-Identifier: GPL-2.0-only */
/* Which rules of a policy decide for packets, as the data path would find them. Pure: for `rule
 * get` and for the lockout guard.
 */
#ifndef RLCTL_DECIDE_H
#define RLCTL_DECIDE_H

#include "policy.h"

/* TCP packets between two addresses (mapped), none of them a fragment. */
struct flow {
	uint8_t src[16], dst[16];
	bool dst_known;
	uint16_t sport, dport; /* 0: not known */
};

/* Whose rules are asked for: an address's, by which the instance goes. */
struct asked {
	uint8_t addr[16]; /* mapped */
	bool by_dest;
	const struct flow *flow; /* only these packets; NULL: all of the address */
};

/* The rules that decide, in the order in which the packet meets them, appended to *out. What
 * decides for none of the packets is left out. 0 or -ENOMEM. */
int rules_decide(const struct policy *policy, const struct asked *asked, struct policy *out);

#endif
