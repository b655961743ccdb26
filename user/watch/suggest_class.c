// SPDX-License-Identifier: GPL-2.0-only
/* First the seconds in which all together sent unlike the rest are left out, then the sources that
 * did so in their fullest second. */
#include "suggest_class.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "estimate.h"
#include "units.h"

#define REFERENCE_PACKETS 10 /* a source with fewer says nothing of what sources send */
#define SAMPLES_OF_RATE   10 /* from so many packets a second on, rates are per second */

/* The least limits: below them no flood is told from a client that was not there. */
static const struct suggest_limit least_source = {10, NS_PER_SECOND, 50, true};
static const struct suggest_limit least_sum = {20, NS_PER_SECOND, 100, true};

const uint32_t suggest_seconds[SUGGEST_WINDOWS] = {1, 10, 60};

/* Sums by second, and scratch space for values. */
struct sums {
	struct sum {
		uint32_t second, samples;
		uint64_t packets, bytes;
	} * list;
	size_t count;
	uint64_t *values;
	uint32_t *seconds;
};

static int by_second(const void *a, const void *b)
{
	const struct sum *x = a, *y = b;

	return (x->second > y->second) - (x->second < y->second);
}

static int by_source(const void *a, const void *b)
{
	const struct class_cell *x = a, *y = b;

	if (x->source != y->source)
		return x->source < y->source ? -1 : 1;
	return (x->second > y->second) - (x->second < y->second);
}

static void sums_make(const struct class_input *input, struct sums *sums)
{
	size_t kept = 0, count = 0;

	for (size_t i = 0; i < input->count; i++)
		if (input->cells[i].packets)
			sums->list[count++] = (struct sum){.second = input->cells[i].second,
							   .samples = input->cells[i].samples,
							   .packets = input->cells[i].packets,
							   .bytes = input->cells[i].bytes};
	if (count)
		qsort(sums->list, count, sizeof(*sums->list), by_second);
	for (size_t i = 0; i < count; i++) {
		if (!kept || sums->list[kept - 1].second != sums->list[i].second) {
			sums->list[kept++] = sums->list[i];
			continue;
		}
		sums->list[kept - 1].packets += sums->list[i].packets;
		sums->list[kept - 1].bytes += sums->list[i].bytes;
		sums->list[kept - 1].samples += sums->list[i].samples;
	}
	sums->count = kept;
}

/* ---- what is left out */

static uint32_t seconds_covered(const struct sums *sums, const struct episode *episodes,
				size_t count)
{
	uint32_t covered = 0;

	for (size_t i = 0; i < sums->count; i++)
		covered += episodes_have(episodes, count, sums->list[i].second);
	return covered;
}

