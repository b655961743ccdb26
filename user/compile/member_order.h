/* SPDX-License-Identifier: GPL-2.0-only */
/* Members in the order of the pages that they are in, whatever number of pages there is. Pure. */
#pragma once

#include <stddef.h>

#include "compile/member_table.h"

struct member_place {
	uint64_t key;   /* the hash, its bits in reverse order */
	uint32_t index; /* of the member, as it was given */
};

/* IPv4 members first, then IPv6 ones; each by key, the same member by index. */
struct member_order {
	struct member_place *places; /* to be freed */
	size_t count[2];             /* IPv4, IPv6 */
};

/* Members stand `stride` bytes apart. 0 or -ENOMEM. */
int member_order_make(const struct member_table *table, const void *members, size_t stride,
		      size_t count, struct member_order *out);
void member_order_clear(struct member_order *order);

/* The first place of a family. */
static inline struct member_place *order_places(const struct member_order *order, bool ipv6)
{
	return order->places + (ipv6 ? order->count[0] : 0);
}

uint64_t place_hash(const struct member_place *place);
