// SPDX-License-Identifier: GPL-2.0-only
/* First the seconds in which all together sent unlike the rest are left out, then the sources that
 * did so in their fullest second. */
#include "watch/suggest_flood.h"

#include <string.h>

#include "base/units.h"

#define REFERENCE_PACKETS 10 /* a source with fewer says nothing of what sources send */

const struct suggest_limit suggest_least_source = {10, NS_PER_SECOND, 50, true, 0};
const struct suggest_limit suggest_least_sum = {20, NS_PER_SECOND, 100, true, 0};

static uint32_t seconds_covered(const struct sums *sums, const struct episode *episodes,
				size_t count)
{
	uint32_t covered = 0;

	for (size_t i = 0; i < sums->count; i++)
		covered += episodes_have(episodes, count, sums->list[i].second);
	return covered;
}

/* Few, and not most of the time: a flood rather than what the service is like. */
static bool is_flood(const struct class_input *input, const struct sums *sums,
		     const struct episode *episodes, size_t count)
{
	return count && count < SUGGEST_EPISODES &&
	       2 * seconds_covered(sums, episodes, count) < input->whole->seconds;
}

static void cell_leave_out(struct class_cell *cell, struct suggest_left_out *out)
{
	if (!out->packets || cell->second < out->first)
		out->first = cell->second;
	if (!out->packets || cell->second > out->last)
		out->last = cell->second;
	out->packets += cell->packets;
	cell->packets = cell->bytes = 0;
}

/* Traffic that the least limit lets pass is no flood. */
static uint64_t windows_border(struct sums *sums, uint32_t window)
{
	uint64_t least = window == 1 ? suggest_least_sum.burst : suggest_least_sum.amount * window;
	size_t count = windows_sum(sums, window);
	uint64_t border;

	values_sort(sums->values, count);
	border = values_border(sums->values, count, SUGGEST_SUM_FACTOR);
	return border > least ? border : least;
}

int whole_make(struct class_input *input, struct class_whole *out)
{
	struct sums sums;
	int ret = sums_alloc(input, &sums);

	if (!ret) {
		sums_make(input, &sums);
		*out = (struct class_whole){
			.seconds = (uint32_t)sums.count,
			.second = windows_border(&sums, 1),
			.block = windows_border(&sums, SUGGEST_BLOCK),
		};
	}
	sums_free(&sums);
	return ret;
}

