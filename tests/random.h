/* SPDX-License-Identifier: GPL-2.0-only */
/* The pseudo-random numbers of the tests: the same in each run, for a seed that each names itself.
 * xorshift64* (S. Vigna, 2016).
 */
#pragma once

#include <stdint.h>

/* The next one of a state that is not 0. */
static inline uint64_t random_next(uint64_t *state)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return *state * 2685821657736338717ull;
}

/* 0..bound - 1; bound: 1..2^48. */
static inline uint64_t random_under(uint64_t *state, uint64_t bound)
{
	return (random_next(state) >> 16) % bound;
}
