// SPDX-License-Identifier: GPL-2.0-only
/* The harnesses of tests, and those that are open while a program's tests run: HARNESS in
 * harness.h. */
#include "harness.h"

#include <stdlib.h>

struct harness *harness_must_open(const struct harness_options *options)
{
	struct harness *h = harness_open(options);

	assert_non_null(h);
	return h;
}

#define HARNESSES_MAX 4

static struct {
	struct harness **h;
	const struct harness_options *options;
} harnesses[HARNESSES_MAX];
static size_t added;

static int harnesses_open(void **state)
{
	(void)state;
	for (size_t i = 0; i < added; i++) {
		*harnesses[i].h = harness_open(harnesses[i].options);
		if (!*harnesses[i].h)
			return -1;
	}
	return 0;
}

static int harnesses_close(void **state)
{
	(void)state;
	for (size_t i = 0; i < added; i++)
		harness_close(*harnesses[i].h);
	return 0;
}

void harness_add(struct harness **h, const struct harness_options *options)
{
	if (added == HARNESSES_MAX)
		abort();
	if (added == 0)
		fixture_add(harnesses_open, harnesses_close);
	harnesses[added].h = h;
	harnesses[added++].options = options;
}