static uint64_t least_of(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* In a service that is silent for most of the time, a flood may be most of what there is: what
 * would be one among all packets is one there. */
static struct class_whole borders_of(const struct class_input *input, struct sums *sums)
{
	const struct class_whole *whole = input->whole;
	struct class_whole border = {
		.second = windows_border(sums, 1),
		.block = windows_border(sums, SUGGEST_BLOCK),
	};

	if (2 * sums->count > whole->seconds)
		return border;
	border.second = least_of(border.second, whole->second);
	border.block = least_of(border.block, whole->block);
	return border;
}

/* The seconds that are too full, into sums->seconds: by themselves, or in 10 s that are, as these
 * vary less, so that a flood stands out. Those of 10 s that have their share of the
 * border. `highest`: the fullest. */
static size_t outliers_find(const struct class_input *input, struct sums *sums, uint64_t *highest)
{
	struct class_whole border = borders_of(input, sums);
	size_t count = 0, at = 0;

	*highest = 0;
	windows_sum(sums, SUGGEST_BLOCK);
	for (size_t i = 0; i < sums->count; i++) {
		uint64_t packets = sums->list[i].packets;

		at += i && sums->list[i].second / SUGGEST_BLOCK !=
				   sums->list[i - 1].second / SUGGEST_BLOCK;
		if (packets <= border.second &&
		    (sums->values[at] <= border.block || packets <= border.block / SUGGEST_BLOCK))
			continue;
		sums->seconds[count++] = sums->list[i].second;
		*highest = packets > *highest ? packets : *highest;
	}
	return count;
}

/* Bursts that are no flood, as they came back or lasted. */
static void burst_keep(struct suggest_left_out *out, size_t episodes, uint64_t highest)
{
	if (!episodes || highest <= out->kept_highest)
		return;
	out->kept_episodes = episodes;
	out->kept_highest = highest;
}

static void seconds_leave_out(struct class_input *input, struct sums *sums,
			      struct suggest_left_out *out)
{
	struct episode episodes[SUGGEST_EPISODES - 1];
	uint64_t highest;
	size_t outliers = outliers_find(input, sums, &highest);
	size_t count = episodes_join(sums->seconds, outliers, episodes, SUGGEST_EPISODES - 1);

	if (!is_flood(input, sums, episodes, count)) {
		burst_keep(out, count, highest);
		return;
	}
	for (size_t i = 0; i < count; i++) {
		/* Its first and last second are partly of the flood. */
		episodes[i].first -= episodes[i].first > 0;
		episodes[i].last++;
	}
	memcpy(out->episodes, episodes, sizeof(episodes));
	out->episode_count = count;
	for (size_t i = 0; i < input->count; i++)
		if (input->cells[i].packets &&
		    episodes_have(episodes, count, input->cells[i].second))
			cell_leave_out(&input->cells[i], out);
}

static void reference_collect(struct class_cell *cells, size_t count, void *arg)
{
	struct collected *to = arg;

	if (cells_sum(cells, count) >= REFERENCE_PACKETS)
		to->values[to->count++] = cells_highest(cells, count, 1);
}

struct outliers {
	struct sums *sums;
	size_t count;
	uint64_t border, highest;
	struct suggest_left_out *out;
	uint32_t heaviest;
};

static void outlier_seconds(struct class_cell *cells, size_t count, void *arg)
{
	struct outliers *to = arg;

	for (size_t i = 0; i < count; i++) {
		uint64_t packets = cells[i].packets;

		if (packets <= to->border)
			continue;
		to->sums->values[to->count++] = cells[i].second;
		to->highest = packets > to->highest ? packets : to->highest;
	}
}

static void outlier_leave_out(struct class_cell *cells, size_t count, void *arg)
{
	struct outliers *to = arg;
	uint64_t highest = cells_highest(cells, count, 1);

	if (highest <= to->border)
		return;
	to->out->sources++;
	if (highest > to->out->heaviest_packets) {
		to->out->heaviest_packets = highest;
		to->heaviest = cells->source;
	}
	for (size_t i = 0; i < count; i++)
		if (cells[i].packets)
			cell_leave_out(&cells[i], to->out);
}

static void sources_leave_out(struct class_input *input, struct sums *sums,
			      struct suggest_left_out *out)
{
	struct collected peaks = {.values = sums->values};
	struct outliers outliers = {.sums = sums};
	struct episode episodes[SUGGEST_EPISODES - 1];
	size_t count;

	sources_each(input, reference_collect, &peaks);
	values_sort(peaks.values, peaks.count);
	outliers.border = values_border(peaks.values, peaks.count, SUGGEST_SOURCE_FACTOR);
	if (outliers.border < suggest_least_source.burst)
		outliers.border = suggest_least_source.burst;
	sources_each(input, outlier_seconds, &outliers);
	values_sort(sums->values, outliers.count);
	for (size_t i = 0; i < outliers.count; i++)
		sums->seconds[i] = (uint32_t)sums->values[i];
	count = episodes_join(sums->seconds, outliers.count, episodes, SUGGEST_EPISODES - 1);
	if (!is_flood(input, sums, episodes, count)) {
		burst_keep(out, count, outliers.highest);
		return;
	}
	outliers.out = out;
	sources_each(input, outlier_leave_out, &outliers);
	input->heaviest = outliers.heaviest;
}

void floods_leave_out(struct class_input *input, struct sums *sums, struct suggest_left_out *out)
{
	sums_make(input, sums);
	seconds_leave_out(input, sums, out);
	sums_make(input, sums);
	sources_leave_out(input, sums, out);
	sums_make(input, sums);
}
