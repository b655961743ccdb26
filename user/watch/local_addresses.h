/* SPDX-License-Identifier: GPL-2.0-only */
/* Which way a captured packet went, seen from the machine that has these addresses. Pure. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "watch/local_packet.h"

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
