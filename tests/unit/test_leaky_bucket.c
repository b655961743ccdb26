// SPDX-License-Identifier: GPL-2.0-only
/* The leaky bucket as a meter (level + c <= queue) against the exact bucket of bucket_model.h,
 * whose debt is the level: every verdict, queues of packets, bytes and time.
 */
#include "models.h"

static const char *const limits[] = {
	"leaky-bucket 1/day",
	"leaky-bucket 3/second",
	"leaky-bucket 7/13s queue 5",
	"leaky-bucket 1000/second",
	"leaky-bucket 1000/second queue 100ms",
	"leaky-bucket 333/second queue 1h",
	"leaky-bucket 46/minute queue 1634ms",
	"leaky-bucket 7/13s queue 33333333333ns",
	"leaky-bucket 97000003/second queue 1us",
	"leaky-bucket 97000003/second queue 64",
	"leaky-bucket 100m/second queue 10",
	"leaky-bucket 64kbit",
	"leaky-bucket 64kbit queue 2s",
	"leaky-bucket 12345678byte/s queue 64kibyte",
	"leaky-bucket 12345678byte/s queue 777us",
	"leaky-bucket 10gbit queue 1ms",
	"leaky-bucket 400gbit queue 9014byte",
	"leaky-bucket 400gbit queue 1h",
};

ROWS(walk_test, limits, row)
{
	struct rl_limit limit = limit_of(*row);

	assert_int_equal(limit.algorithm, RL_LEAKY_BUCKET);
	random_start(20240741);
	for (size_t i = 0; i < CLOCKS; i++)
		walk(&limit, clocks[i], 50000);
}
