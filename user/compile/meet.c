// SPDX-License-Identifier: GPL-2.0-only
/* Limits that a packet meets hold its number on each of the axes. The search takes the axis that
 * divides the limits best, and for each of its numbers where more hold than any beside it, goes
 * on with those that hold it, by the next axis. Where no axis is left, payloads are compared. It
 * goes no further where a bound shows that no packet can meet too many. */
#include "compile/meeting.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define STEPS_MAX (1u << 26) /* about a second; real policies need some hundred thousand */

struct meet_search {
	const struct rule *const *rules;
	struct region *regions; /* of each limit */
	uint16_t *group;        /* of its payload, in payload_groups() */
	uint16_t *numbers;      /* of its rule */
	size_t count;
	struct axes axes;
	struct pset all;                   /* packets of the prefix */
	const char *alarms[RL_ALARMS_MAX]; /* names after `while`, each once */
	uint32_t alarm_count;
	uint16_t chosen[RL_GROUP_MAX + 1]; /* indexes into regions */
	size_t chosen_count;
	uint64_t steps;
};

/* Where spans begin and end: the number twice, and once more for the end after it, so that of one
 * number those that hold it no more come before those that hold it anew. */
struct events {
	uint32_t *list;
	size_t count, everywhere; /* limits that hold all numbers */
};

static bool is_begin(uint32_t event)
{
	return event & 1;
}

/* ---- where no axis is left */

/* Could one payload have the bytes that both state, while the alarms are as both state? */
static bool payloads_agree(const struct region *x, const struct region *y)
{
	const struct rl_extra *a = x->payload, *b = y->payload;

	if (!a || !b)
		return true;
	if (a->alarm_not != b->alarm_not && !strcmp(a->alarm, b->alarm))
		return false;
	for (int i = 0; i < a->payload_len; i++) {
		int j = a->payload_at + i - b->payload_at;

		if (j >= 0 && j < b->payload_len &&
		    (a->payload[i] ^ b->payload[j]) & a->payload_mask[i] & b->payload_mask[j])
			return false;
	}
	return true;
}

/* Adds to the chosen limits such of these whose payloads agree. 0, -E2BIG or -EOVERFLOW. */
static int payloads_choose(struct meet_search *s, const uint16_t *from, size_t count)
{
	size_t before = s->chosen_count;
	int ret = 0;

	for (size_t i = 0; !ret && i < count && before + count - i > RL_GROUP_MAX; i++) {
		const struct region *region = &s->regions[from[i]];
		bool agrees = true;

		s->steps += before + 1;
		for (size_t j = 0; agrees && j < before; j++)
			agrees = payloads_agree(&s->regions[s->chosen[j]], region);
		if (!agrees)
			continue;
		s->chosen[s->chosen_count++] = from[i];
		if (s->chosen_count > RL_GROUP_MAX)
			return -E2BIG;
		ret = s->steps > STEPS_MAX ? -EOVERFLOW
					   : payloads_choose(s, from + i + 1, count - i - 1);
		if (!ret)
			s->chosen_count = before;
	}
	return ret;
}

/* Those that state no payload agree with every other, and come first. */
static int leaf(struct meet_search *s, const uint16_t *limits, size_t count)
{
	uint16_t *with = calloc(count, sizeof(*with));
	size_t with_count = 0;
	int ret = with ? 0 : -ENOMEM;

	s->chosen_count = 0;
	for (size_t i = 0; !ret && i < count; i++) {
		if (s->regions[limits[i]].payload)
			with[with_count++] = limits[i];
		else
			s->chosen[s->chosen_count++] = limits[i];
		if (s->chosen_count > RL_GROUP_MAX)
			ret = -E2BIG;
	}
	ret = ret ?: payloads_choose(s, with, with_count);
	free(with);
	return ret;
}

/* ---- one axis */

int numbers_compare(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

static int events_make(struct meet_search *s, enum axis axis, const uint16_t *limits, size_t count,
		       struct events *out)
{
	size_t most = 0;

	*out = (struct events){0};
	for (size_t i = 0; i < count; i++)
		most += 2 * s->axes.runs[limits[i]][axis].count;
	out->list = calloc(most + 1, sizeof(*out->list));
	if (!out->list)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		const struct span_run *run = &s->axes.runs[limits[i]][axis];
		const struct value_range *span = s->axes.spans + run->begin;

		if (axes_all(&s->axes, limits[i], axis)) {
			out->everywhere++;
			continue;
		}
		for (uint32_t j = 0; j < run->count; j++) {
			out->list[out->count++] = 2 * span[j].first + 1;
			out->list[out->count++] = 2 * (span[j].last + 1);
		}
	}
	qsort(out->list, out->count, sizeof(*out->list), numbers_compare);
	s->steps += count + 4 * out->count;
	return 0;
}

