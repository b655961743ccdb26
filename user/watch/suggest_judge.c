// SPDX-License-Identifier: GPL-2.0-only
/* The traffic that remains without floods: its peaks, the limits that hold them, and how sure they
 * are. */
#include "watch/suggest_judge.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "watch/estimate.h"
#include "watch/suggest_flood.h"

const uint32_t suggest_seconds[SUGGEST_WINDOWS] = {1, 10, 60};

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

static void errors_make(const struct class_input *input, struct suggest_class *out)
{
	for (int w = 0; w < SUGGEST_WINDOWS; w++) {
		out->source_error[w] = error_of(out->source[w].highest, input->weight);
		out->sum_error[w] = error_of(out->sum[w].highest, input->weight);
	}
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
	struct suggest_limit limit = {
		.period_ns = NS_PER_SECOND,
		.depth = (uint64_t)ceil(burst - 1e-9),
	};
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
	*source = limit_make(deepest.leak, deepest.most, input->headroom, &suggest_least_source);
	*sum = limit_make(leak, depth.most, input->headroom, &suggest_least_sum);
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

static int by_source(const void *a, const void *b)
{
	const struct class_cell *x = a, *y = b;

	if (x->source != y->source)
		return x->source < y->source ? -1 : 1;
	return (x->second > y->second) - (x->second < y->second);
}

int class_judge(struct class_input *input, struct suggest_class *out)
{
	struct sums sums;
	int ret = sums_alloc(input, &sums);

	if (!ret) {
		if (input->count)
			qsort(input->cells, input->count, sizeof(*input->cells), by_source);
		floods_leave_out(input, &sums, &out->left_out);
		sums_count(&sums, out);
		source_peaks(input, &sums, out);
		sum_peaks(&sums, out);
		limits_make(input, &sums, out);
		errors_make(input, out);
		out->confidence = confidence_of(input, &sums);
	}
	sums_free(&sums);
	return ret;
}
