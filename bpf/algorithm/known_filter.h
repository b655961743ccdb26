/* SPDX-License-Identifier: GPL-2.0-only */
/* Which sources may be known (known_source.h): a few bits of each, in front of the hot table. Pure;
 * compiles for BPF and for the host.
 *
 * Time is cut into epochs of 103 s. A source that becomes known, or stays so, sets its bit in the
 * plane of the epoch. Epoch e has plane e % 4; the upper eight bits of a plane are the epoch's
 * number, so that no plane is ever cleared: the first writer of an epoch replaces what was there.
 *
 * A source is known for 300 s, less than three epochs, so its bit is in the plane of the epoch or
 * in one of the three before: where none has it, the source is unknown for certain. The next epoch
 * takes over the oldest plane 9 s after the last source of that is forgotten.
 * Clocks of CPUs differ by a tick: a reader takes the plane of the next epoch as well. A plane
 * that nobody wrote in for 7 hours may be taken for a new one, which costs a look at the slot.
 *
 * Race: a CPU that stood still for five minutes between its clock and its plane takes away what
 * others wrote there meanwhile.
 */
#pragma once

#include <stdbool.h>

#include "algorithm/once.h"
#include "rlctl_abi.h"

#define KNOWN_NS          300000000000ULL /* since the last packet that passed */
#define KNOWN_RIPE        1ULL            /* in a word: known_source.h. A nanosecond is 16 */
#define KNOWN_EPOCH_SHIFT 35              /* 3 * 2^35 ns */
#define KNOWN_TAG_SHIFT   56
#define KNOWN_SETS_MAX    ((4u << 20) / sizeof(struct rl_known_set))
#define KNOWN_CELLS       ((1ULL << KNOWN_TAG_SHIFT) - 1)

_Static_assert(KNOWN_NS < 9ULL << KNOWN_EPOCH_SHIFT, "three epochs");

/* Four bits for each slot of the hot table, up to the size of a value that every kernel takes. */
static __always_inline __u32 known_sets(__u32 hot_sets)
{
	if (hot_sets / 16 > KNOWN_SETS_MAX)
		return KNOWN_SETS_MAX;
	return hot_sets > 16 ? hot_sets / 16 : 1;
}

/* address: its hash; mask: sets - 1. */
static __always_inline __u32 known_index(__u64 address, __u32 mask)
{
	return (__u32)(address >> 32) & mask;
}

static __always_inline __u64 known_bit(__u64 address)
{
	return 1ULL << ((address >> 16 & 0xffff) * KNOWN_TAG_SHIFT >> 16);
}

static __always_inline __u64 known_epoch(__u64 now_ns)
{
	return (now_ns >> KNOWN_EPOCH_SHIFT) / 3;
}

/* Does a plane, whatever its epoch, have the bit? Most strangers end here. */
static __always_inline bool known_has(const struct rl_known_set *set, __u64 bit)
{
	return (READ_ONCE(set->plane[0]) | READ_ONCE(set->plane[1]) | READ_ONCE(set->plane[2]) |
		READ_ONCE(set->plane[3])) &
	       bit;
}

static __always_inline bool known_plane_has(__u64 plane, __u64 bit, __u64 epoch)
{
	return plane & bit && ((epoch + 1 - (plane >> KNOWN_TAG_SHIFT)) & 0xff) <= 4;
}

/* May the source of this bit be known in this epoch? */
static __always_inline bool known_may(const struct rl_known_set *set, __u64 bit, __u64 epoch)
{
	return known_plane_has(READ_ONCE(set->plane[0]), bit, epoch) ||
	       known_plane_has(READ_ONCE(set->plane[1]), bit, epoch) ||
	       known_plane_has(READ_ONCE(set->plane[2]), bit, epoch) ||
	       known_plane_has(READ_ONCE(set->plane[3]), bit, epoch);
}

/* All planes of one epoch are written under one number: if the exchange fails, another CPU has
 * begun the epoch. */
static __always_inline void known_put(struct rl_known_set *set, __u64 bit, __u64 epoch)
{
	__u64 *plane = &set->plane[epoch % RL_KNOWN_PLANES];
	__u64 tag = epoch << KNOWN_TAG_SHIFT, old = READ_ONCE(*plane), seen;

	if ((old ^ tag) & ~KNOWN_CELLS) {
		seen = __sync_val_compare_and_swap(plane, old, tag | bit);
		if (seen == old)
			return;
		old = seen;
	}
	if (!(old & bit))
		__sync_fetch_and_or(plane, bit);
}
