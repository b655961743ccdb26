/* SPDX-License-Identifier: GPL-2.0-only */
/* Sets of packets: for each dimension the numbers that a packet of the set may have. Pure.
 *
 * A condition that a packet must have known implies others: ports that it is no later fragment and
 * of a protocol with ports. With these, what two rules have in common in every dimension is what
 * they have in common.
 */
#pragma once

#include "policy/packets/addresses.h"
#include "policy/policy.h"

/* Each in an order in which the matches of a rule are few ranges. */
enum dim {
	DIM_SHAPE, /* enum shape */
	DIM_PROTO,
	DIM_SPORT,
	DIM_DPORT,
	DIM_KNOWN,   /* 1: the source is known */
	DIM_PROVEN,  /* 1: it is established */
	DIM_FAMILY,  /* 0: IPv4; 1: IPv6 */
	DIM_NUMBERS, /* one for each enum rl_number; that of TCP flags is pset.tcp_flags */
	DIMS = DIM_NUMBERS + RL_NUMBERS
};

enum shape {
	SHAPE_WHOLE,
	SHAPE_FIRST, /* fragment */
	SHAPE_LATER, /* fragment: no header after that of IP */
};

/* The dimension of a number: DIM_NUMBER(TTL). */
#define DIM_NUMBER(name) ((enum dim)(DIM_NUMBERS + RL_NUMBER_##name))

struct value_range {
	uint32_t first, last; /* inclusive */
};

/* Ascending, apart from each other. Where there are too many, the last covers the rest: a set may
 * then hold packets that do not match, but lacks none that do. */
#define RANGES_MAX (RL_PORT_RANGES_MAX + 4)
struct ranges {
	uint32_t count;
	struct value_range range[RANGES_MAX];
};

/* 0..255: a bit each. */
struct bytes {
	uint64_t word[4];
};

/* Only those whose bits of `last` are exactly those of `first`, or are not. */
void bytes_narrow(struct bytes *set, struct rl_numbers bits, bool negated);

/* Members of sets, bytes of the payload, filters and alarms exclude nothing. */
struct pset {
	struct ranges dim[DIMS];
	struct bytes tcp_flags;
	struct addresses src, dst;
};

/* The largest number of a dimension. */
uint32_t dim_last(enum dim dim);

void pset_all(struct pset *out);
void pset_of(const struct rule *rule, struct pset *out);

/* The packets for which one of the rule's matches holds. */
void pset_of_field(const struct rule *rule, enum rl_match_flag flag, struct pset *out);

/* Only the packets with these numbers. */
void pset_narrow(struct pset *set, enum dim dim, uint32_t first, uint32_t last);

/* SYN without ACK. */
#define SYN_FLAGS ((struct rl_numbers){.first = 0x02, .last = 0x12})

/* Only the addresses of the prefix. */
void pset_narrow_prefix(struct pset *set, bool src, const uint8_t addr[16], uint8_t len);

/* The packets of both; false: there are none, and *out is undefined. */
bool pset_meet(const struct pset *a, const struct pset *b, struct pset *out);

/* Is a dimension empty? TCP flags and addresses are not looked at. */
bool pset_is_empty(const struct pset *set);

/* One packet of the set, as far as it is not that of all packets; without extras. */
struct match pset_packet(const struct pset *set);

/* The values that the rule accepts of the protocol, of ports or of a number that is not made of
 * flags, whether it names them or those that it does not want; all if it does not state the field,
 * none if no packet can have it. */
void rule_values(const struct rule *rule, enum rl_match_flag flag, struct ranges *out);

/* The numbers of both; false: there are none. */
bool ranges_meet(const struct ranges *a, const struct ranges *b, struct ranges *out);

/* All others, up to `last`. */
void ranges_invert(struct ranges *set, uint32_t last);

bool ranges_within(const struct ranges *inner, const struct ranges *outer);

/* Is the value within one of the ranges? */
bool ranges_hold(const struct ranges *ranges, uint32_t value);

/* Do `syn` and `flags` hold for a segment with these flags (the 14th byte of its header)? */
bool rule_takes_tcp_flags(const struct rule *rule, uint8_t flags);

/* Does the rule match no TCP segments but SYNs without ACK? */
bool rule_is_of_syns(const struct rule *rule);

/* Is the condition of both the same payload, filter, or set as source or destination? */
bool same_opaque(const struct rl_extra *a, const struct rl_extra *b, enum rl_match_flag flag);

/* Does every packet with the matches of `inner` have those of `outer`, whenever `inner` holds?
 * False where that is not known. Prefixes do not count. */
bool match_within(const struct rule *inner, const struct rule *outer);

/* Do protocol or ports alone show that no packet has the matches of both? */
bool match_differs(const struct rule *a, const struct rule *b);
