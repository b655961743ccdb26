/* SPDX-License-Identifier: GPL-2.0-only */
/* Traffic per source, estimated from samples over the last slices of time. Pure; memory grows with
 * the number of sources.
 */
#ifndef RLCTL_TALKERS_H
#define RLCTL_TALKERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "estimate.h"
#include "hash.h"
#include "sampler.h"

#define TALKER_SLICES 4

enum talker_verdict { TALKER_DROPPED, TALKER_PASSED, TALKER_VERDICTS };

/* Of one verdict. */
struct talk {
	struct estimate packets, bytes;
};

/* A source as limits count it: an IPv4 address or an IPv6 /64. */
struct talker {
	uint8_t addr[16];
	struct rl_sample last; /* one of its packets; a dropped one if there is one */
	struct talk slices[TALKER_SLICES][TALKER_VERDICTS];
	UT_hash_handle hh;
};

struct talkers {
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

size_t talkers_count(const struct talkers *talkers);
void talkers_clear(struct talkers *talkers);

#endif
