// SPDX-License-Identifier: GPL-2.0-only
/* The regions of limits as spans on axes. Addresses take too many bits: the spans of these
 * axes are made of their ranks among all addresses at which a span begins or ends. */
#include "base/array.h"
#include "compile/meeting.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"

static int span_append(struct axes *axes, uint32_t first, uint32_t last)
{
	struct value_range *spans =
		array_room(axes->spans, axes->count, &axes->capacity, sizeof(*spans));

	if (!spans)
		return -ENOMEM;
	axes->spans = spans;
	spans[axes->count++] = (struct value_range){first, last};
	return 0;
}

static bool bit_is_set(const uint64_t *words, uint32_t bit)
{
	return words[bit / 64] >> bit % 64 & 1;
}

/* Those bits, from 0 to `last`, that are set. */
static int bits_append(struct axes *axes, const uint64_t *words, uint32_t last)
{
	int ret = 0;

	for (uint32_t first = 0; !ret && first <= last; first++) {
		uint32_t end = first;

		if (!bit_is_set(words, first))
			continue;
		while (end < last && bit_is_set(words, end + 1))
			end++;
		ret = span_append(axes, first, end);
		first = end;
	}
	return ret;
}

/* ---- addresses */

static const struct addresses *end_of(const struct region *region, enum axis axis)
{
	return axis == AXIS_SRC ? &region->set.src : &region->set.dst;
}

static int compare_numbers(const void *a, const void *b)
{
	const u128 *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static uint32_t rank_of(const u128 *numbers, size_t count, u128 number)
{
	const u128 *at = bsearch(&number, numbers, count, sizeof(*numbers), compare_numbers);

	return at - numbers;
}

/* Ascending, each once. Returns how many there are. */
static size_t ends_collect(u128 *out, const struct region *regions, size_t count, enum axis axis)
{
	size_t all = 0, kept = 0;

	for (size_t i = 0; i < count; i++) {
		const struct addresses *set = end_of(&regions[i], axis);

		for (uint32_t j = 0; j < set->count; j++) {
			out[all++] = set->at[j].first;
			out[all++] = set->at[j].last;
		}
	}
	qsort(out, all, sizeof(*out), compare_numbers);
	for (size_t i = 0; i < all; i++)
		if (!i || out[i] != out[kept - 1])
			out[kept++] = out[i];
	return kept;
}

/* ---- */

static int region_append(struct axes *axes, enum axis axis, const struct region *region)
{
	const struct ranges *set = axis < AXIS_ALARMS ? &region->set.dim[axis] : NULL;
	uint64_t alarm;
	int ret = 0;

	if (axis == (enum axis)DIM_NUMBER(TCP_FLAGS))
		return bits_append(axes, region->set.tcp_flags.word, axes->last[axis]);
	if (axis < AXIS_ALARMS) {
		for (uint32_t i = 0; !ret && i < set->count; i++)
			ret = span_append(axes, set->range[i].first, set->range[i].last);
		return ret;
	}
	alarm = (region->alarms_off >> (axis - AXIS_ALARMS) & 1) |
		(region->alarms_on >> (axis - AXIS_ALARMS) & 1) << 1;
	return bits_append(axes, &alarm, 1);
}

/* The spans of the addresses, as ranks. */
static int ranks_append(struct axes *axes, const struct addresses *set, const u128 *numbers,
			size_t count)
{
	int ret = 0;

	for (uint32_t i = 0; !ret && i < set->count; i++)
		ret = span_append(axes, rank_of(numbers, count, set->at[i].first),
				  rank_of(numbers, count, set->at[i].last));
	return ret;
}

static int axis_make(struct axes *axes, enum axis axis, const struct region *regions, size_t count)
{
	u128 *numbers = NULL;
	size_t number_count = 0;
	int ret = 0;

	if (axis >= AXIS_SRC) {
		numbers = calloc(count * 2 * STRETCHES_MAX, sizeof(*numbers));
		if (!numbers)
			return -ENOMEM;
		number_count = ends_collect(numbers, regions, count, axis);
		axes->last[axis] = number_count ? number_count - 1 : 0;
	}
	for (size_t i = 0; !ret && i < count; i++) {
		struct span_run *run = &axes->runs[i][axis];

		run->begin = axes->count;
		ret = axis < AXIS_SRC ? region_append(axes, axis, &regions[i])
				      : ranks_append(axes, end_of(&regions[i], axis), numbers,
						     number_count);
		run->count = axes->count - run->begin;
	}
	free(numbers);
	return ret;
}

int axes_make(struct axes *axes, const struct region *regions, size_t count)
{
	int ret = 0;

	*axes = (struct axes){.count = 0};
	for (enum axis axis = 0; axis < AXIS_SRC; axis++)
		axes->last[axis] = axis < AXIS_ALARMS ? dim_last((enum dim)axis) : 1;
	axes->runs = calloc(count ? count : 1, sizeof(*axes->runs));
	if (!axes->runs)
		return -ENOMEM;
	for (enum axis axis = 0; !ret && axis < AXES; axis++)
		ret = axis_make(axes, axis, regions, count);
	return ret;
}

void axes_clear(struct axes *axes)
{
	free(axes->spans);
	free(axes->runs);
	*axes = (struct axes){0};
}

bool axes_all(const struct axes *axes, size_t region, enum axis axis)
{
	const struct span_run *run = &axes->runs[region][axis];
	const struct value_range *span = axes->spans + run->begin;

	return run->count == 1 && span->first == 0 && span->last == axes->last[axis];
}

bool axes_hold(const struct axes *axes, size_t region, enum axis axis, uint32_t number)
{
	const struct span_run *run = &axes->runs[region][axis];

	for (uint32_t i = run->begin; i < run->begin + run->count; i++)
		if (axes->spans[i].first <= number && axes->spans[i].last >= number)
			return true;
	return false;
}
