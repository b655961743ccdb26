/* SPDX-License-Identifier: GPL-2.0-only */
/* Packets and bytes over time, in bins that grow with the span: whoever counts needs not know it
 * beforehand, and the memory is bounded. Pure.
 *
 * A bin begins at a multiple of its width, which is a round time (1 or 2 ms, 10 ms ... 10 s, 30 s,
 * 1 min ... 12 h, 1 day ...). A time that would need more than TIMELINE_BINS bins widens them until
 * it fits; bins that have data stay together.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "rlctl_abi.h"

#define TIMELINE_BINS 240 /* at most; a capture that needed more has a fifth of them at least */

struct series {
	struct rl_amount at[TIMELINE_BINS];
	struct series *next;
};

struct timeline {
	uint64_t first; /* number of the first bin: it begins at first * timeline_width() */
	size_t count;   /* bins in use; 0: no time yet */
	size_t step;    /* of the widths */
	struct series *all;
};

/* A series of zeros, which the timeline owns. NULL: out of memory. */
struct series *timeline_series(struct timeline *timeline);
void timeline_clear(struct timeline *timeline);

/* The bin of that time (since 1970). Bins of all series may have moved. */
size_t timeline_bin(struct timeline *timeline, uint64_t time_ns);

uint64_t timeline_width_ns(const struct timeline *timeline);
/* Begin of a bin, of timeline->count: the end of the last. */
uint64_t timeline_begin_ns(const struct timeline *timeline, size_t bin);