/* Most limits that hold one number. */
static size_t deepest(const struct events *events)
{
	size_t depth = events->everywhere, most = depth;

	for (size_t i = 0; i < events->count; i++) {
		depth += is_begin(events->list[i]) ? 1 : -1;
		most = depth > most ? depth : most;
	}
	return most;
}

/* The axis on which the fewest limits at most hold one number; those on which all hold the same are
 * taken out of *left. AXES: none is left. */
static int axis_choose(struct meet_search *s, const uint16_t *limits, size_t count, uint64_t *left,
		       enum axis *out, size_t *depth)
{
	*out = AXES;
	*depth = count;
	for (enum axis axis = 0; axis<AXES && * depth> RL_GROUP_MAX; axis++) {
		struct events events;
		size_t most;

		if (!(*left & 1ull << axis))
			continue;
		if (events_make(s, axis, limits, count, &events))
			return -ENOMEM;
		most = deepest(&events);
		free(events.list);
		if (most == count)
			*left &= ~(1ull << axis);
		if (most < *depth) {
			*depth = most;
			*out = axis;
		}
	}
	return 0;
}

/* ---- no more than a packet may meet */

/* Groups of limits whose payloads do not agree with each other: a packet meets one of each. */
static size_t payload_groups(struct meet_search *s, const uint16_t *limits, size_t count)
{
	uint16_t first[RL_GROUP_MAX + 1]; /* of each group */
	size_t groups = 0, without = 0;

	for (size_t i = 0; i < count && groups + without <= RL_GROUP_MAX; i++) {
		const struct region *region = &s->regions[limits[i]];
		bool is_apart = false;

		without += !region->payload;
		s->group[limits[i]] = RL_GROUP_MAX + 1; /* none */
		for (size_t g = 0; g < groups && region->payload && !is_apart; g++) {
			is_apart = true;
			for (size_t j = first[g]; j < i && is_apart; j++)
				is_apart = s->group[limits[j]] != g ||
					   !payloads_agree(region, &s->regions[limits[j]]);
			s->steps += i - first[g];
			s->group[limits[i]] = g;
		}
		if (is_apart || !region->payload)
			continue;
		s->group[limits[i]] = groups;
		first[groups++] = i;
	}
	return groups + without;
}

/* Moves those that state something of the axis after the others. Returns how many others. */
static size_t others_first(const struct meet_search *s, enum axis axis, uint16_t *limits,
			   size_t count)
{
	size_t others = 0;

	for (size_t i = 0; i < count; i++)
		if (axes_all(&s->axes, limits[i], axis)) {
			uint16_t moved = limits[i];

			limits[i] = limits[others];
			limits[others++] = moved;
		}
	return others;
}

/* Each limit is counted on one axis, of those on which it does not hold all numbers: a packet meets
 * no more than the most of each axis together. 0: that is few enough; 1: it is not; -ENOMEM. */
static int most_together(struct meet_search *s, const uint16_t *limits, size_t count, uint64_t left)
{
	uint16_t *rest = calloc(count, sizeof(*rest));
	size_t most = 0;
	int ret = rest ? 0 : -ENOMEM;

	if (rest)
		memcpy(rest, limits, count * sizeof(*rest));
	for (enum axis axis = 0; !ret && axis < AXES && most <= RL_GROUP_MAX; axis++) {
		struct events events;
		size_t others;

		if (!(left & 1ull << axis))
			continue;
		others = others_first(s, axis, rest, count);
		ret = events_make(s, axis, rest + others, count - others, &events);
		most += ret ? 0 : deepest(&events);
		free(events.list);
		count = others;
	}
	if (!ret && most <= RL_GROUP_MAX)
		most += payload_groups(s, rest, count);
	free(rest);
	return ret ? ret : most > RL_GROUP_MAX;
}

/* ---- the search */

static int search(struct meet_search *s, const uint16_t *limits, size_t count, uint64_t left);

static int search_at(struct meet_search *s, enum axis axis, uint32_t number, const uint16_t *limits,
		     size_t count, uint64_t left)
{
	uint16_t *there = calloc(count, sizeof(*there));
	size_t there_count = 0;
	int ret;

	if (!there)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		if (axes_hold(&s->axes, limits[i], axis, number))
			there[there_count++] = limits[i];
	s->steps += count;
	ret = search(s, there, there_count, left);
	free(there);
	return ret;
}

/* At each number where a span begins before another one ends: the limits of others are among those
 * of one of these. */
