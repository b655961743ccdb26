/* SPDX-License-Identifier: GPL-2.0-only */
/* Messages of these programs about wrong words and failures, and how they read numbers and sum up
 * measurements.
 */
#pragma once

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FAILED = 1, EXIT_USAGE = 2 };

__attribute__((noreturn)) static inline void usage_fail(const char *what, const char *usage)
{
	fprintf(stderr, "%s: %s\n%s", program_invocation_short_name, what, usage);
	exit(EXIT_USAGE);
}

static inline int failed(const char *what, int err)
{
	fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, what, strerror(-err));
	return err;
}

/* A decimal number from 1 to `max`; 0: the text is none. */
static inline uint64_t number_read(const char *text, uint64_t max)
{
	unsigned long long n;
	char *end;

	errno = 0;
	n = strtoull(text, &end, 10);
	return errno || *text < '0' || *text > '9' || *end || n > max ? 0 : n;
}

static inline uint64_t number_of(const char *text, uint64_t max, const char *usage)
{
	uint64_t n = number_read(text, max);

	if (!n)
		usage_fail("a number is wrong", usage);
	return n;
}

static inline int figure_order(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* The mean of the lower half of them, or of the only one. */
static inline double lower_mean(double *figures, uint64_t count)
{
	uint64_t half = (count + 1) / 2;
	double sum = 0;

	qsort(figures, count, sizeof(*figures), figure_order);
	for (uint64_t i = 0; i < half; i++)
		sum += figures[i];
	return sum / (double)half;
}