/* Few, and not most of the time: a flood rather than what the service is like. */
static bool is_flood(const struct sums *sums, const struct episode *episodes, size_t count)
{
	return count && 2 * seconds_covered(sums, episodes, count) < sums->count;
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

/* Sums within windows of so many seconds, into sums->values. Returns how many there are. */
static size_t windows_sum(struct sums *sums, uint32_t window)
{
	size_t count = 0;

	for (size_t i = 0; i < sums->count; i++) {
		bool goes_on =
			i && sums->list[i].second / window == sums->list[i - 1].second / window;

		count += !goes_on;
		sums->values[count - 1] =
			sums->list[i].packets + (goes_on ? sums->values[count - 1] : 0);
	}
	return count;
}

/* What the least limit lets pass is no flood. */
static uint64_t windows_border(struct sums *sums, uint32_t window)
{
	uint64_t least = window == 1 ? least_sum.burst : least_sum.amount * window, border;
	size_t count = windows_sum(sums, window);

	values_sort(sums->values, count);
	border = values_border(sums->values, count, SUGGEST_SUM_FACTOR);
	return border > least ? border : least;
}

/* The seconds that are too full, into sums->seconds: by themselves, or in 10 s that are, as these
 * vary less, so that a flood stands out. Of 10 s, those that have their share of the
 * border. */
static size_t outliers_find(struct sums *sums)
{
	uint64_t second = windows_border(sums, 1), block = windows_border(sums, SUGGEST_BLOCK);
	size_t count = 0, at = 0;

	windows_sum(sums, SUGGEST_BLOCK);
	for (size_t i = 0; i < sums->count; i++) {
		uint64_t packets = sums->list[i].packets;

		at += i && sums->list[i].second / SUGGEST_BLOCK !=
				   sums->list[i - 1].second / SUGGEST_BLOCK;
		if (packets > second ||
		    (sums->values[at] > block && packets > block / SUGGEST_BLOCK))
			sums->seconds[count++] = sums->list[i].second;
	}
	return count;
}

static void seconds_leave_out(struct class_input *input, struct sums *sums,
			      struct suggest_left_out *out)
{
	struct episode episodes[SUGGEST_EPISODES - 1];
	size_t outliers = outliers_find(sums);
	size_t count = episodes_join(sums->seconds, outliers, episodes, SUGGEST_EPISODES - 1);

	if (count >= SUGGEST_EPISODES || !is_flood(sums, episodes, count))
		return;
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

/* Calls `each` for the cells of every known source, which are ordered. */
typedef void source_fn(struct class_cell *cells, size_t count, void *arg);
static void sources_each(const struct class_input *input, source_fn *each, void *arg)
{
	size_t i = 0, end;

	for (; i < input->count && input->cells[i].source != SOURCE_FORGOTTEN; i = end) {
		for (end = i; end < input->count; end++)
			if (input->cells[end].source != input->cells[i].source)
				break;
		each(input->cells + i, end - i, arg);
	}
}

/* The most within an aligned window. */
static uint64_t cells_highest(const struct class_cell *cells, size_t count, uint32_t window)
{
	uint64_t highest = 0, sum = 0;

	for (size_t i = 0; i < count; i++) {
		bool goes_on = i && cells[i].second / window == cells[i - 1].second / window;

		sum = cells[i].packets + (goes_on ? sum : 0);
		highest = sum > highest ? sum : highest;
	}
	return highest;
}

static uint64_t cells_sum(const struct class_cell *cells, size_t count)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < count; i++)
		sum += cells[i].packets;
	return sum;
}

struct collected {
	uint64_t *values;
	size_t count;
	uint32_t window;
};

static void reference_collect(struct class_cell *cells, size_t count, void *arg)
{
	struct collected *to = arg;

	if (cells_sum(cells, count) >= REFERENCE_PACKETS)
		to->values[to->count++] = cells_highest(cells, count, 1);
}

struct outliers {
	struct sums *sums;
	size_t count;
	uint64_t border;
	struct suggest_left_out *out;
	uint32_t heaviest;
};

static void outlier_seconds(struct class_cell *cells, size_t count, void *arg)
{
	struct outliers *to = arg;

	for (size_t i = 0; i < count; i++)
		if (cells[i].packets > to->border)
			to->sums->values[to->count++] = cells[i].second;
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
	if (outliers.border < least_source.burst)
		outliers.border = least_source.burst;
	sources_each(input, outlier_seconds, &outliers);
	values_sort(sums->values, outliers.count);
	for (size_t i = 0; i < outliers.count; i++)
		sums->seconds[i] = (uint32_t)sums->values[i];
	count = episodes_join(sums->seconds, outliers.count, episodes, SUGGEST_EPISODES - 1);
	if (count >= SUGGEST_EPISODES || !is_flood(sums, episodes, count))
		return;
	outliers.out = out;
	sources_each(input, outlier_leave_out, &outliers);
	input->heaviest = outliers.heaviest;
}

/* ---- what remains */

static void peak_collect(struct class_cell *cells, size_t count, void *arg)
{
	struct collected *to = arg;
	uint64_t highest = cells_highest(cells, count, to->window);

	if (highest)
		to->values[to->count++] = highest;
}

