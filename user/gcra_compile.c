// SPDX-License-Identifier: GPL-2.0-only
/* From a limit as written to the numbers that hold it, and to the clock that they are held by. The
 * arithmetic they feed is bpf/algorithm/gcra.h; ranges are those the parser lets through.
 */
#include "compile.h"

#include <string.h>

#include "units.h"

#define TICKS_MIN          16 /* a tick clock may be late by one tick in so many */
#define COST_SHIFT_MAX     24
#define AMOUNT_MAX         0xfffffu /* bytes of one packet, GSO included, stay below 1 MiB */
#define PACKET_BYTES_SMALL 64

typedef unsigned __int128 u128;

static uint64_t root(uint64_t n)
{
	uint64_t r = 0;

	for (uint64_t bit = 1ull << 31; bit; bit >>= 1)
		if ((r | bit) * (r | bit) <= n)
			r |= bit;
	return r;
}

/* Rounding by dither lets the costs of a whole burst add up to a little more than the burst is
 * worth: by at most one grain a packet, and by a few square roots where there are many. */
static uint64_t dither_slack(const struct rl_limit *limit, uint64_t burst)
{
	uint64_t packets = limit->unit == RL_PACKETS ? burst : burst / PACKET_BYTES_SMALL + 1;

	return packets <= 256 ? packets : 256 + 4 * root(packets);
}

/* What one packet or byte takes, in grains << shift, rounded to nearest. */
static u128 cost_of(u128 grains, uint64_t amount, uint32_t shift)
{
	return ((grains << shift) + amount / 2) / amount;
}

void gcra_compile(const struct rl_limit *limit, struct rl_gcra *out)
{
	uint64_t bits = limit->unit == RL_BITS ? 8 : 1;
	uint64_t burst = limit->size / bits; /* packets or bytes */
	u128 period = (u128)limit->period_ns << RL_GRAIN_SHIFT;
	uint32_t most = burst < AMOUNT_MAX ? burst : AMOUNT_MAX;
	uint32_t shift = COST_SHIFT_MAX;
	u128 capacity = period * limit->size / limit->amount;
	u128 cost;

	while (shift && (cost_of(period * bits, limit->amount, shift) + 1) * most >> 63)
		shift--;
	cost = cost_of(period * bits, limit->amount, shift);
	if (cost & ((1ull << shift) - 1) || (period * bits << shift) % limit->amount)
		capacity += dither_slack(limit, burst);
	out->capacity = capacity < 1ull << 62 ? capacity : 1ull << 62;
	out->cost = cost;
	out->cost_shift = shift;
	out->cost_max = most;
}

/* How long what a limit remembers lasts: the time that a tick has to be short against. */
static uint64_t limit_span_ns(const struct rl_limit *limit)
{
	u128 span = 0;

	switch (limit->algorithm) {
	case RL_TOKEN_BUCKET:
	case RL_LEAKY_BUCKET:
		span = (u128)limit->size * limit->period_ns / limit->amount;
		break;
	case RL_FIXED_WINDOW:
		span = limit->period_ns;
		break;
	case RL_SLIDING_WINDOW:
		span = limit->period_ns / limit->slots;
		break;
	default: /* sliding-log and warm-up are always held by the precise clock */
		break;
	}
	return span < UINT64_MAX ? (uint64_t)span : UINT64_MAX;
}

enum rl_clock clock_choose(const struct rl_limit *limit, uint64_t tick_ns)
{
	return limit_span_ns(limit) / TICKS_MIN >= tick_ns ? RL_CLOCK_TICK : RL_CLOCK_PRECISE;
}
