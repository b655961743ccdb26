/* SPDX-License-Identifier: GPL-2.0-only */
/* Sets of packets as boxes: one range of each dimension, where struct pset has a list. The boxes of
 * a rule, and whether some boxes cover another: a search among hundreds, for which sets are too
 * large. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/packets/asked.h"
#include "policy/packets/pset.h"

/* Two bits of a packet for each condition that is neither a number nor a flag (payload, filter): it
 * holds, or its `not` does. A packet of which the condition cannot be known has neither. */
#define BIT_OPAQUE(n) (1ull << 2 * (n))
#define OPAQUE_MAX    28

struct box {
	u128 peer_first, peer_last;       /* the address that is not looked up */
	uint32_t first[DIMS], last[DIMS]; /* inclusive; enum dim */
	struct bytes tcp_flags;
	uint64_t care, bits; /* those of `care` are as in `bits` */
	size_t before;       /* how many boxes of others come before it, where that counts */
};

struct boxes {
	struct box *box;
	size_t count, capacity;
};

/* 0 or -ENOMEM. */
int boxes_add(struct boxes *boxes, const struct box *box);
void boxes_clear(struct boxes *boxes);

void box_narrow(struct box *box, enum dim dim, uint32_t first, uint32_t last);
/* The bits of `care` as in `bits`, of which no other says anything yet. */
void box_narrow_bits(struct box *box, uint64_t care, uint64_t bits);

/* The packets that are in both; false: there are none. */
bool box_meet(const struct box *a, const struct box *b, struct box *out);

/* The first boxes of `a`, then the first of `b`. */
struct cover {
	const struct boxes *a, *b;
	size_t a_count, b_count;
	unsigned int *steps; /* left; at 0 the answer is true */
};

/* Is there a packet in the box that is in no box of the cover? */
bool box_is_open(const struct box *box, const struct cover *cover);

/* ---- of rules */

/* Conditions of a policy of which a packet shows no more than whether they hold: payload, filter,
 * and sets and alarms of which nothing is known. */
#define OPAQUE_WHILE 0 /* the alarm after `while`; else RL_MATCH_* */
struct opaques {
	const struct rl_extra *of[OPAQUE_MAX];
	unsigned int flag[OPAQUE_MAX];
	size_t count;
};

void opaques_find(const struct policy *policy, struct opaques *out);

/* Everything that is asked about. */
struct box packets_all(const struct asked *asked);

/* Only the peers of a prefix. */
void box_narrow_prefix(struct box *box, const uint8_t addr[16], uint8_t len);

/* Appends the boxes; *exact: together they are the rule's packets, else more than those. 0 or
 * -ENOMEM. */
int boxes_of_rule(const struct asked *asked, const struct opaques *opaques, const struct rule *rule,
		  struct boxes *out, bool *exact);
