/* SPDX-License-Identifier: GPL-2.0-only */
/* The token bucket of rlctl-policy(5) in exact numbers, slow and simple: the reference for the data
 * path.
 *
 * The amount taken and not yet refilled is counted in fractions of a grain, 1/N of one where N is
 * the AMOUNT of the rate: a packet (byte, bit) then is a whole number of them (the period in
 * grains), and so is the refill of a grain (N). 128 bits hold the largest of both.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "rlctl_abi.h"

typedef unsigned __int128 u128;
typedef __int128 i128;

struct bucket_model {
	u128 capacity; /* the burst */
	u128 unit;     /* one packet, or one byte */
	uint64_t amount;
	u128 debt;
	uint64_t last_ns;
};

static inline struct bucket_model bucket_model(const struct rl_limit *limit)
{
	u128 period = (u128)limit->period_ns << RL_GRAIN_SHIFT;
	bool as_time = limit->algorithm == RL_LEAKY_BUCKET && limit->queue_ns;

	return (struct bucket_model){
		.capacity = as_time ? ((u128)limit->queue_ns << RL_GRAIN_SHIFT) * limit->amount
				    : period * limit->size,
		.unit = limit->unit == RL_BITS ? period * 8 : period,
		.amount = limit->amount,
	};
}

/* Lets time pass; it does not go backwards. */
static inline void bucket_model_wait(struct bucket_model *m, uint64_t now_ns)
{
	u128 back = ((u128)(now_ns - m->last_ns) << RL_GRAIN_SHIFT) * m->amount;

	m->debt = m->debt > back ? m->debt - back : 0;
	m->last_ns = now_ns;
}

/* Returns the tokens that would remain; negative if there are too few. */
static inline i128 bucket_model_left(const struct bucket_model *m, uint64_t count)
{
	return (i128)(m->capacity - m->debt) - (i128)(m->unit * count);
}

static inline void bucket_model_take(struct bucket_model *m, uint64_t count)
{
	m->debt += m->unit * count;
}

/* Is a cost a whole number of grains? Then nothing is rounded, and verdicts are equal. */
static inline bool bucket_model_exact(const struct bucket_model *m)
{
	return m->unit % m->amount == 0;
}

/* The most, in grains, by which the costs of n packets may deviate from their exact sum if they are
 * dithered: a grain each; for many packets, eight times the deviation (half a grain) of their sum.
 */
static inline uint64_t dither_bound(uint64_t n)
{
	uint64_t root = 0;

	if (n <= 256)
		return n;
	for (uint64_t bit = 1ull << 31; bit; bit >>= 1)
		if ((root | bit) * (root | bit) <= n)
			root |= bit;
	return 256 + 4 * root;
}