static int search_along(struct meet_search *s, enum axis axis, const uint16_t *limits, size_t count,
			uint64_t left)
{
	struct events events;
	size_t depth;
	int ret = events_make(s, axis, limits, count, &events);

	depth = events.everywhere;
	for (size_t i = 0; !ret && i < events.count; i++) {
		uint32_t event = events.list[i];

		depth += is_begin(event) ? 1 : -1;
		if (is_begin(event) && !is_begin(events.list[i + 1]) && depth > RL_GROUP_MAX)
			ret = search_at(s, axis, event / 2, limits, count, left);
	}
	free(events.list);
	return ret;
}

/* Counts limits that hold one number on each axis that is not left. 0, -E2BIG with the chosen ones,
 * -EOVERFLOW or -ENOMEM. */
static int search(struct meet_search *s, const uint16_t *limits, size_t count, uint64_t left)
{
	enum axis axis;
	size_t depth;
	int ret;

	if (count <= RL_GROUP_MAX)
		return 0;
	if (s->steps > STEPS_MAX)
		return -EOVERFLOW;
	ret = axis_choose(s, limits, count, &left, &axis, &depth);
	if (ret || depth <= RL_GROUP_MAX)
		return ret;
	ret = most_together(s, limits, count, left);
	if (ret <= 0)
		return ret;
	if (axis != AXES)
		return search_along(s, axis, limits, count, left & ~(1ull << axis));
	return leaf(s, limits, count);
}

/* ---- */

/* Where the name is among those of the limits; RL_ALARMS_MAX: there are too many. */
static uint32_t alarm_place(struct meet_search *s, const char *name)
{
	uint32_t at = 0;

	while (at < s->alarm_count && strcmp(s->alarms[at], name))
		at++;
	if (at == s->alarm_count && at < RL_ALARMS_MAX)
		s->alarms[s->alarm_count++] = name;
	return at;
}

static void regions_make(struct meet_search *s, size_t count, bool by_dest)
{
	const struct rule *prefix = s->rules[0];

	pset_all(&s->all);
	if (prefix->kind == PREFIX_ADDR)
		pset_narrow_prefix(&s->all, !by_dest, prefix->addr, prefix->len);
	for (size_t i = 0; i < count; i++) {
		const struct rule *rule = s->rules[i];
		const struct rl_extra *extra = rule->extra;
		struct region *region = &s->regions[s->count];
		uint32_t alarm = RL_ALARMS_MAX;
		struct pset own;

		pset_of(rule, &own);
		if (extra && extra->alarm[0])
			alarm = alarm_place(s, extra->alarm);
		if (rule->action != RL_ACTION_LIMIT || pset_is_empty(&own) ||
		    !pset_meet(&s->all, &own, &region->set))
			continue;
		region->alarms_on = region->alarms_off = ~0u;
		if (alarm < RL_ALARMS_MAX)
			*(extra->alarm_not ? &region->alarms_on : &region->alarms_off) &=
				~(1u << alarm);
		if (extra && (rule->match.flags & RL_MATCH_PAYLOAD || extra->alarm[0]) &&
		    !(rule->match.negated & RL_MATCH_PAYLOAD))
			region->payload = extra;
		s->numbers[s->count++] = i;
	}
}

static int search_run(struct meet_search *s, size_t count, bool by_dest)
{
	uint16_t *limits = calloc(count, sizeof(*limits));
	uint64_t unused = 0; /* axes: those of alarms, a bit each */
	int ret = -ENOMEM;

	s->regions = calloc(count, sizeof(*s->regions));
	s->numbers = calloc(count, sizeof(*s->numbers));
	s->group = calloc(count, sizeof(*s->group));
	if (limits && s->regions && s->numbers && s->group) {
		regions_make(s, count, by_dest);
		ret = axes_make(&s->axes, s->regions, s->count);
	}
	if (!ret) {
		for (size_t i = 0; i < s->count; i++)
			limits[i] = i;
		unused = ((1ull << RL_ALARMS_MAX) - (1ull << s->alarm_count)) << AXIS_ALARMS;
		ret = search(s, limits, s->count, ((1ull << AXES) - 1) & ~unused);
	}
	free(limits);
	return ret;
}

int limits_meet(const struct rule *const *rules, size_t count, bool by_dest, struct meeting *met)
{
	struct meet_search s = {.rules = rules};
	struct pset common;
	int ret;

	if (count <= RL_GROUP_MAX)
		return 0;
	ret = search_run(&s, count, by_dest);
	if (ret == -E2BIG) {
		met->count = s.chosen_count;
		for (size_t i = 0; i < met->count; i++) {
			met->rules[i] = s.rules[s.numbers[s.chosen[i]]];
			if (pset_meet(&s.all, &s.regions[s.chosen[i]].set, &common))
				s.all = common;
		}
		met->packet = pset_packet(&s.all);
	}
	axes_clear(&s.axes);
	free(s.regions);
	free(s.numbers);
	free(s.group);
	return ret;
}
