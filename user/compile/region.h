/* SPDX-License-Identifier: GPL-2.0-only */
/* The packets that a rule matches, as a set in each of a few dimensions. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "policy/policy.h"

/* That regions can be made of: one more limit than a packet may meet. */
#define REGION_RULES (RL_GROUP_MAX + 1)

/* Kinds of packets that `fragment` tells apart. */
enum shape {
	SHAPE_WHOLE = 1 << 0,
	SHAPE_FIRST = 1 << 1,
	SHAPE_LATER = 1 << 2,
	SHAPES = (1 << 3) - 1,
};

enum { IS_NEW = 1 << 0, IS_KNOWN = 1 << 1, IS_PROVEN = 1 << 0, IS_UNPROVEN = 1 << 1 };
enum { FAMILY_4 = 1 << 0, FAMILY_6 = 1 << 1, FAMILIES = 3 };

/* Ascending, apart from each other. Where there are too many, the last covers the rest: a region
 * may then hold packets that do not match, but lacks none that do. */
#define PIECES_MAX (RL_PORT_RANGES_MAX + 4)
struct numbers {
	uint32_t count;
	struct piece {
		uint16_t first, last; /* inclusive */
	} piece[PIECES_MAX];
};

/* 0..255: a bit each. */
struct bytes {
	uint64_t word[4];
};

/* A prefix, less others. */
struct addresses {
	uint8_t addr[16], len;
	uint8_t less_count;
	uint8_t less_len[REGION_RULES];
	const uint8_t *less[REGION_RULES];
};

/* ICMP: the type in the upper byte, the code in the lower. */
enum number { SPORT, DPORT, LENGTH, TTL, DSCP, ICMP, NUMBERS };
enum end { SRC, DST, ENDS };

/* Bytes of the payload that are not to be there, and filters, exclude nothing. `payloads` are those
 * that state a payload, or an alarm, which no packet meets on and off. */
struct region {
	struct bytes protos, tcp_flags;
	uint32_t shapes, known, proven, families;
	uint32_t alarms_on, alarms_off; /* bits: those that are on, or off, for its packets */
	struct numbers numbers[NUMBERS];
	struct addresses ends[ENDS];
	const struct rl_extra *payloads[REGION_RULES];
	uint32_t payload_count;
};

void region_all(struct region *out);
void region_of(const struct rule *rule, struct region *out);

/* Only while this alarm is on, or while it is not. */
void region_narrow_while(struct region *region, uint32_t alarm, bool is_off);

/* Only the addresses of the prefix. */
void region_narrow_prefix(struct region *region, enum end end, const uint8_t addr[16], uint8_t len);

/* The packets of both; false: there are none, and *out is undefined. */
bool region_common(const struct region *a, const struct region *b, struct region *out);

/* Could one payload have the bytes that both state, while the alarms are as both state? */
bool region_payloads_agree(const struct region *a, const struct region *b);

/* Is one of the sets of numbers empty? */
bool region_is_empty(const struct region *region);

/* One packet of the region, as far as the region is not of all packets; without extras. */
struct match region_packet(const struct region *region);
