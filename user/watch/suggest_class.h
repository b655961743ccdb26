/* SPDX-License-Identifier: GPL-2.0-only */
/* The packets of a service, by source and second. Pure. */
#ifndef RLCTL_SUGGEST_CLASS_H
#define RLCTL_SUGGEST_CLASS_H

#include "suggest_limits.h"

#define SOURCE_FORGOTTEN UINT32_MAX

struct class_cell {
	uint32_t source; /* any number that tells sources apart, or SOURCE_FORGOTTEN */
	uint32_t second;
	uint32_t samples;
	uint64_t packets, bytes;
};

/* Fills in all of *out but kind and number. `cells` are ordered here; the packets of those that are
 * left out become 0. `forgotten`: sources. 0 or -ENOMEM. */
struct class_input {
	struct class_cell *cells;
	size_t count;
	uint64_t forgotten;
	unsigned int headroom;
	uint32_t seconds;
	double weight; /* packets for each sample in the mean; 1: exact */
};
int class_judge(struct class_input *input, struct suggest_class *out);

/* The number of the heaviest source that was left out is in out->left_out.heaviest[0..3], which
 * suggest_make() replaces by its address. */

#endif
