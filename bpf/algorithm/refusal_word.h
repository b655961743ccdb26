/* SPDX-License-Identifier: GPL-2.0-only */
/* The words of cached refusals (refusal.h): of an address and of a key. Pure; compiles for BPF and
 * for the host.
 *
 * An address's word says whose it is, until when it holds, and by which rule's counters. Time is
 * cut into epochs of 1.07 s, and those into 1024 units of 1.05 ms. Bits, from the top:
 *
 *   32  of the address's hash, mixed with the policy's generation and the epoch, so that no word is
 *       of another policy or another epoch
 *    4  of the epoch: words of earlier ones are idle; one of 17 s before takes up room as if new
 *   10  the first unit that it does not cover
 *   18  the rule's counters
 *
 * 0 belongs to no address. All times are those of refusal_time.
 *
 * A key's word says until when it holds, in grains, without the low 16 bits (4 us), which are the
 * policy's generation. It lies in the key's slot of the hot table, which says whose it is.
 */
#pragma once

#include <stdbool.h>

#include "algorithm/hot_hash.h"
#include "rlctl_abi.h"

#define REFUSAL_UNIT_SHIFT  20 /* of nanoseconds */
#define REFUSAL_EPOCH_SHIFT 30
#define REFUSAL_UNITS       (1U << (REFUSAL_EPOCH_SHIFT - REFUSAL_UNIT_SHIFT))
#define REFUSAL_OWNER_SHIFT (RL_REFUSAL_COUNTER_BITS + REFUSAL_EPOCH_SHIFT - REFUSAL_UNIT_SHIFT)
#define REFUSAL_EPOCHS      16 /* that are distinguished */
#define REFUSAL_TAG_SHIFT   (REFUSAL_OWNER_SHIFT + 4)

/* Where the words of an address are. mask: sets - 1. Up to 2^22 sets the tag has none of the bits
 * that chose the set. */
static __always_inline __u32 refusal_index(__u64 address, __u32 mask)
{
	return (__u32)(address >> 8) & mask;
}

/* The time that words of this set go by: epochs of different sets begin at different times, so that
 * not all refusals end at once. */
static __always_inline __u64 refusal_time(__u64 now_ns, __u32 set)
{
	return now_ns + ((__u64)(set & (REFUSAL_UNITS - 1)) << REFUSAL_UNIT_SHIFT);
}

static __always_inline __u32 refusal_unit(__u64 now_ns)
{
	return now_ns >> REFUSAL_UNIT_SHIFT & (REFUSAL_UNITS - 1);
}

/* The upper bits of a word of this address at this time. address: hot_hash_word of it. */
static __always_inline __u64 refusal_owner(__u64 address, __u64 generation, __u64 now_ns)
{
	__u64 epoch = now_ns >> REFUSAL_EPOCH_SHIFT;
	__u64 tag = address ^ generation * HOT_GENERATION ^ epoch * 0x9e3779b97f4a7c15ULL;

	tag = tag >> REFUSAL_TAG_SHIFT << REFUSAL_TAG_SHIFT;
	return tag | (epoch % REFUSAL_EPOCHS) << REFUSAL_OWNER_SHIFT;
}

static __always_inline bool refusal_is_of(__u64 word, __u64 owner)
{
	return (word ^ owner) >> REFUSAL_OWNER_SHIFT == 0;
}

/* The first unit that it does not cover. */
static __always_inline __u32 refusal_end_unit(__u64 word)
{
	return word >> RL_REFUSAL_COUNTER_BITS & (REFUSAL_UNITS - 1);
}

static __always_inline __u32 refusal_counter_id(__u64 word)
{
	return word & ((1U << RL_REFUSAL_COUNTER_BITS) - 1);
}

/* Does it hold nothing any more, whosever it is? */
static __always_inline bool refusal_is_idle(__u64 word, __u64 now_ns)
{
	return (word >> REFUSAL_OWNER_SHIFT ^ now_ns >> REFUSAL_EPOCH_SHIFT) % REFUSAL_EPOCHS ||
	       refusal_end_unit(word) <= refusal_unit(now_ns);
}

/* The word of `owner` for a refusal at every time before until_ns, which is later than now_ns.
 * tick_ns: the step of the limit's clock; 0: the precise one. 0 where the refusal is too short to
 * keep.
 */
static __always_inline __u64 refusal_word(__u64 owner, __u64 now_ns, __u64 until_ns, __u64 tick_ns,
					  __u32 counter_id)
{
	__u64 left = (until_ns >> REFUSAL_UNIT_SHIFT) - (now_ns >> REFUSAL_UNIT_SHIFT);
	__u64 end = refusal_unit(now_ns) + left;

	if (!left && tick_ns >> REFUSAL_UNIT_SHIFT)
		end++; /* the next tick is not known yet */
	if (left >= REFUSAL_UNITS || end >= REFUSAL_UNITS)
		end = REFUSAL_UNITS - 1;
	if (end <= refusal_unit(now_ns))
		return 0;
	return owner | end << RL_REFUSAL_COUNTER_BITS | counter_id;
}

/* ---- of a key */

#define KEY_REFUSAL_NS   1000000000ULL /* a longer one would keep a slot though nobody asks */
#define KEY_REFUSAL_MASK 0xffffULL     /* the generation */

/* until, now: grains. */
static __always_inline __u64 key_refusal_word(__u64 generation, __u64 until)
{
	return (until & ~KEY_REFUSAL_MASK) | (generation & KEY_REFUSAL_MASK);
}

static __always_inline __u64 key_refusal_until(__u64 word)
{
	return word & ~KEY_REFUSAL_MASK;
}

static __always_inline bool key_refusal_holds(__u64 generation, __u64 word, __u64 now)
{
	return word && (__s64)(word - now) > 0 && !((word ^ generation) & KEY_REFUSAL_MASK);
}
