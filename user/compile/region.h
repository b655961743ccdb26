/* SPDX-License-Identifier: GPL-2.0-only */
/* The packets that a limit matches, and the payloads and alarms that it asks for beside. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "policy/pset.h"

/* That regions can be made of: one more limit than a packet may meet. */
#define REGION_RULES (RL_GROUP_MAX + 1)

/* `payloads` are those that state a payload, or an alarm, which no packet meets on and off. */
struct region {
	struct pset set;
	uint32_t alarms_on, alarms_off; /* bits: those that are on, or off, for its packets */
	const struct rl_extra *payloads[REGION_RULES];
	uint32_t payload_count;
};

void region_all(struct region *out);
void region_of(const struct rule *rule, struct region *out);

/* Only while this alarm is on, or while it is not. */
void region_narrow_while(struct region *region, uint32_t alarm, bool is_off);

/* The packets of both; false: there are none, and *out is undefined. */
bool region_common(const struct region *a, const struct region *b, struct region *out);

/* Could one payload have the bytes that both state, while the alarms are as both state? */
bool region_payloads_agree(const struct region *a, const struct region *b);
