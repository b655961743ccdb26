/* SPDX-License-Identifier: GPL-2.0-only */
/* The time of a capture without the jumps and long pauses of its clock: what comes behind one is
 * put right after what came before, by whole seconds.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "cli/simulate/capture_check.h"

/* From `at_ns` of the axis on, the capture's clock is ahead by `ahead_ns` (modulo 2^64). */
struct stretch {
	uint64_t at_ns, ahead_ns;
};

struct axis {
	struct epoch epoch;
	uint64_t end_ns; /* the latest so far */
	struct stretch *stretches;
	size_t count;
};

/* Where the packet with this number is: at its own time, until the clock jumps. Packets are placed
 * in the order of the capture; the same order gives the same places. 0 or -ENOMEM. */
int axis_place(struct axis *axis, uint64_t number, uint64_t time_ns, uint64_t *out);
void axis_clear(struct axis *axis);

/* Whole seconds (modulo 2^64) by which this time is moved so that it is not before `from_ns`. */
uint64_t axis_shift(uint64_t time_ns, uint64_t from_ns);

/* The capture's clock at that place. */
uint64_t axis_clock(const struct axis *axis, uint64_t at_ns);
