/* SPDX-License-Identifier: GPL-2.0-only */
/* Sets of addresses. Pure. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Addresses as numbers. */
typedef unsigned __int128 u128;
struct stretch {
	u128 first, last; /* inclusive */
};

/* Ascending, apart from each other; where there are too many, the last covers the rest. Families
 * are distinguished beside it: a stretch of IPv6 may be around the mapped addresses. */
#define STRETCHES_MAX 12
struct addresses {
	uint8_t addr[16], len; /* a prefix around all of them */
	uint32_t count;
	struct stretch at[STRETCHES_MAX];
};

struct addresses addresses_of(const uint8_t addr[16], uint8_t len);

/* An IPv6 prefix takes none of the mapped addresses. */
void addresses_leave_out(struct addresses *set, const uint8_t addr[16], uint8_t len);

/* All others. */
void addresses_invert(struct addresses *set);

/* The addresses of both; false: there are none. *out may be one of them. */
bool addresses_meet(const struct addresses *a, const struct addresses *b, struct addresses *out);

/* only_ipv6: `inner` without the mapped addresses. */
bool addresses_within(const struct addresses *inner, const struct addresses *outer, bool only_ipv6);
