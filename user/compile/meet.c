// SPDX-License-Identifier: GPL-2.0-only
/* The packets that a limit matches are a region: a set in each of a few dimensions. Limits have a
 * packet in common if their regions have something in common in every dimension.
 *
 * First a sweep over ports and addresses: limits that meet are all there where one of them begins.
 * Among those of one such place, a search adds one limit after the other to those that have
 * something in common; limits that hold all that is left are taken as they come, the others are
 * tried. */
#include "meet.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "region.h"

#define STEPS_MAX (1u << 22) /* about a second; real policies need some thousands */
#define LOOKS_MAX (1u << 28) /* the same, of the sweep */

typedef unsigned __int128 u128;

/* From the lowest to the highest of a dimension: no less than the region. */
enum axis { AXIS_DPORT, AXIS_SPORT, AXIS_SRC, AXIS_DST, AXES };

struct extent {
	u128 first[AXES], last[AXES]; /* inclusive */
};

#define DEPTH_MAX (AXES + RL_GROUP_MAX + 1)

struct search {
	const struct rule *const *rules;
	struct region *regions; /* of each rule */
	struct extent *extents;
	struct region all;
	uint16_t *left[DEPTH_MAX]; /* candidates, by depth */
	uint64_t looks;
	uint16_t chosen[RL_GROUP_MAX + 1];
	size_t chosen_count;
	struct region found;
	uint32_t steps;
};

/* ---- the search */

static int found(struct search *s, const struct region *region)
{
	s->found = *region;
	return -E2BIG;
}

/* Chooses the candidates that match all of the region; the others that match some of it stay in
 * *left. 0, -E2BIG or -EOVERFLOW. */
static int candidates_sort(struct search *s, const struct region *region, const uint16_t *from,
			   size_t count, uint16_t *left, size_t *left_count)
{
	*left_count = 0;
	for (size_t i = 0; i < count; i++) {
		struct region common;

		if (++s->steps > STEPS_MAX)
			return -EOVERFLOW;
		if (!region_common(region, &s->regions[from[i]], &common))
			continue;
		if (!region_is_same(&common, region)) {
			left[(*left_count)++] = from[i];
			continue;
		}
		s->chosen[s->chosen_count++] = from[i];
		if (s->chosen_count > RL_GROUP_MAX)
			return found(s, region);
	}
	return 0;
}

/* The chosen limits meet in the region: do enough of the candidates meet them there? */
static int extend(struct search *s, const struct region *region, const uint16_t *from, size_t count,
		  size_t depth)
{
	size_t before = s->chosen_count, chosen, left_count;
	uint16_t *left = s->left[depth];
	int ret = candidates_sort(s, region, from, count, left, &left_count);

	chosen = s->chosen_count;
	for (size_t i = 0; !ret && i < left_count && chosen + left_count - i > RL_GROUP_MAX; i++) {
		struct region common;

		region_common(region, &s->regions[left[i]], &common);
		s->chosen[s->chosen_count++] = left[i];
		ret = s->chosen_count > RL_GROUP_MAX
			      ? found(s, &common)
			      : extend(s, &common, left + i + 1, left_count - i - 1, depth + 1);
		if (!ret)
			s->chosen_count = chosen;
	}
	if (!ret)
		s->chosen_count = before;
	return ret;
}

static u128 address_number(const uint8_t addr[16])
{
	u128 number = 0;

	for (int i = 0; i < 16; i++)
		number = number << 8 | addr[i];
	return number;
}

static void numbers_extent(const struct numbers *set, struct extent *out, enum axis axis)
{
	out->first[axis] = set->piece[0].first;
	out->last[axis] = set->piece[set->count - 1].last;
}

static struct extent extent_of(const struct region *region)
{
	struct extent extent;

