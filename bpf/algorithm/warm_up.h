/* SPDX-License-Identifier: GPL-2.0-only */
/* Warm-up. Pure; compiles for BPF and for the host.
 *
 * Source: Guava's SmoothRateLimiter.SmoothWarmingUp (com.google.common.util.concurrent), without
 * its waiting: what would have to wait is refused. stable interval s = P/N, cold interval F·s,
 * threshold = ramp/(2s), max = threshold + 2·ramp/(s + F·s), slope = (F·s - s)/(max - threshold).
 * A packet is admitted if next <= t. Guava's callers wait until `next`, and so are never late; a
 * packet is, and its lateness is neither lost nor idleness, up to B = (burst - 1)·s, by default a
 * cold interval: base = max(next, t - B). Only what lies before t - B was idle and refills the
 * store: stored = min(max, stored + (base - next)·max/ramp). One permit is paid for: k = min(1,
 * stored) of it from the store, those above the threshold at the area under the slope, all else at
 * s. That is s + slope·(above - ka/2)·ka with ka = min(above, k). next = base + that.
 *
 * Every permit costs s at least, so in any time T at most burst + T/s pass.
 *
 * State: word is `next` in grains of 1/16 ns modulo 2^64 (0 = fresh: cold, next = now), aux the
 * stored permits in units of 2^-16.
 *
 * A packet that is n on the wire pays for n permits, as Guava's acquire(n), and may come when one
 * may.
 *
 * Range: as gcra.h; n up to `most`, more is refused; ramp up to a day of 100 million
 * packets/s. Precision: s is rounded to a grain, 0.3 % at 100 million packets/s, nothing at 1/day.
 *
 * Race: an admission is the compare-and-swap of `next`, so two CPUs never share a permit, and the
 * bound holds. The winner writes the store after it. Another that is admitted before that reads the
 * store of before: it pays for one permit at the wrong height, or, if the winner came after a
 * pause and writes first, what the pause refilled is lost and the source is as warm as before it.
 */
#pragma once

#include <stdbool.h>

#include "algorithm/once.h"
#include "rlctl_abi.h"

#define WARM_UP_TRIES  4
#define WARM_UP_SECOND (1000000000ULL << RL_GRAIN_SHIFT)
#define WARM_UP_ONE    (1ULL << 16) /* a permit */
#define WARM_UP_MOST   2048 /* permits for one packet, where it can be several on the wire */
#define WARM_UP_DEAR   (1ULL << 61) /* grains: four years, more than a packet costs */

/* By how much a packet at `now` (grains) is later than the burst gives back. */
static __always_inline __u64 warm_up_idle(const struct rl_warm_up *w, __u64 word, __u64 now)
{
	__s64 late = now - word;

	return late > 0 && (__u64)late > w->burst ? late - w->burst : 0;
}

/* From when on a packet at `now` pays: it was due then. Before a `next` that does not wait (see
 * warm_up_waits), now. */
static __always_inline __u64 warm_up_base(const struct rl_warm_up *w, __u64 word, __u64 now)
{
	if (word == 0 || (__s64)(now - word) < 0)
		return now;
	return word + warm_up_idle(w, word, now);
}

/* Permits stored at `now`, in 2^-16. */
static __always_inline __u64 warm_up_stored(const struct rl_warm_up *w, const struct rl_state *s,
					    __u64 word, __u64 now)
{
	__u64 idle = warm_up_idle(w, word, now);
	__u64 stored = READ_ONCE(s->aux);

	if (word == 0 || idle >> w->ramp_bits)
		return w->max;
	stored += idle * w->refill >> w->refill_shift;
	return stored < w->max ? stored : w->max;
}

/* The part of a packet's cost that lies above the threshold, of which it takes ka permits. */
static __always_inline __u64 warm_up_rise(__u64 climb, __u64 ka)
{
	if (ka <= WARM_UP_ONE)
		return climb < 1ULL << 46 ? climb * ka >> 16 : (climb >> 16) * ka;
	if (climb < 1ULL << 36)
		return climb * ka >> 16;
	return climb < 1ULL << 50 ? (climb >> 16) * ka : WARM_UP_DEAR;
}

/* Grains that so many permits (1..WARM_UP_MOST) cost with so many stored: s each, and the climb
 * above the threshold. */
static __always_inline __u64 warm_up_cost_of(const struct rl_warm_up *w, __u64 stored,
					     __u64 permits)
{
	__u64 above = stored > w->threshold ? stored - w->threshold : 0;
	__u64 ka = above < permits * WARM_UP_ONE ? above : permits * WARM_UP_ONE;
	__u64 climb = ((2 * above - ka) >> w->climb_drop) * w->climb >> w->climb_shift;

	return w->stable * permits + warm_up_rise(climb, ka);
}

static __always_inline __u64 warm_up_cost(const struct rl_warm_up *w, __u64 stored)
{
	return warm_up_cost_of(w, stored, 1);
}

/* Is `next` still to come? Further ahead than a packet of so many permits costs, and a second for
 * clocks that differ, it is another's: the rate was changed since, and it counts as now. */
static __always_inline bool warm_up_waits(const struct rl_warm_up *w, __u64 word, __u64 now)
{
	__u64 wait = word - now;

	if (word == 0 || (__s64)wait <= 0)
		return false;
	return wait <= warm_up_cost_of(w, w->max, w->most) + WARM_UP_SECOND;
}

static __always_inline bool warm_up_admits(const struct rl_warm_up *w, const struct rl_state *s,
					   __u64 now)
{
	return !warm_up_waits(w, READ_ONCE(s->word), now);
}

/* Admits and consumes, or refuses and changes nothing. *taken is what warm_up_refund gives back. */
static __always_inline bool warm_up_consume(const struct rl_warm_up *w, struct rl_state *s,
					    __u64 now, __u64 permits, __u64 *taken)
{
	if (permits > w->most)
		return false;
	for (int i = 0; i < WARM_UP_TRIES; i++) {
		__u64 word = READ_ONCE(s->word);
		__u64 stored, base, next;

		if (warm_up_waits(w, word, now))
			return false;
		stored = warm_up_stored(w, s, word, now);
		base = warm_up_base(w, word, now);
		next = base + warm_up_cost_of(w, stored, permits);
		next = next ? next : 1;
		if (__sync_val_compare_and_swap(&s->word, word, next) != word)
			continue;
		WRITE_ONCE(s->aux,
			   stored > permits * WARM_UP_ONE ? stored - permits * WARM_UP_ONE : 0);
		*taken = next - base;
		return true;
	}
	return false;
}

/* Takes the cost of a packet off `next`; its permits go back to the store. */
static __always_inline void warm_up_refund(struct rl_state *s, __u64 taken, __u64 permits)
{
	__sync_fetch_and_add(&s->word, -taken);
	__sync_fetch_and_add(&s->aux, permits * WARM_UP_ONE);
}
