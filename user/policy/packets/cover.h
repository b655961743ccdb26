/* SPDX-License-Identifier: GPL-2.0-only */
/* The packets that rules are asked about, those of a rule, and whether some sets of packets cover
 * another. Pure. */
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

struct packets {
	struct pset set;
	uint64_t care, bits; /* those of `care` are as in `bits` */
	size_t before;       /* how many sets of others come before it, where that counts */
};

struct packet_sets {
	struct packets *at;
	size_t count, capacity;
};

/* 0 or -ENOMEM. */
int packets_add(struct packet_sets *sets, const struct packets *packets);
void packet_sets_clear(struct packet_sets *sets);

/* The bits of `care` as in `bits`, of which no other says anything yet. */
void packets_narrow_bits(struct packets *packets, uint64_t care, uint64_t bits);

/* The packets that are in both; false: there are none, and *out is undefined. */
bool packets_meet(const struct packets *a, const struct packets *b, struct packets *out);

/* The first sets of `a`, then the first of `b`. */
struct cover {
	const struct packet_sets *a, *b;
	size_t a_count, b_count;
	unsigned int *steps; /* left; at 0 the answer is true */
};

/* Is there one of the packets that is in no set of the cover? True if there is no memory. */
bool packets_are_open(const struct packets *packets, const struct cover *cover);

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
struct packets packets_all(const struct asked *asked);

/* Only the peers of a prefix: the address that is not looked up. */
void packets_narrow_peer(struct packets *packets, const struct asked *asked, const uint8_t addr[16],
			 uint8_t len);

/* Those of the rule, as far as they are asked about; false: there are none. *exact: they are the
 * rule's packets, else more than those. */
bool packets_of_rule(const struct asked *asked, const struct opaques *opaques,
		     const struct rule *rule, struct packets *out, bool *exact);
