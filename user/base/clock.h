/* SPDX-License-Identifier: GPL-2.0-only */
/* The kernel's clocks. */
#pragma once

#include <stdint.h>
#include <time.h>

/* CLOCK_MONOTONIC, CLOCK_REALTIME, CLOCK_BOOTTIME, ... in nanoseconds. */
uint64_t clock_ns(clockid_t clock);

/* One moment on two clocks. */
struct clock_pair {
	uint64_t realtime_ns, monotonic_ns;
};
struct clock_pair clock_pair(void);

/* CLOCK_REALTIME of a moment of CLOCK_MONOTONIC, as the clocks stand to each other in the pair. */
static inline uint64_t clock_realtime(const struct clock_pair *pair, uint64_t monotonic_ns)
{
	return pair->realtime_ns - pair->monotonic_ns + monotonic_ns;
}
