// SPDX-License-Identifier: GPL-2.0-only
/* Addresses take too many bits: the spans of these axes are made of their ranks among all addresses
 * at which a span begins or ends. */
#include "compile/axes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"

typedef unsigned __int128 u128;

/* Spans of addresses. */
struct stretch {
	u128 first, last; /* inclusive */
};

#define STRETCHES_MAX 8

static int span_append(struct axes *axes, uint32_t first, uint32_t last)
{
	size_t capacity = axes->capacity ? 2 * axes->capacity : 256;
	struct span *more;

	if (axes->count == axes->capacity) {
		more = reallocarray(axes->spans, capacity, sizeof(*more));
		if (!more)
			return -ENOMEM;
		axes->spans = more;
		axes->capacity = capacity;
	}
	axes->spans[axes->count++] = (struct span){first, last};
	return 0;
}

static int numbers_append(struct axes *axes, const struct numbers *set)
{
	int ret = 0;

	for (uint32_t i = 0; !ret && i < set->count; i++)
		ret = span_append(axes, set->piece[i].first, set->piece[i].last);
	return ret;
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

static int mask_append(struct axes *axes, uint32_t mask, uint32_t last)
{
	uint64_t word = mask;

	return bits_append(axes, &word, last);
}

/* ---- addresses */

static u128 address_number(const uint8_t addr[16])
{
	u128 number = 0;

	for (int i = 0; i < 16; i++)
		number = number << 8 | addr[i];
	return number;
}

static struct stretch stretch_of(const uint8_t addr[16], uint8_t len)
{
	u128 first = address_number(addr);

	return (struct stretch){first, first + (len ? ((u128)1 << (128 - len)) - 1 : ~(u128)0)};
}

/* Takes the addresses out of all stretches. Returns how many there are then. */
static size_t stretch_cut(struct stretch *all, size_t count, struct stretch less)
{
	struct stretch kept[STRETCHES_MAX] = {0};
	size_t left = 0;

	for (size_t i = 0; i < count; i++) {
		struct stretch s = all[i];

		if (s.last < less.first || s.first > less.last) {
			kept[left++] = s;
			continue;
		}
		if (s.first < less.first)
			kept[left++] = (struct stretch){s.first, less.first - 1};
		if (s.last > less.last)
			kept[left++] = (struct stretch){less.last + 1, s.last};
	}
	memcpy(all, kept, left * sizeof(*kept));
	return left;
}

/* An IPv6 prefix takes none of the mapped addresses. */
static size_t prefix_cut(struct stretch *all, size_t count, const uint8_t addr[16], uint8_t len)
{
	static const uint8_t mapped[16] = {[10] = 0xff, [11] = 0xff};
	struct stretch less = stretch_of(addr, len), ipv4 = stretch_of(mapped, RL_MAPPED_BITS);

	if (prefix_is_ipv4(addr, len) || less.last < ipv4.first || less.first > ipv4.last)
		return stretch_cut(all, count, less);
	if (less.first < ipv4.first)
		count = stretch_cut(all, count, (struct stretch){less.first, ipv4.first - 1});
	if (less.last > ipv4.last)
		count = stretch_cut(all, count, (struct stretch){ipv4.last + 1, less.last});
	return count;
}

/* A rule has one prefix that is to be taken out, or none: three stretches at most. */
static size_t stretches_of(const struct addresses *set, struct stretch out[STRETCHES_MAX])
{
	size_t count = 1;

	out[0] = stretch_of(set->addr, set->len);
	if (set->less_count)
		count = prefix_cut(out, count, set->less[0], set->less_len[0]);
	return count;
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
static size_t ends_collect(u128 *out, const struct region *regions, size_t count, enum end end)
{
	size_t all = 0, kept = 0;

	for (size_t i = 0; i < count; i++) {
		struct stretch stretches[STRETCHES_MAX];
		size_t there = stretches_of(&regions[i].ends[end], stretches);

		for (size_t j = 0; j < there; j++) {
			out[all++] = stretches[j].first;
			out[all++] = stretches[j].last;
		}
	}
	qsort(out, all, sizeof(*out), compare_numbers);
	for (size_t i = 0; i < all; i++)
		if (!i || out[i] != out[kept - 1])
			out[kept++] = out[i];
	return kept;
}

static int end_append(struct axes *axes, const struct addresses *set, const u128 *numbers,
		      size_t count)
{
	struct stretch stretches[STRETCHES_MAX];
	size_t there = stretches_of(set, stretches);
	int ret = 0;

	for (size_t i = 0; !ret && i < there; i++)
		ret = span_append(axes, rank_of(numbers, count, stretches[i].first),
				  rank_of(numbers, count, stretches[i].last));
	return ret;
}

/* ---- */

static int alarm_append(struct axes *axes, uint32_t alarm, const struct region *region)
{
	uint32_t off = region->alarms_off >> alarm & 1, on = region->alarms_on >> alarm & 1;

	return mask_append(axes, off | on << 1, 1);
}

static int region_append(struct axes *axes, enum axis axis, const struct region *region)
{
	if (axis >= AXIS_ALARMS)
		return alarm_append(axes, axis - AXIS_ALARMS, region);
	switch (axis) {
	case AXIS_PROTO:
		return bits_append(axes, region->protos.word, axes->last[axis]);
	case AXIS_TCP_FLAGS:
		return bits_append(axes, region->tcp_flags.word, axes->last[axis]);
	case AXIS_SHAPE:
		return mask_append(axes, region->shapes, axes->last[axis]);
	case AXIS_KNOWN:
		return mask_append(axes, region->known, axes->last[axis]);
	case AXIS_PROVEN:
		return mask_append(axes, region->proven, axes->last[axis]);
	case AXIS_FAMILY:
		return mask_append(axes, region->families, axes->last[axis]);
	default:
		return numbers_append(axes, &region->numbers[axis]);
	}
}

static int axis_make(struct axes *axes, enum axis axis, const struct region *regions, size_t count)
{
	u128 *numbers = NULL;
	size_t number_count = 0;
	int ret = 0;

	if (axis >= AXIS_ENDS) {
		numbers = calloc(count * 2 * STRETCHES_MAX, sizeof(*numbers));
		if (!numbers)
			return -ENOMEM;
		number_count = ends_collect(numbers, regions, count, axis - AXIS_ENDS);
		axes->last[axis] = number_count ? number_count - 1 : 0;
	}
	for (size_t i = 0; !ret && i < count; i++) {
		struct span_run *run = &axes->runs[i][axis];

		run->begin = axes->count;
		ret = axis < AXIS_ENDS ? region_append(axes, axis, &regions[i])
				       : end_append(axes, &regions[i].ends[axis - AXIS_ENDS],
						    numbers, number_count);
		run->count = axes->count - run->begin;
	}
	free(numbers);
	return ret;
}

int axes_make(struct axes *axes, const struct region *regions, size_t count)
{
	int ret = 0;

	*axes = (struct axes){.last = {[AXIS_PROTO] = 255,
				       [AXIS_TCP_FLAGS] = 255,
				       [AXIS_SHAPE] = 2,
				       [AXIS_KNOWN] = 1,
				       [AXIS_PROVEN] = 1,
				       [AXIS_FAMILY] = 1}};
	for (int i = 0; i < NUMBERS; i++)
		axes->last[i] = UINT16_MAX;
	for (int i = 0; i < RL_ALARMS_MAX; i++)
		axes->last[AXIS_ALARMS + i] = 1;
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
	const struct span *span = axes->spans + run->begin;

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
