/* SPDX-License-Identifier: GPL-2.0-only */
/* Sets of addresses. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rlctl_abi.h"

/* A prefix, less others, which are of rules. Families are distinguished beside it: `addr` may be of
 * IPv6 and around the mapped addresses. */
#define PREFIXES_LESS (RL_GROUP_MAX + 1)
struct addresses {
	uint8_t addr[16], len;
	uint8_t less_count;
	uint8_t less_len[PREFIXES_LESS];
	const uint8_t *less[PREFIXES_LESS];
};

/* Where there are too many, the set keeps the addresses. */
void addresses_leave_out(struct addresses *set, const uint8_t *addr, uint8_t len);

/* The addresses of both; false: there are none. */
bool addresses_meet(const struct addresses *a, const struct addresses *b, struct addresses *out);

/* Both are those of one rule. only_ipv6: `inner` without the mapped addresses. */
bool addresses_within(const struct addresses *inner, const struct addresses *outer, bool only_ipv6);

/* Addresses as numbers: ascending, apart from each other. Those of one rule, which leaves out
 * one prefix at most, are three at most, and without the mapped addresses four. */
typedef unsigned __int128 u128;
struct stretch {
	u128 first, last; /* inclusive */
};
#define STRETCHES_MAX 8
struct stretch stretch_of(const uint8_t addr[16], uint8_t len);
size_t stretches_of(const struct addresses *set, struct stretch out[STRETCHES_MAX]);