static struct suggest_peaks peaks_of(uint64_t *values, size_t count, uint64_t low)
{
	values_sort(values, count);
	return (struct suggest_peaks){
		.median = values_quantile(values, count, low, 500),
		.most99 = values_quantile(values, count, low, 990),
		.highest = values_quantile(values, count, low, 1000),
	};
}

static void source_peaks(const struct class_input *input, struct sums *sums,
			 struct suggest_class *out)
{
	for (int w = 0; w < SUGGEST_WINDOWS; w++) {
		struct collected peaks = {.values = sums->values, .window = suggest_seconds[w]};

		sources_each(input, peak_collect, &peaks);
		out->source[w] = peaks_of(peaks.values, peaks.count, input->forgotten);
		out->sources = peaks.count + input->forgotten;
	}
}

static void sum_peaks(struct sums *sums, struct suggest_class *out)
{
	for (int w = 0; w < SUGGEST_WINDOWS; w++) {
		size_t count = windows_sum(sums, suggest_seconds[w]);

		out->sum[w] = peaks_of(sums->values, count, 0);
	}
}

static void sums_count(const struct sums *sums, struct suggest_class *out)
{
	for (size_t i = 0; i < sums->count; i++) {
		out->packets += sums->list[i].packets;
		out->bytes += sums->list[i].bytes;
		out->blocks += !i || sums->list[i].second / SUGGEST_BLOCK !=
					     sums->list[i - 1].second / SUGGEST_BLOCK;
	}
	out->seconds = (uint32_t)sums->count;
}

/* Two standard deviations of a part of samples of this mean weight. */
static uint64_t error_of(uint64_t packets, double weight)
{
	struct estimate part = {.sum = packets};
	struct estimate all = {.sum = 1, .spread = weight - 1};

	if (weight <= 1)
		return 0;
	part.spread = (double)packets * (weight - 1);
	return estimate_error(&part, &all);
}

/* ---- the limits */

/* Two digits are as many as such a number deserves. */
static uint64_t rounded_up(double number)
{
	uint64_t n = (uint64_t)ceil(number - 1e-9), step = 1;

	while (n / step >= 100)
		step *= 10;
	return (n + step - 1) / step * step;
}

static struct suggest_limit limit_make(double rate, double burst, unsigned int headroom,
				       const struct suggest_limit *least)
{
	struct suggest_limit limit = {.period_ns = NS_PER_SECOND};
	double factor = headroom / 100.0;

	limit.amount = rounded_up(rate * factor);
	limit.burst = rounded_up(burst * factor);
	limit.least = limit.amount <= least->amount && limit.burst <= least->burst;
	limit.amount = limit.amount > least->amount ? limit.amount : least->amount;
	limit.burst = limit.burst > least->burst ? limit.burst : least->burst;
	return limit;
}

/* A second in the mean of the fullest ten; of less, if no more was watched. */
static double rate_of(const struct suggest_peaks peaks[SUGGEST_WINDOWS], uint32_t seconds)
{
	uint32_t window = seconds < SUGGEST_BLOCK ? (seconds ? seconds : 1) : SUGGEST_BLOCK;

	return (double)peaks[SUGGEST_10S].highest / window;
}

struct deepest {
	double leak, most;
};

static void source_depth(struct class_cell *cells, size_t count, void *arg)
{
	struct deepest *deepest = arg;
	struct depth depth = {0};

	for (size_t i = 0; i < count; i++)
		depth_add(&depth, cells[i].second, cells[i].packets, deepest->leak);
	deepest->most = fmax(deepest->most, depth.most);
}

static void limits_make(const struct class_input *input, const struct sums *sums,
			struct suggest_class *out)
{
	struct deepest deepest = {.leak = rate_of(out->source, input->seconds)};
	double leak = rate_of(out->sum, input->seconds);
	struct depth depth = {0};
	struct suggest_limit *sum = &out->sum_limit, *source = &out->source_limit;

