// SPDX-License-Identifier: GPL-2.0-only
/* The limits of a service. All sources together are a run of cells as one source is, so both are
 * counted by the same functions. */

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "watch/suggest/suggest.h"

/* A flood exceeds the median by these factors at least: the second of a service, the fullest second
 * of a source. Sources with one NAT are 20 times the median without being one. */
#define SUM_FACTOR        8u
#define SOURCE_FACTOR     32u

#define REFERENCE_PACKETS 10 /* a source with fewer says nothing of what sources send */

const uint32_t suggest_seconds[SUGGEST_WINDOWS] = {1, 10, 60};

/* Below them no flood can be distinguished from a client that was not there. */
static const struct suggest_limit least_source = {10, NS_PER_SECOND, 50, true, 0};
static const struct suggest_limit least_sum = {20, NS_PER_SECOND, 100, true, 0};

static uint64_t more_of(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* ---- runs of cells */

/* Packets in each aligned window, into `values`; returns how many windows have some. */
static size_t windows_of(const struct seen_cell *cells, size_t count, uint32_t window,
			 uint64_t *values)
{
	uint32_t before = UINT32_MAX;
	size_t found = 0;

	for (size_t i = 0; i < count; i++) {
		if (cells[i].second / window != before)
			values[found++] = 0;
		before = cells[i].second / window;
		values[found - 1] += cells[i].packets;
	}
	return found;
}

/* Leaves the values as they are. */
static uint64_t highest_of(const struct seen_cell *cells, size_t count, uint32_t window)
{
	uint32_t before = UINT32_MAX;
	uint64_t highest = 0, sum = 0;

	for (size_t i = 0; i < count; i++) {
		sum = cells[i].packets + (cells[i].second / window == before ? sum : 0);
		before = cells[i].second / window;
		highest = more_of(highest, sum);
	}
	return highest;
}

static double depth_of(const struct seen_cell *cells, size_t count, double leak)
{
	struct depth depth = {0};

	for (size_t i = 0; i < count; i++)
		depth_add(&depth, cells[i].second, cells[i].packets, leak);
	return depth.most;
}

static uint64_t packets_of(const struct seen_cell *cells, size_t count)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < count; i++)
		sum += cells[i].packets;
	return sum;
}

/* How many cells from the i-th on are of the same source; 0 after the last source that was not
 * forgotten. */
static size_t source_run(const struct suggest_input *input, size_t i)
{
	return i < input->count && !input->cells[i].is_sum
		       ? cells_run(input->cells + i, input->count - i)
		       : 0;
}

static void sums_make(struct suggest_input *input)
{
	for (size_t i = 0; i < input->count; i++)
		input->sums[i] = (struct seen_cell){.second = input->cells[i].second,
						    .packets = input->cells[i].packets,
						    .bytes = input->cells[i].bytes};
	input->sum_count = cells_merge(input->sums, input->count);
}

/* ---- floods */

/* Traffic that the least limit lets pass is no flood. */
static uint64_t sum_border(struct suggest_input *input)
{
	size_t count = windows_of(input->sums, input->sum_count, 1, input->values);

	values_sort(input->values, count);
	return more_of(values_border(input->values, count, SUM_FACTOR), least_sum.burst);
}

void borders_make(struct suggest_input *input)
{
	sums_make(input);
	input->all_seconds = input->sum_count;
	input->all_border = sum_border(input);
}

/* Outliers that are there for half of the time are how the service is. */
static bool is_usual(const struct suggest_input *input, size_t seconds)
{
	return 2 * seconds >= input->all_seconds;
}

static void cells_leave_out(const struct seen_cell *cells, size_t count,
			    struct suggest_left_out *out)
{
	for (size_t i = 0; i < count; i++) {
		uint32_t second = cells[i].second;

		out->first = out->packets && out->first < second ? out->first : second;
		out->last = out->packets && out->last > second ? out->last : second;
		out->packets += cells[i].packets;
	}
}

/* Whether the second is too full, or partly of the flood before or after it. */
static bool is_flooded(const struct suggest_input *input, uint32_t second)
{
	for (uint32_t near = second - (second > 0); near <= second + 1; near++) {
		const struct seen_cell key = {.second = near};
		const struct seen_cell *sum =
			bsearch(&key, input->sums, input->sum_count, sizeof(*sum), cell_compare);

		if (sum && sum->left_out)
			return true;
	}
	return false;
}

