/* SPDX-License-Identifier: GPL-2.0-only */
/* Traffic per source or per destination, estimated from samples over the last slices of time. Pure;
 * memory grows with the number of addresses, of which there are no more than samples.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "kernel/watch/sampler.h"
#include "watch/estimate.h"

#define TALKER_SLICES 4

enum talker_verdict { TALKER_DROPPED, TALKER_PASSED, TALKER_VERDICTS };

/* Figures of one verdict. */
struct talk {
	struct estimate packets, bytes;
};

/* The destination ports of most samples (J. Misra, D. Gries: "Finding Repeated Elements", 1982):
 * each port with more than a fifth of the samples is among them. */
#define TALKER_PORTS 4
struct talker_ports {
	uint32_t samples; /* with ports; halved, as the others, in each slice */
	uint32_t count[TALKER_PORTS];
	uint16_t port[TALKER_PORTS];
};

/* All of a sample that a limit may count by, and the rule that decided. */
struct talker_packet {
	uint8_t src[16], dst[16];
	uint32_t counter_id; /* as in rl_sample */
	uint16_t sport, dport;
	uint8_t proto;
};

/* The same as a sample, without the rest. */
struct rl_sample talker_sample(const struct talker_packet *packet);

/* A source as limits count it, an IPv4 address or an IPv6 /64, or a destination, one address. */
struct talker {
	uint8_t addr[16];
	struct talker_packet last; /* one of its packets; a dropped one if there is one */
	struct talker_ports ports;
	struct talk slices[TALKER_SLICES][TALKER_VERDICTS];
	UT_hash_handle hh;
};

struct talkers {
	bool by_dest;        /* set at the beginning; stays */
	struct talker *list; /* in the order of their first sample; hh.next is the next */
	unsigned int slice;  /* the current one */
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

/* The destination port of most samples, and at least how many per cent of them it has. False: none
 * has more than a fifth. */
bool talker_port(const struct talker *talker, uint16_t *port, unsigned int *share);

size_t talkers_count(const struct talkers *talkers);
/* Forgets all of them. */
void talkers_clear(struct talkers *talkers);
