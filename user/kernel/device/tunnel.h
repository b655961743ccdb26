/* SPDX-License-Identifier: GPL-2.0-only */
/* The tunnels of this machine through which a connection comes, and the packets that carry it. */
#pragma once

#include <net/if.h>

#include "policy/packets/decide.h"

#define TUNNELS_MAX 32 /* of which packets are looked for */

struct tunnel {
	int ifindex;
	char device[IF_NAMESIZE];
	bool known; /* `outer` is: else the other end cannot be found out (tun, ppp, multipoint) */
	struct flow outer; /* from the other end: protocol, addresses, and ports if it has any */
};

/* The tunnels that may carry the flow to this machine, at most TUNNELS_MAX. Peers of WireGuard are
 * read with CAP_NET_ADMIN, which is raised for it if it is at hand. Silent. */
size_t tunnels_find(const struct flow *flow, struct tunnel out[TUNNELS_MAX]);