	numbers_extent(&region->numbers[DPORT], &extent, AXIS_DPORT);
	numbers_extent(&region->numbers[SPORT], &extent, AXIS_SPORT);
	for (int end = 0; end < ENDS; end++) {
		enum axis axis = end == SRC ? AXIS_SRC : AXIS_DST;
		uint8_t len = region->ends[end].len;

		extent.first[axis] = address_number(region->ends[end].addr);
		extent.last[axis] =
			extent.first[axis] + (len ? ((u128)1 << (128 - len)) - 1 : ~(u128)0);
	}
	return extent;
}

/* Does one of the candidates before the i-th begin where that begins? */
static bool begins_again(const struct search *s, enum axis axis, const uint16_t *from, size_t i)
{
	for (size_t j = 0; j < i; j++)
		if (s->extents[from[j]].first[axis] == s->extents[from[i]].first[axis])
			return true;
	return false;
}

/* Those of the candidates that are where the i-th begins. */
static size_t beside(struct search *s, enum axis axis, const uint16_t *from, size_t count, size_t i,
		     uint16_t *out)
{
	u128 begin = s->extents[from[i]].first[axis];
	size_t there = 0;

	s->looks += 2 * count;
	for (size_t j = 0; j < count; j++)
		if (s->extents[from[j]].first[axis] <= begin &&
		    s->extents[from[j]].last[axis] >= begin)
			out[there++] = from[j];
	return there;
}

static int sweep(struct search *s, enum axis axis, const uint16_t *from, size_t count)
{
	int ret = 0;

	if (axis == AXES)
		return extend(s, &s->all, from, count, AXES);
	for (size_t i = 0; !ret && i < count; i++) {
		size_t there;

		if (begins_again(s, axis, from, i))
			continue;
		there = beside(s, axis, from, count, i, s->left[axis]);
		if (s->looks > LOOKS_MAX)
			return -EOVERFLOW;
		if (there > RL_GROUP_MAX)
			ret = sweep(s, axis + 1, s->left[axis], there);
	}
	return ret;
}

static void meeting_fill(const struct search *s, struct meeting *met)
{
	met->count = s->chosen_count;
	for (size_t i = 0; i < met->count; i++)
		met->rules[i] = s->rules[s->chosen[i]];
	met->packet = region_packet(&s->found);
}

static bool search_allocate(struct search *s, size_t count)
{
	bool there = true;

	s->regions = calloc(count, sizeof(*s->regions));
	s->extents = calloc(count, sizeof(*s->extents));
	for (size_t i = 0; i < DEPTH_MAX; i++) {
		s->left[i] = calloc(count, sizeof(*s->left[i]));
		there &= s->left[i] != NULL;
	}
	return s->regions && s->extents && there;
}

static void search_free(struct search *s)
{
	free(s->regions);
	free(s->extents);
	for (size_t i = 0; i < DEPTH_MAX; i++)
		free(s->left[i]);
}

static int search_run(struct search *s, size_t count, bool by_dest)
{
	const struct rule *prefix = s->rules[0];
	uint16_t *limits = calloc(count, sizeof(*limits));
	size_t limit_count = 0;
	int ret = -ENOMEM;

	for (size_t i = 0; limits && i < count; i++) {
		struct region *region = &s->regions[i];

		region_of(s->rules[i], region);
		if (s->rules[i]->action != RL_ACTION_LIMIT || region_is_empty(region))
			continue;
		s->extents[i] = extent_of(region);
		limits[limit_count++] = i;
	}
	region_all(&s->all);
	if (prefix->kind == PREFIX_ADDR)
		region_narrow_prefix(&s->all, by_dest ? DST : SRC, prefix->addr, prefix->len);
	if (limits)
		ret = sweep(s, 0, limits, limit_count);
	free(limits);
	return ret;
}

int limits_meet(const struct rule *const *rules, size_t count, bool by_dest, struct meeting *met)
{
	struct search s = {.rules = rules};
	int ret = -ENOMEM;

	if (count <= RL_GROUP_MAX)
		return 0;
	if (search_allocate(&s, count))
		ret = search_run(&s, count, by_dest);
	if (ret == -E2BIG)
		meeting_fill(&s, met);
	search_free(&s);
	return ret;
}
