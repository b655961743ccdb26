/* SPDX-License-Identifier: GPL-2.0-only */
/* Generic cell rate algorithm: token bucket and leaky bucket in one 64-bit word. Pure; compiles for
 * BPF and for the host.
 *
 * Source: ATM Forum TM 4.0, virtual scheduling; RFC 2697 §3 with one bucket is the same meter.
 *
 * The word is the theoretical arrival time: the instant at which the bucket will have drained (the
 * tokens will be full again), in grains of 1/16 ns, modulo 2^64; 0 is a fresh bucket. With
 * level = max(word - now, 0) a packet of cost c is admitted if level + c <= capacity, and then
 * word = now + level + c. Tokens left = (capacity - level) / cost of one.
 *
 * Range: clocks that differ by less than 2^59 ns (18 years) from a state's last use compare right;
 * capacity up to 2^62 grains (9 years). A level above the capacity (the burst was made smaller, or
 * a state was not touched for 18 years) counts as a full bucket, so no key waits longer than that.
 *
 * Precision: a packet's cost is a fixed-point number with cost_shift fraction bits. The fraction is
 * dithered: rounded up with its probability, by a multiplicative hash (Knuth, TAOCP 6.4) of
 * the word, so whole grains neither drift nor bias: 100 million packets/s and 400 Gbit/s are held
 * exactly in the long run, and the same packets at the same times get the same verdicts.
 *
 * Race: two CPUs that admit at once: one compare-and-swap wins, the other decides anew on what it
 * left, so the sum never exceeds the bound. A CPU that loses GCRA_TRIES times in a row refuses:
 * that may cost one packet, and never admits one.
 */
#pragma once

#include <stdbool.h>

#include "algorithm/once.h"
#include "rlctl_abi.h"

#define GCRA_TRIES  16
#define GCRA_SETTLE (1ULL << 34) /* grains: about a second */

static __always_inline __u64 gcra_now(__u64 now_ns)
{
	return now_ns << RL_GRAIN_SHIFT;
}

/* How full the bucket is at `now` (grains), 0..capacity. */
static __always_inline __u64 gcra_level(const struct rl_gcra *g, __u64 word, __u64 now)
{
	__s64 level = (__s64)(word - now);

	if (word == 0 || level <= 0)
		return 0;
	return (__u64)level < g->capacity ? (__u64)level : g->capacity;
}

/* Brings back a word that lies further ahead than any bucket of these numbers can be full: the rate
 * was raised or the burst lowered since, and what was owed under the old numbers must not be waited
 * for. Generous, so that a CPU whose clock reading is old never mistakes a full bucket for that. */
static __always_inline void gcra_settle_from(const struct rl_gcra *g, __u64 *word, __u64 old,
					     __u64 now)
{
	__s64 level = (__s64)(old - now);

	if (old && level > 0 && (__u64)level > 2 * g->capacity + GCRA_SETTLE)
		__sync_val_compare_and_swap(word, old, now + g->capacity);
}

static __always_inline void gcra_settle(const struct rl_gcra *g, __u64 *word, __u64 now)
{
	gcra_settle_from(g, word, READ_ONCE(*word), now);
}

/* Grains that `amount` (packets or bytes, <= cost_max) takes from a bucket of
 * this level. */
static __always_inline __u64 gcra_cost(const struct rl_gcra *g, __u64 amount, __u64 level_end)
{
	__u64 mask = (1ULL << g->cost_shift) - 1;
	__u64 hash = level_end * 0x9e3779b97f4a7c15ULL;

	/* Twice: the next word depends on this choice, and one multiplication would let the two
	 * fall into step. */
	hash ^= hash >> 32;
	hash *= 0x9e3779b97f4a7c15ULL;
	return (amount * g->cost + (hash >> 32 & mask)) >> g->cost_shift;
}

/* Would a packet of `amount` be admitted at `now` (grains)? *next is the word it would leave,
 * *taken by how much the bucket would be fuller. */
static __always_inline bool gcra_offers(const struct rl_gcra *g, __u64 word, __u64 now,
					__u64 amount, __u64 *next, __u64 *taken)
{
	__u64 level, cost;

	if (amount > g->cost_max)
		return false;
	level = gcra_level(g, word, now);
	if (level + (amount * g->cost >> g->cost_shift) > g->capacity)
		return false; /* however the dither falls */
	cost = gcra_cost(g, amount, now + level);
	if (level + cost > g->capacity)
		return false;
	*next = now + level + cost;
	if (*next == 0) { /* 0 is the word of a fresh bucket */
		*next = 1;
		cost++;
	}
	*taken = cost;
	return true;
}

static __always_inline bool gcra_admits(const struct rl_gcra *g, __u64 word, __u64 now,
					__u64 amount, __u64 *next)
{
	__u64 taken;

	return gcra_offers(g, word, now, amount, next, &taken);
}

/* The first instant (grains) at which a bucket of this word admits a packet of 1, if nobody takes
 * from it or gives back before. */
static __always_inline __u64 gcra_until(const struct rl_gcra *g, __u64 word)
{
	return word + gcra_cost(g, 1, word) - g->capacity;
}

/* One attempt on a word that was `old` when it was read. GCRA_LOST: another CPU was quicker. */
enum gcra_tried { GCRA_REFUSED, GCRA_TAKEN, GCRA_LOST };

static __always_inline enum gcra_tried gcra_try(const struct rl_gcra *g, __u64 *word, __u64 old,
						__u64 now, __u64 amount, __u64 *taken, __u64 *level)
{
	__u64 next;

	if (!gcra_admits(g, old, now, amount, &next))
		return GCRA_REFUSED;
	if (__sync_val_compare_and_swap(word, old, next) != old)
		return GCRA_LOST;
	*level = gcra_level(g, old, now);
	*taken = next - now - *level;
	return GCRA_TAKEN;
}

/* Admits and consumes, or refuses and changes nothing. *taken is what gcra_refund gives back,
 * *level what was in the bucket before: how long a queue of this rate holds the packet up. Grains.
 */
static __always_inline bool gcra_queue(const struct rl_gcra *g, __u64 *word, __u64 now,
				       __u64 amount, __u64 *taken, __u64 *level)
{
	gcra_settle(g, word, now);
	for (int i = 0; i < GCRA_TRIES; i++) {
		__u64 old = READ_ONCE(*word);
		enum gcra_tried tried = gcra_try(g, word, old, now, amount, taken, level);

		if (tried != GCRA_LOST)
			return tried == GCRA_TAKEN;
	}
	return false;
}

static __always_inline bool gcra_consume(const struct rl_gcra *g, __u64 *word, __u64 now,
					 __u64 amount, __u64 *taken)
{
	__u64 level;

	return gcra_queue(g, word, now, amount, taken, &level);
}

/* Gives back what was consumed. A packet refused in between was refused for a debt that a moment
 * later was not owed: at most one packet too few, never one too many. */
static __always_inline void gcra_refund(__u64 *word, __u64 taken)
{
	__sync_fetch_and_add(word, -taken);
}
