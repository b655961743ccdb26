// SPDX-License-Identifier: GPL-2.0-only
/* Reads the kernel's clocks. */
#include "base/clock.h"

#include "base/units.h"

uint64_t clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * NS_PER_SECOND + (uint64_t)now.tv_nsec;
}

struct clock_pair clock_pair(void)
{
	return (struct clock_pair){.realtime_ns = clock_ns(CLOCK_REALTIME),
				   .monotonic_ns = clock_ns(CLOCK_MONOTONIC)};
}
