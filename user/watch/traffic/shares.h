/* SPDX-License-Identifier: GPL-2.0-only */
/* The most frequent values of a stream, in bounded memory: the Space-Saving algorithm (A. Metwally,
 * D. Agrawal, A. El Abbadi: "Efficient Computation of Frequent and Top-k Elements in Data Streams",
 * ICDT 2005), with weights. A value with more than 1 / SHARES_PLACES of the weight is among them.
 * Pure. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define SHARES_PLACES 32
#define SHARES_VALUE  16 /* bytes */

struct shares_place {
	uint8_t value[SHARES_VALUE];
	uint64_t weight;  /* of the value, and of those that had the place before it; 0: free */
	uint64_t unsure;  /* of that, what may be of those before it */
	uint64_t samples; /* of the value since it has the place */
};

struct shares {         /* zero-initialised */
	uint64_t total; /* weight of all samples */
	struct shares_place places[SHARES_PLACES];
};

void shares_add(struct shares *shares, const void *value, size_t size, uint64_t weight);

/* The heaviest first, at most `max`: those that certainly have `least` of 1 of the weight, with two
 * samples or more (or one that is half of all). Returns how many. */
struct shares_part {
	uint8_t value[SHARES_VALUE];
	double share; /* of all: at least that */
};
size_t shares_list(const struct shares *shares, uint64_t all, double least, struct shares_part *out,
		   size_t max);