static void seconds_leave_out(struct suggest_input *input, struct suggest_left_out *out)
{
	uint64_t border = sum_border(input);
	size_t seconds = 0, kept = 0;

	/* In a service that is silent for most of the time, a flood may be most of what there is:
	 * what would be one among all packets is one there. */
	if (2 * input->sum_count <= input->all_seconds && input->all_border < border)
		border = input->all_border;
	for (size_t i = 0; i < input->sum_count; i++) {
		input->sums[i].left_out = input->sums[i].packets > border;
		seconds += input->sums[i].left_out;
	}
	if (!seconds || is_usual(input, seconds))
		return;
	for (size_t i = 0; i < input->count; i++)
		if (is_flooded(input, input->cells[i].second))
			cells_leave_out(input->cells + i, 1, out);
		else
			input->cells[kept++] = input->cells[i];
	input->count = kept;
}

static void sources_leave_out(struct suggest_input *input, struct suggest_left_out *out)
{
	struct seen_cell *cells = input->cells;
	uint64_t border, highest;
	size_t count = 0, kept = 0, run;

	for (size_t i = 0; (run = source_run(input, i)); i += run)
		if (packets_of(cells + i, run) >= REFERENCE_PACKETS)
			input->values[count++] = highest_of(cells + i, run, 1);
	values_sort(input->values, count);
	border = values_border(input->values, count, SOURCE_FACTOR);
	border = more_of(border, least_source.burst);
	for (size_t i = 0; i < input->count; i += run) {
		size_t over = 0;

		run = source_run(input, i);
		for (size_t n = 0; n < run; n++)
			over += cells[i + n].packets > border;
		if (!run) /* only sums of forgotten sources follow */
			run = input->count - i;
		if (!over || is_usual(input, over)) {
			memmove(cells + kept, cells + i, run * sizeof(*cells));
			kept += run;
			continue;
		}
		cells_leave_out(cells + i, run, out);
		out->sources++;
		highest = highest_of(cells + i, run, 1);
		if (highest <= out->heaviest_packets)
			continue;
		out->heaviest_packets = highest;
		cell_address(cells + i, out->heaviest);
	}
	input->count = kept;
}

/* ---- the limits */

/* By the values in the scratch space, before which there are `low` that are taken as 1. */
static struct suggest_peaks peaks_of(struct suggest_input *input, size_t count, uint64_t low)
{
	uint64_t *values = input->values;
	double spread = input->weight - 1; /* of a sample, at two standard deviations */
	struct suggest_peaks peaks;

	values_sort(values, count);
	peaks = (struct suggest_peaks){
		.median = values_quantile(values, count, low, 500),
		.most99 = values_quantile(values, count, low, 990),
		.highest = values_quantile(values, count, low, 1000),
	};
	if (spread > 0)
		peaks.error =
			estimate_error(&(struct estimate){.sum = peaks.highest,
							  .spread = (double)peaks.highest * spread},
				       &(struct estimate){.sum = 1, .spread = spread});
	return peaks;
}

static void peaks_make(struct suggest_input *input, struct suggest_class *out)
{
	const struct seen_cell *cells = input->cells;
	uint64_t forgotten = input->forgotten, highest;
	size_t count;

	for (int w = 0; w < SUGGEST_WINDOWS; w++) {
		count = 0;
		for (size_t i = 0, run; (run = source_run(input, i)); i += run) {
			highest = highest_of(cells + i, run, suggest_seconds[w]);
			if (highest)
				input->values[count++] = highest;
		}
		out->sources = count + forgotten;
		out->source[w] = peaks_of(input, count, forgotten);
		count = windows_of(input->sums, input->sum_count, suggest_seconds[w],
				   input->values);
		out->sum[w] = peaks_of(input, count, 0);
	}
}

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
	double factor = headroom / 100.0;
	struct suggest_limit limit = {
		.amount = rounded_up(rate * factor),
		.period_ns = NS_PER_SECOND,
		.burst = rounded_up(burst * factor),
		.depth = (uint64_t)ceil(burst - 1e-9),
	};

	limit.least = limit.amount <= least->amount && limit.burst <= least->burst;
	limit.amount = more_of(limit.amount, least->amount);
	limit.burst = more_of(limit.burst, least->burst);
	return limit;
}

