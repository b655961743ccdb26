/* SPDX-License-Identifier: GPL-2.0-only */
/* When something that comes and goes has begun and has ended, so that a single packet tells
 * nothing, and a pause of a flood neither. Pure. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define ONSET_TENTHS   10 /* the last tenths of a second, which are looked at */
#define ONSET_TENTH_NS 100000000ull
#define ONSET_BEGINS   3              /* begins if it was there in so many of them, */
#define ONSET_PAUSE_NS 10000000000ull /* and has ended if it was not there for so long */

struct onset {         /* zero-initialised */
	uint32_t seen; /* a bit for each of the last tenths, the last one lowest */
	bool on;
	uint64_t first_ns; /* when it was first there: of this time, or of the tenths `seen` */
	uint64_t last_ns;  /* and last */
};

enum onset_change { ONSET_NONE, ONSET_BEGUN, ONSET_ENDED };

/* A reading at now_ns: how often was it there since the one before, at before_ns? A reading that
 * came late covers several tenths, of which each may have had one. */
enum onset_change onset_step(struct onset *onset, uint64_t count, uint64_t before_ns,
			     uint64_t now_ns);

/* Neither on, nor was it there in one of the last tenths. */
bool onset_is_idle(const struct onset *onset);
