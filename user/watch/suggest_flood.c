// SPDX-License-Identifier: GPL-2.0-only
/* A flood that is there for so long that it is not left out: most of what was seen may be its. */
#include <stdlib.h>

#include "watch/robust.h"
#include "watch/suggest_limits.h"

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

/* Packets in the seconds that are quiet; 0: too few seconds. The first and the last, which may be
 * parts, do not count. */
static uint64_t usual_of(struct suggest_input *input, uint64_t silent)
{
	size_t count = 0;

	for (size_t i = 1; i + 1 < input->sum_count; i++)
		input->values[count++] = input->sums[i].packets;
	values_sort(input->values, count);
	return values_quantile(input->values, count, silent, QUIET);
}

void flood_find(struct suggest_input *input, struct suggest_flood *out)
{
	size_t watched = (size_t)input->options.seconds + 1;
	uint64_t silent = watched > input->all_seconds ? watched - input->all_seconds : 0;
	uint64_t usual = usual_of(input, silent), sum = 0;
	uint64_t border = FLOOD_FACTOR * usual > FLOOD_LEAST ? FLOOD_FACTOR * usual : FLOOD_LEAST;
	struct suggest_flood found = {.usual = usual, .border = usual ? border : 0};
	bool jump = false;

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
