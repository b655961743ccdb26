/* SPDX-License-Identifier: GPL-2.0-only */
/* Sliding window of slots. Pure; compiles for BPF and for the host.
 *
 * Source: Sentinel's LeapArray (alibaba/Sentinel, slots/statistic/base): time is cut into slots of
 * P/slots, aligned to the clock; a packet of cost c is admitted if what was admitted in the current
 * slot and the slots - 1 before it, + c, is <= N. So never more than N in any P - P/slots, but up
 * to 2·N in P: N at the end of a slot, and again when it has left, P - P/slots after its end.
 *
 * State: a ring of 16 words, one a slot: the slot's number above amount_bits of its sum. A word
 * with another number is worth nothing, so slots need no clearing. 0 is a slot never used (numbers
 * are kept + 1).
 *
 * Range: N < 2^52, P < 2^59 ns. The bits of a word are shared out by P and slots alone (numbers.c),
 * so that a changed N finds the sums of the old one; slot numbers come round again after 52 days or
 * more, and a state that was left alone for just that long may be refused for up to one P.
 *
 * Race: CPUs on two sides of a slot's edge. One that finds the next slot begun counts in that; each
 * looks at the whole sum once more after it has added, and takes its packet back if that is above N
 * or the next slot has begun meanwhile. The sum is never above N while clocks differ by less than a
 * slot; at an edge it may cost a packet per CPU.
 */
#pragma once

#include <stdbool.h>

#include "algorithm/once.h"
#include "rlctl_abi.h"

#define SLIDING_WINDOW_TRIES 8

/* floor(now * slots / P), for any now. */
static __always_inline __u64 sliding_window_slot(const struct rl_window *w, __u64 now)
{
	return now / w->period_ns * w->slots + now % w->period_ns * w->slots / w->period_ns;
}

/* The number of a slot as its word holds it, never 0. */
static __always_inline __u64 sliding_window_number(const struct rl_window *w, __u64 slot)
{
	return (slot + 1) << w->amount_bits;
}

static __always_inline __u64 *sliding_window_word(struct rl_slots *s, __u64 slot)
{
	return &s->word[slot & (RL_SLOTS_MAX - 1)];
}

static __always_inline __u64 sliding_window_part(const struct rl_window *w, struct rl_slots *s,
						 __u64 slot)
{
	__u64 word = READ_ONCE(*sliding_window_word(s, slot));
	__u64 mask = (1ULL << w->amount_bits) - 1;
	__u64 differs = (word ^ sliding_window_number(w, slot)) >> w->amount_bits;

	asm("" : "+r"(differs)); /* no branch: the verifier would follow both sides of all slots */
	return word & mask & -((differs - 1) >> 63);
}

/* The amount admitted in `slot` and the slots - 1 before it. */
static __always_inline __u64 sliding_window_sum(const struct rl_window *w, struct rl_slots *s,
						__u64 slot)
{
	__u64 sum = 0;

	for (__u32 i = 0; i < RL_SLOTS_MAX; i++)
		if (i < w->slots)
			sum += sliding_window_part(w, s, slot - i);
	return sum;
}

/* When a slot begins, rounded up. */
static __always_inline __u64 sliding_window_begin(const struct rl_window *w, __u64 slot)
{
	return slot / w->slots * w->period_ns +
	       (slot % w->slots * w->period_ns + w->slots - 1) / w->slots;
}

/* When the oldest slot that counts in `slot` leaves the window: a full one refuses until then. */
static __always_inline __u64 sliding_window_end(const struct rl_window *w, struct rl_slots *s,
						__u64 slot)
{
	__u64 oldest = slot;

	for (__u32 i = 1; i < RL_SLOTS_MAX; i++)
		if (i < w->slots && sliding_window_part(w, s, slot - i))
			oldest = slot - i;
	return sliding_window_begin(w, oldest + w->slots);
}

static __always_inline bool sliding_window_admits(const struct rl_window *w, struct rl_slots *s,
						  __u64 now, __u64 amount)
{
	return amount <= w->amount &&
	       sliding_window_sum(w, s, sliding_window_slot(w, now)) <= w->amount - amount;
}

/* Gives back, unless the slot's word is another's by now. `taken` is the slot. */
static __always_inline void sliding_window_refund(const struct rl_window *w, struct rl_slots *s,
						  __u64 taken, __u64 amount)
{
	__u64 *word = sliding_window_word(s, taken);

	for (int i = 0; i < SLIDING_WINDOW_TRIES; i++) {
		__u64 old = READ_ONCE(*word);

		if (sliding_window_part(w, s, taken) < amount)
			return;
		if (__sync_val_compare_and_swap(word, old, old - amount) == old)
			return;
	}
}

/* Has a CPU whose clock is a little ahead begun this slot? */
static __always_inline bool sliding_window_begun(const struct rl_window *w, struct rl_slots *s,
						 __u64 slot)
{
	return READ_ONCE(*sliding_window_word(s, slot)) >> w->amount_bits ==
	       sliding_window_number(w, slot) >> w->amount_bits;
}

enum sliding_window_try { SLIDING_WINDOW_AGAIN, SLIDING_WINDOW_TAKEN, SLIDING_WINDOW_REFUSED };

/* Adds the packet to `slot`, looks at the sum once more, and takes it back if that is too much or
 * the next slot has begun. */
static __always_inline enum sliding_window_try
sliding_window_add(const struct rl_window *w, struct rl_slots *s, __u64 slot, __u64 amount)
{
	__u64 mask = (1ULL << w->amount_bits) - 1, number = sliding_window_number(w, slot);
	__u64 *word = sliding_window_word(s, slot);
	__u64 old = READ_ONCE(*word);
	__u64 next = ((old & ~mask) == number ? old : number) + amount;

	if (sliding_window_sum(w, s, slot) > w->amount - amount)
		return SLIDING_WINDOW_REFUSED;
	if (__sync_val_compare_and_swap(word, old, next) != old)
		return SLIDING_WINDOW_AGAIN;
	if (sliding_window_sum(w, s, slot) <= w->amount && !sliding_window_begun(w, s, slot + 1))
		return SLIDING_WINDOW_TAKEN;
	sliding_window_refund(w, s, slot, amount);
	return SLIDING_WINDOW_AGAIN;
}

/* Admits and consumes, or refuses and changes nothing. *taken is the slot it went into. */
static __always_inline bool sliding_window_consume(const struct rl_window *w, struct rl_slots *s,
						   __u64 now, __u64 amount, __u64 *taken)
{
	enum sliding_window_try result = SLIDING_WINDOW_AGAIN;
	__u64 slot = sliding_window_slot(w, now);

	if (amount > w->amount)
		return false;
	for (int i = 0; i < SLIDING_WINDOW_TRIES && result == SLIDING_WINDOW_AGAIN; i++) {
		slot += sliding_window_begun(w, s, slot + 1);
		result = sliding_window_add(w, s, slot, amount);
	}
	*taken = slot;
	return result == SLIDING_WINDOW_TAKEN;
}
