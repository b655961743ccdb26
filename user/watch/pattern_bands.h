/* SPDX-License-Identifier: GPL-2.0-only */
/* Patterns of the packets of busy seconds and of quiet ones. Which these are is known at the end
 * alone, so the patterns of seconds with about as many packets are kept together. Pure. */
#pragma once

#include "watch/pattern.h"

#define PATTERN_BANDS 40 /* by powers of two; the last has all that is more */

struct pattern_band {
	struct patterns patterns;
	uint64_t packets;
};

struct pattern_bands { /* zero-initialised */
	struct pattern_band bands[PATTERN_BANDS];
	struct pattern_band now; /* of the second that is not over */
	uint64_t second;
};

/* In the order of time; a packet that is late belongs to the second of the one before it. */
void pattern_bands_add(struct pattern_bands *bands, uint64_t second, const struct pattern *pattern,
		       uint64_t weight);

struct pattern_busy {
	struct pattern_part part; /* the heaviest of the busy seconds; share 0: none */
	double quiet;             /* its share in the packets of the others */
	bool is_usual;            /* that share is large: the pattern is not the flood's alone */
};

/* The pattern of most packets in seconds that have more than `border`, those of about the border
 * left out. Settles the last second. */
struct pattern_busy pattern_bands_find(struct pattern_bands *bands, uint64_t border);
