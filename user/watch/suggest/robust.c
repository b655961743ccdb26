// SPDX-License-Identifier: GPL-2.0-only
/* Doubles: their rounding is far below what the values are known to. */
#include "watch/suggest/suggest.h"

#include <math.h>
#include <stdlib.h>

#define MAD_TO_SIGMA 1.4826 /* of the normal distribution */
#define Z_MAX        3.5

static int value_compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

void values_sort(uint64_t *values, size_t count)
{
	if (count)
		qsort(values, count, sizeof(*values), value_compare);
}

uint64_t values_quantile(const uint64_t *sorted, size_t count, uint64_t low, unsigned int permille)
{
	uint64_t all = count + low, rank = (all * permille + 999) / 1000;

	if (!all)
		return 0;
	rank = rank ? rank : 1;
	return rank <= low ? 1 : sorted[rank - low - 1];
}

/* Walks from the median to both sides: the distances come in ascending order. */
static double log_mad(const uint64_t *sorted, size_t count)
{
	size_t middle = (count - 1) / 2, left = middle, right = middle + 1;
	double center = log((double)sorted[middle]), distance = 0;

	for (size_t taken = 0; taken <= (count - 1) / 2; taken++) {
		double below = left < count ? center - log((double)sorted[left]) : INFINITY;
		double above = right < count ? log((double)sorted[right]) - center : INFINITY;

		distance = below <= above ? below : above;
		if (below <= above)
			left--; /* wraps below 0, which is no index */
		else
			right++;
	}
	return distance;
}

uint64_t values_border(const uint64_t *sorted, size_t count, unsigned int least)
{
	double factor;
	size_t middle;

	if (count < ROBUST_VALUES_MIN)
		return UINT64_MAX;
	factor = exp(Z_MAX * MAD_TO_SIGMA * log_mad(sorted, count));
	factor = fmin(fmax(factor, least), ROBUST_FACTOR_MAX);
	middle = (count - 1) / 2;
	return (uint64_t)ceil(factor * (double)sorted[middle]);
}

void depth_add(struct depth *depth, uint32_t second, uint64_t packets, double leak)
{
	depth->level = fmax(depth->level - leak * (second - depth->before), 0) + (double)packets;
	depth->most = fmax(depth->most, depth->level);
	depth->before = second;
}