/* A second in the mean of the fullest ten; of less, if no more was watched. */
static double rate_of(const struct suggest_input *input,
		      const struct suggest_peaks peaks[SUGGEST_WINDOWS])
{
	uint32_t seconds = input->options.seconds;
	uint32_t window = seconds < SEEN_BLOCK ? (seconds ? seconds : 1) : SEEN_BLOCK;

	return (double)peaks[SUGGEST_10S].highest / window;
}

static void limits_make(struct suggest_input *input, struct suggest_class *out)
{
	double source_leak = rate_of(input, out->source), sum_leak = rate_of(input, out->sum);
	struct suggest_limit *sum = &out->sum_limit, *source = &out->source_limit;
	unsigned int headroom = input->options.headroom;
	double deepest = 0;

	for (size_t i = 0, run; (run = source_run(input, i)); i += run)
		deepest = fmax(deepest, depth_of(input->cells + i, run, source_leak));
	*source = limit_make(source_leak, deepest, headroom, &least_source);
	*sum = limit_make(sum_leak, depth_of(input->sums, input->sum_count, sum_leak), headroom,
			  &least_sum);
	/* A source alone is not to meet the limit of all. */
	sum->amount = more_of(sum->amount, source->amount);
	sum->burst = more_of(sum->burst, source->burst);
}

void class_judge(struct suggest_input *input, struct suggest_class *out)
{
	/* First the seconds in which all together sent unlike the rest, then the sources that did
	 * so in their fullest second: forged ones, which send one packet each, would otherwise be
	 * the median. */
	sums_make(input);
	seconds_leave_out(input, &out->left_out);
	sources_leave_out(input, &out->left_out);
	sums_make(input);
	out->seconds = (uint32_t)input->sum_count;
	for (size_t i = 0; i < input->sum_count; i++) {
		out->packets += input->sums[i].packets;
		out->bytes += input->sums[i].bytes;
	}
	peaks_make(input, out);
	limits_make(input, out);
}

/* A flood that is there for so long that it is not left out: most of what was seen may be its. */

#define FLOOD_FACTOR 8u    /* above the quiet seconds, and within a second or two */
#define FLOOD_LEAST  1000u /* packets a second: less harms no machine */
#define FLOOD_PART   4u    /* of all seconds */
#define QUIET        100   /* per mille of the seconds, at least */

static uint64_t packets_in(const struct suggest_input *input, uint32_t second)
{
	const struct seen_cell key = {.second = second};
	const struct seen_cell *sum =
		bsearch(&key, input->sums, input->sum_count, sizeof(*sum), cell_compare);

	return sum ? sum->packets : 0;
}

/* Traffic that grows by the hour does not jump. */
static bool jumps(const struct suggest_input *input, const struct seen_cell *sum)
{
	uint64_t before = sum->second ? packets_in(input, sum->second - 1) : sum->packets;
	uint64_t after = packets_in(input, sum->second + 1);

	return before <= sum->packets / FLOOD_FACTOR || after <= sum->packets / FLOOD_FACTOR;
}

void flood_find(struct suggest_input *input, struct suggest_flood *out)
{
	size_t watched = (size_t)input->options.seconds + 1;
	uint64_t silent = watched > input->all_seconds ? watched - input->all_seconds : 0;
	struct suggest_flood found = {0};
	uint64_t usual, border, sum = 0;
	size_t count = 0;
	bool jump = false;

	/* Packets in the seconds that are quiet; 0: too few seconds. The first and the last, which
	 * may be parts, do not count. */
	for (size_t i = 1; i + 1 < input->sum_count; i++)
		input->values[count++] = input->sums[i].packets;
	values_sort(input->values, count);
	usual = found.usual = values_quantile(input->values, count, silent, QUIET);
	border = more_of(FLOOD_FACTOR * usual, FLOOD_LEAST);
	found.border = usual ? border : 0;
	for (size_t i = 1; usual && i + 1 < input->sum_count; i++) {
		const struct seen_cell *of = &input->sums[i];

		if (of->packets <= border)
			continue;
		found.first = found.seconds ? found.first : of->second;
		found.last = of->second;
		found.seconds++;
		sum += of->packets;
		jump |= jumps(input, of);
	}
	out->border = found.border;
	if (!jump || FLOOD_PART * found.seconds < input->all_seconds)
		return;
	found.rate = sum / found.seconds;
	*out = found;
}