	sources_each(input, source_depth, &deepest);
	for (size_t i = 0; i < sums->count; i++)
		depth_add(&depth, sums->list[i].second, sums->list[i].packets, leak);
	*source = limit_make(deepest.leak, deepest.most, input->headroom, &least_source);
	*sum = limit_make(leak, depth.most, input->headroom, &least_sum);
	/* A source alone is not to meet the limit of all. */
	sum->amount = sum->amount > source->amount ? sum->amount : source->amount;
	sum->burst = sum->burst > source->burst ? sum->burst : source->burst;
}

/* ---- the confidence */

/* The most of a source in each block of 10 s with packets, then those of all together. */
static void block_highest(struct class_cell *cells, size_t count, void *arg)
{
	const struct sums *sums = arg;
	uint64_t sum = 0;
	size_t block = 0;

	for (size_t i = 0; i < count; i++) {
		uint32_t number = cells[i].second / SUGGEST_BLOCK;

		if (!cells[i].packets)
			continue;
		for (; sums->seconds[block] < number; block++)
			sum = 0;
		sum += cells[i].packets;
		if (sum > sums->values[block])
			sums->values[block] = sum;
	}
}

static size_t blocks_list(struct sums *sums)
{
	size_t count = 0;

	for (size_t i = 0; i < sums->count; i++) {
		uint32_t number = sums->list[i].second / SUGGEST_BLOCK;

		if (!count || sums->seconds[count - 1] != number)
			sums->seconds[count++] = number;
	}
	memset(sums->values, 0, count * sizeof(*sums->values));
	return count;
}

/* Blocks that would have been over what the blocks before them would have suggested. */
static unsigned int confidence_of(const struct class_input *input, struct sums *sums)
{
	uint64_t most = 0, sum = 0, sum_most = 0, kept = 0;
	size_t blocks = blocks_list(sums), at = 0;

	sources_each(input, block_highest, sums);
	for (size_t i = 0; i < blocks; i++) {
		uint64_t highest = sums->values[i];
		bool over;

		for (sum = 0;
		     at < sums->count && sums->list[at].second / SUGGEST_BLOCK == sums->seconds[i];
		     at++)
			sum += sums->list[at].packets;
		over = highest * 100 > most * input->headroom ||
		       sum * 100 > sum_most * input->headroom;
		kept += i && !over;
		most = highest > most ? highest : most;
		sum_most = sum > sum_most ? sum : sum_most;
	}
	return blocks ? (unsigned int)((kept + 1) * 1000 / (blocks + 1)) : 0;
}

/* ---- */

static int sums_alloc(const struct class_input *input, struct sums *sums)
{
	size_t count = input->count + 1;

	*sums = (struct sums){
		.list = malloc(count * sizeof(*sums->list)),
		.values = malloc(count * sizeof(*sums->values)),
		.seconds = malloc(count * sizeof(*sums->seconds)),
	};
	return sums->list && sums->values && sums->seconds ? 0 : -ENOMEM;
}

static void sums_free(struct sums *sums)
{
	free(sums->list);
	free(sums->values);
	free(sums->seconds);
}

int class_judge(struct class_input *input, struct suggest_class *out)
{
	struct sums sums;
	int ret = sums_alloc(input, &sums);

	if (!ret) {
		if (input->count)
			qsort(input->cells, input->count, sizeof(*input->cells), by_source);
		sums_make(input, &sums);
		seconds_leave_out(input, &sums, &out->left_out);
		sums_make(input, &sums);
		sources_leave_out(input, &sums, &out->left_out);
		sums_make(input, &sums);
		sums_count(&sums, out);
		source_peaks(input, &sums, out);
		sum_peaks(&sums, out);
		limits_make(input, &sums, out);
		out->source_error = error_of(out->source[SUGGEST_1S].highest, input->weight);
		out->sum_error = error_of(out->sum[SUGGEST_1S].highest, input->weight);
		out->confidence = confidence_of(input, &sums);
	}
	sums_free(&sums);
	return ret;
}
