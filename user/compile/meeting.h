/* SPDX-License-Identifier: GPL-2.0-only */
/* How many limits of one prefix a packet can meet. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/policy.h"
#include "policy/packets/pset.h"

/* A packet, and limits that it meets: one more than RL_GROUP_MAX. */
struct meeting {
	const struct rule *rules[RL_GROUP_MAX + 1];
	size_t count;
	struct match packet;
};

/* Is there a packet that meets more than RL_GROUP_MAX limits of these rules, which are of one
 * prefix? 0: none; -E2BIG: *met is one; -EOVERFLOW: not found out within the search's bound;
 * -ENOMEM. Rules that allow or deny such a packet before are not looked at. */
int limits_meet(const struct rule *const *rules, size_t count, bool by_dest, struct meeting *met);

/* Compares uint32_t, for qsort(). */
int numbers_compare(const void *a, const void *b);

/* The packets that a limit matches. */
struct region {
	struct pset set;
	uint32_t alarms_on, alarms_off; /* bits: those that are on, or off, for its packets */
	const struct rl_extra *payload; /* that states one, or an alarm, which no packet meets on
					 * and off; else NULL */
};

/* ---- axes.c: the regions of limits as spans of numbers on axes
 *
 * Two of them have a packet in common if they have a number in common on every axis, and payloads
 * that agree. */

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
