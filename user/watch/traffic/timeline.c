// SPDX-License-Identifier: GPL-2.0-only
/* Bins that widen. */
#include "watch/traffic/timeline.h"

#include <stdlib.h>
#include <string.h>

#include "base/units.h"

/* Each is a multiple of the one before it. The last one spans all times of 64 bits. */
static const uint64_t widths[] = {
	NS_PER_MS,          2 * NS_PER_MS,      10 * NS_PER_MS,   20 * NS_PER_MS,
	100 * NS_PER_MS,    200 * NS_PER_MS,    NS_PER_SECOND,    2 * NS_PER_SECOND,
	10 * NS_PER_SECOND, 30 * NS_PER_SECOND, NS_PER_MINUTE,    2 * NS_PER_MINUTE,
	10 * NS_PER_MINUTE, 30 * NS_PER_MINUTE, NS_PER_HOUR,      2 * NS_PER_HOUR,
	6 * NS_PER_HOUR,    12 * NS_PER_HOUR,   NS_PER_DAY,       2 * NS_PER_DAY,
	10 * NS_PER_DAY,    20 * NS_PER_DAY,    100 * NS_PER_DAY, 200 * NS_PER_DAY,
	1000 * NS_PER_DAY,
};
_Static_assert(1000 * NS_PER_DAY > UINT64_MAX / (TIMELINE_BINS - 1), "spans all times");

struct series *timeline_series(struct timeline *timeline)
{
	struct series *series = calloc(1, sizeof(*series));

	if (!series)
		return NULL;
	series->next = timeline->all;
	timeline->all = series;
	return series;
}

void timeline_clear(struct timeline *timeline)
{
	while (timeline->all) {
		struct series *series = timeline->all;

		timeline->all = series->next;
		free(series);
	}
	memset(timeline, 0, sizeof(*timeline));
}

uint64_t timeline_width_ns(const struct timeline *timeline)
{
	return widths[timeline->step];
}

uint64_t timeline_begin_ns(const struct timeline *timeline, size_t bin)
{
	return (timeline->first + bin) * timeline_width_ns(timeline);
}

/* No bin moves past one that is still to be moved. */
static void timeline_widen(struct timeline *timeline)
{
	uint64_t ratio = widths[timeline->step + 1] / widths[timeline->step];
	uint64_t first = timeline->first / ratio;
	uint64_t last = (timeline->first + timeline->count - 1) / ratio;

	for (struct series *series = timeline->all; series; series = series->next)
		for (size_t i = 0; i < timeline->count; i++) {
			struct rl_amount amount = series->at[i];

			series->at[i] = (struct rl_amount){0};
			amount_add(&series->at[(timeline->first + i) / ratio - first], &amount);
		}
	timeline->first = first;
	timeline->count = last - first + 1;
	timeline->step++;
}

size_t timeline_bin(struct timeline *timeline, uint64_t time_ns)
{
	for (;;) {
		uint64_t number = time_ns / timeline_width_ns(timeline), first, last;

		if (!timeline->count) {
			timeline->first = number;
			timeline->count = 1;
		}
		first = number < timeline->first ? number : timeline->first;
		last = timeline->first + timeline->count - 1;
		last = number > last ? number : last;
		if (last - first >= TIMELINE_BINS) {
			timeline_widen(timeline);
			continue;
		}
		for (struct series *of = timeline->all; of && first < timeline->first;
		     of = of->next) {
			size_t by = timeline->first - first;

			memmove(of->at + by, of->at, timeline->count * sizeof(of->at[0]));
			memset(of->at, 0, by * sizeof(of->at[0]));
		}
		timeline->first = first;
		timeline->count = last - first + 1;
		return number - first;
	}
}
