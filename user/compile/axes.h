/* SPDX-License-Identifier: GPL-2.0-only */
/* The regions of limits as spans of numbers on axes: two of them have a packet in common if they
 * have a number in common on every axis, and payloads that agree. */
#pragma once

#include <stddef.h>

#include "compile/region.h"

/* Those of enum dim come first; that of TCP flags is of their bits. */
enum axis {
	AXIS_ALARMS = DIMS, /* one for each: is it off, is it on? */
	AXIS_SRC = AXIS_ALARMS + RL_ALARMS_MAX,
	AXIS_DST,
	AXES,
};

/* The spans of one region on one axis: ascending, apart from each other. */
struct span_run {
	uint32_t begin, count;
};

struct axes {
	struct value_range *spans;
	size_t count, capacity;
	struct span_run (*runs)[AXES]; /* of each region */
	uint32_t last[AXES];           /* the largest number of each axis */
};

/* 0 or -ENOMEM; axes_clear afterwards in any case. */
int axes_make(struct axes *axes, const struct region *regions, size_t count);
void axes_clear(struct axes *axes);

/* Does the region hold all of the axis? */
bool axes_all(const struct axes *axes, size_t region, enum axis axis);

bool axes_hold(const struct axes *axes, size_t region, enum axis axis, uint32_t number);
