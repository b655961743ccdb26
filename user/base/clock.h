/* SPDX-License-Identifier: GPL-2.0-only */
/* The kernel's clocks. */
#ifndef RLCTL_CLOCK_H
#define RLCTL_CLOCK_H

#include <stdint.h>
#include <time.h>

/* CLOCK_MONOTONIC, CLOCK_REALTIME, CLOCK_BOOTTIME, ... in nanoseconds. */
uint64_t clock_ns(clockid_t clock);

#endif
