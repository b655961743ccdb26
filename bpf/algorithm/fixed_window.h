/* SPDX-License-Identifier: GPL-2.0-only */
/* Fixed window counter. Pure; compiles for BPF and for the host.
 *
 * Source: the counter of nginx' and Redis' INCR+EXPIRE recipes ("Pattern: rate limiter 1",
 * redis.io, INCR): a window starts with the first admitted packet at s and covers [s, s + P); a
 * packet of cost c is admitted if the window's sum + c <= N. Up to 2 N pass within any P, around a
 * window's end.
 *
 * State: aux is the start of the window + 1 in nanoseconds, 0 before the first; word is the low 12
 * bits of aux above 52 bits of sum. A sum under another window's bits is worth nothing, so starting
 * a window is one compare-and-swap of aux and needs no second word to be cleared. A new start takes
 * bits that differ from those in word, at the price of up to 1 ns (and only where they would
 * agree).
 *
 * Range: N < 2^52 packets or bytes, P up to 2^62 ns, any clock value but the last.
 *
 * Race: a CPU that read the old window just before its end may add to it after another CPU has
 * started the next; both sums were within N, and neither window ever exceeds it.
 */
#pragma once

#include <stdbool.h>

#include "algorithm/once.h"
#include "rlctl_abi.h"

#define FIXED_WINDOW_TRIES 16
#define FIXED_WINDOW_SHIFT 52
#define FIXED_WINDOW_MASK  ((1ULL << FIXED_WINDOW_SHIFT) - 1)

static __always_inline __u64 fixed_window_tag(__u64 aux)
{
	return aux << FIXED_WINDOW_SHIFT;
}

static __always_inline bool fixed_window_is_over(const struct rl_window *w, __u64 aux, __u64 now)
{
	return aux == 0 || (__s64)(now + 1 - aux) >= (__s64)w->period_ns;
}

/* The amount admitted so far in the window that `now` is in; 0 when it would start the next. */
static __always_inline __u64 fixed_window_sum(const struct rl_window *w, const struct rl_state *s,
					      __u64 now)
{
	__u64 aux = READ_ONCE(s->aux), word = READ_ONCE(s->word);

	if (fixed_window_is_over(w, aux, now))
		return 0;
	return fixed_window_tag(word >> FIXED_WINDOW_SHIFT) == fixed_window_tag(aux)
		       ? word & FIXED_WINDOW_MASK
		       : 0;
}

static __always_inline bool fixed_window_admits(const struct rl_window *w, const struct rl_state *s,
						__u64 now, __u64 amount)
{
	return amount <= w->amount && fixed_window_sum(w, s, now) <= w->amount - amount;
}

/* When the window in s is over: a full one refuses every packet until then. Nanoseconds. */
static __always_inline __u64 fixed_window_end(const struct rl_window *w, const struct rl_state *s)
{
	return READ_ONCE(s->aux) - 1 + w->period_ns;
}

/* Starts the window of `now` if the one in s is over. */
static __always_inline void fixed_window_open(const struct rl_window *w, struct rl_state *s,
					      __u64 now)
{
	__u64 aux = READ_ONCE(s->aux);
	__u64 next = now + 1;

	if (!fixed_window_is_over(w, aux, now))
		return;
	if (fixed_window_tag(next) == (READ_ONCE(s->word) & ~FIXED_WINDOW_MASK))
		next = now ? now : 2;
	__sync_val_compare_and_swap(&s->aux, aux, next);
}

/* Admits and consumes, or refuses and changes nothing. *taken is what fixed_window_refund needs. */
static __always_inline bool fixed_window_consume(const struct rl_window *w, struct rl_state *s,
						 __u64 now, __u64 amount, __u64 *taken)
{
	if (amount > w->amount)
		return false;
	for (int i = 0; i < FIXED_WINDOW_TRIES; i++) {
		__u64 aux, tag, old, sum;

		fixed_window_open(w, s, now);
		aux = READ_ONCE(s->aux);
		tag = fixed_window_tag(aux);
		old = READ_ONCE(s->word);
		if (READ_ONCE(s->aux) != aux)
			continue; /* old may be the next window's, which is not to be wiped */
		sum = (old & ~FIXED_WINDOW_MASK) == tag ? old & FIXED_WINDOW_MASK : 0;
		if (sum > w->amount - amount)
			return false;
		if (__sync_val_compare_and_swap(&s->word, old, tag | (sum + amount)) == old) {
			*taken = tag | amount;
			return true;
		}
	}
	return false;
}

/* Gives back, unless the window is over by now. */
static __always_inline void fixed_window_refund(struct rl_state *s, __u64 taken)
{
	__u64 amount = taken & FIXED_WINDOW_MASK, tag = taken & ~FIXED_WINDOW_MASK;

	for (int i = 0; i < FIXED_WINDOW_TRIES; i++) {
		__u64 old = READ_ONCE(s->word);

		if ((old & ~FIXED_WINDOW_MASK) != tag || (old & FIXED_WINDOW_MASK) < amount)
			return;
		if (__sync_val_compare_and_swap(&s->word, old, old - amount) == old)
			return;
	}
}
