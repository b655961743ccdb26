/* SPDX-License-Identifier: GPL-2.0-only */
/* Order statistics that a minority of wild values cannot move. Pure.
 *
 * Median and median absolute deviation have a breakdown point of one half (F. R. Hampel, "The
 * influence curve and its role in robust estimation", 1974): until half of the values are those of
 * a flood, neither follows it. Rates are compared by their logarithm, since sources differ by
 * factors.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* In ascending order. */
void values_sort(uint64_t *values, size_t count);

/* The value at rank ceil(count * permille / 1000) of sorted values, before which there are `low`
 * further ones that are taken as 1. 0 without values. */
uint64_t values_quantile(const uint64_t *sorted, size_t count, uint64_t low, unsigned int permille);

/* A factor above the median from which on a value is unlike the others: exp(3.5 * 1.4826 * MAD) of
 * the logarithms (the modified z-score of B. Iglewicz and D. C. Hoaglin, "How to Detect and Handle
 * Outliers", 1993), at least `least`, at most ROBUST_FACTOR_MAX. Values are > 0 and sorted. Returns
 * the largest value that is not beyond it; UINT64_MAX with fewer than ROBUST_VALUES_MIN values. */
#define ROBUST_FACTOR_MAX 1000u
#define ROBUST_VALUES_MIN 8u
uint64_t values_border(const uint64_t *sorted, size_t count, unsigned int least);

/* How deep a bucket gets that leaks `leak` a second, by what came in each second: what comes within
 * one comes at once. */
struct depth {
	double level, most;
	uint32_t before; /* second */
};
void depth_add(struct depth *depth, uint32_t second, uint64_t packets, double leak);
