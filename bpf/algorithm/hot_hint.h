/* SPDX-License-Identifier: GPL-2.0-only */
/* The hint of a set of the hot table: for how long a miss there has to look into the LRUs. Pure;
 * the command line only asks whether there is one.
 *
 * It has seven bits of the set's first fingerprint: how long an epoch is, a power of four between
 * 2^30 ns (a second) and 2^56 ns, and in which epoch it was set, modulo eight. It holds in that
 * epoch and the next. An epoch is longer than the debt that was put into an LRU, so no debt
 * outlives its hint; and at most about four times as long, so a hint is gone after eight times the
 * debt (two seconds at least). The first miss that sees that it has ended takes it away.
 *
 * Where nothing misses the set for six epochs, the bits may mean a later one: misses then look for
 * nothing, for two epochs at most. Clocks differ by a tick: who reads a hint goes by a time later
 * than any that it was set by.
 */
#pragma once

#include "algorithm/hot_key.h"

#define HOT_HINT_EPOCHS 8 /* that are distinguished */
#define HOT_HINT_LAST   14
#define HOT_HINT_LATE   (1ULL << (26 + RL_GRAIN_SHIFT)) /* grains; more than any tick */

/* Length of an epoch: the binary logarithm of its grains. */
static __always_inline __u32 hot_hint_log(__u64 scale)
{
	return 30 + RL_GRAIN_SHIFT - 2 + 2 * scale;
}

/* A hint for a debt of so many grains, less than 2^60 (two years). The scale is counted without a
 * branch, each of which would be a way more for the verifier. */
static __always_inline __u64 hot_hint(__u64 now, __u64 debt)
{
	__u64 scale = 1;

#pragma GCC unroll 13
	for (__u32 i = 1; i < HOT_HINT_LAST; i++)
		scale += ((1ULL << hot_hint_log(i)) - debt - HOT_HINT_LATE) >> 63;
	return scale << HOT_HINT_SCALE_SHIFT | (now >> hot_hint_log(scale)) % HOT_HINT_EPOCHS
						       << HOT_HINT_SHIFT;
}

/* How long the hint in these flags holds (grains); 0: there is none, or it has ended. */
static __always_inline __u64 hot_hint_left(__u64 flags, __u64 now)
{
	__u32 log = hot_hint_log((flags & HOT_HINT) >> HOT_HINT_SCALE_SHIFT);
	__u64 late = now + HOT_HINT_LATE;
	__u64 epochs = (2 + (flags >> HOT_HINT_SHIFT) - (late >> log)) % HOT_HINT_EPOCHS;

	if (!(flags & HOT_HINT) || !epochs || epochs > 2)
		return 0;
	return (epochs << log) - (late & ((1ULL << log) - 1));
}
