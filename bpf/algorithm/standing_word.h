/* SPDX-License-Identifier: GPL-2.0-only */
/* Until when a refusal stands, and by which rule's counters, in one word that compares like a time.
 * Pure; compiles for BPF and for the host.
 *
 * Times are grains. The low bits are the counters' slot, so that the word is up to 0.52 ms early;
 * but of a clock that only tells ticks (of 0.6 ms or more) it is at least until the next one.
 */
#ifndef RLCTL_STANDING_WORD_H
#define RLCTL_STANDING_WORD_H

#include <stdbool.h>

#include "rlctl_abi.h"

#define STANDING_GRAINS (1ULL << RL_STANDING_SLOT_BITS) /* 0.26 ms */
#define STANDING_SLOT   (STANDING_GRAINS - 1)

/* The word of what is refused at every time before `until`, which is later than `now`. It is
 * refused while the word is later than the time, as of every bucket's word. */
static __always_inline __u64 standing_word(__u64 until, __u64 now, bool ticks, __u32 slot)
{
	__u64 early = until - STANDING_GRAINS, next = now + STANDING_GRAINS;

	if (ticks && (__s64)(early - next) < 0)
		early = next;
	return (early & ~STANDING_SLOT) | slot;
}

static __always_inline __u32 standing_slot(__u64 word)
{
	return word & STANDING_SLOT;
}

#endif
