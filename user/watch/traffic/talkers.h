/* SPDX-License-Identifier: GPL-2.0-only */
/* Traffic per source, destination or pattern, estimated from samples over the last slices of time.
 * Pure; memory grows with the number of them, of which there are no more than samples.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "kernel/watch/sampler.h"
#include "watch/traffic/estimate.h"

#define TALKER_SLICES 4

enum talker_verdict { TALKER_DROPPED, TALKER_PASSED, TALKER_VERDICTS };

/* Figures of one verdict. */
struct talk {
	struct estimate packets, bytes;
};

/* The destination ports of most samples, or networks that have most of a pattern (J. Misra, D.
 * Gries: "Finding Repeated Elements", 1982): each with more than a fifth of them is among these. */
#define TALKER_VALUES 4
struct talker_values {
	uint32_t samples; /* with values; halved, as the others, in each slice */
	uint32_t count[TALKER_VALUES];
	uint32_t value[TALKER_VALUES];
};

/* All of a sample that a limit may count by, and the rule that decided. */
struct talker_packet {
	uint8_t src[16], dst[16];
	uint32_t counter_id; /* as in rl_sample */
	uint16_t sport, dport, vlan;
	uint8_t proto;
};

/* The same as a sample, without the rest. */
struct rl_sample talker_sample(const struct talker_packet *packet);

/* A source as limits count it, an IPv4 address or an IPv6 /64; a destination, one address; or a
 * struct pattern of any network. */
struct talker {
	uint8_t addr[16];
	struct talker_packet last; /* one of its packets; a dropped one if there is one */
	struct talker_values values;
	struct talk slices[TALKER_SLICES][TALKER_VERDICTS];
	UT_hash_handle hh;
};

struct talkers {
	bool by_dest, by_pattern; /* set at the beginning, as is the next; stay */
	bool raw_ip;              /* frames have no Ethernet header */
	struct talker *list;      /* in the order of their first sample; hh.next is the next */
	unsigned int slice;       /* the current one */
	/* of all packets, also those without addresses */
	struct talk all[TALKER_SLICES][TALKER_VERDICTS];
};

/* 0 or -ENOMEM. */
int talkers_add(struct talkers *talkers, const struct sampled *sample, bool has_addresses,
		bool passed);

/* Begins the next slice; drops sources without packets in all kept slices. */
void talkers_next_slice(struct talkers *talkers);

void talk_merge(struct talk *to, const struct talk *from);

/* Sums over the kept slices. */
struct talk talker_sum(const struct talker *talker, enum talker_verdict verdict);
struct talk talkers_sum(const struct talkers *talkers, enum talker_verdict verdict);

/* How much of an address is one talker, in bits of 128. */
uint8_t talker_bits(bool by_dest, const uint8_t addr[16]);

/* The value of most samples. */
struct talker_value {
	bool any;           /* do samples have values? */
	bool known;         /* more than a fifth of them have this one: */
	uint32_t value;     /* else 0 */
	unsigned int share; /* per cent, at least; else 0 */
};
struct talker_value talker_value(const struct talker *talker);

/* Forgets all of them. */
void talkers_clear(struct talkers *talkers);

/* The prefix that most packets of many addresses are in, of either family alike. Pure. */

struct rollup_item {
	uint8_t addr[16];
	uint64_t weight;
};

struct rollup {
	uint8_t addr[16];
	uint8_t len; /* of 128 */
};

/* The narrowest prefix that has at least half of the weight. Chance decides which half of a prefix
 * that is in use everywhere has more, so it becomes wider as long as that adds at least half as
 * much. Sorts the items and overwrites their weights. Without items: everything. */
struct rollup rollup_make(struct rollup_item *items, size_t count);
