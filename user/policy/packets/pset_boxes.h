/* SPDX-License-Identifier: GPL-2.0-only */
/* The packets of one lookup address that a rule matches, as boxes. Pure. */
#pragma once

#include "policy/packets/asked.h"
#include "policy/packets/box.h"
#include "policy/policy.h"

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

/* The addresses of a prefix, as numbers. */
void box_narrow_prefix(struct box *box, const uint8_t addr[16], uint8_t len);

/* Appends the boxes; *exact: together they are the rule's packets, else more than those. 0 or
 * -ENOMEM. */
int boxes_of_rule(const struct asked *asked, const struct opaques *opaques, const struct rule *rule,
		  struct boxes *out, bool *exact);
