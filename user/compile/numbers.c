// SPDX-License-Identifier: GPL-2.0-only
/* The numbers and the clock of a limit. The arithmetic that uses them is in bpf/algorithm/; the
 * ranges are those of the parser (user/policy/limit.c).
 */

#include <endian.h>
#include <string.h>

#include "algorithm/key_len.h"
#include "algorithm/key_parts.h"
#include "algorithm/warm_up.h"
#include "base/units.h"
#include "compile/numbers.h"

#include "compile/build.h"

#define TICKS_MIN          16 /* ticks in the span of a limit on the tick clock, at least */
#define COST_SHIFT_MAX     24
#define AMOUNT_MAX         0xfffffu /* bytes; a GSO packet is smaller than 1 MiB */
#define PACKET_BYTES_SMALL 64
#define BATCH_US           50
#define BATCH_PART         64

typedef unsigned __int128 u128;

static uint64_t root(uint64_t n)
{
	uint64_t r = 0;

	for (uint64_t bit = 1ull << 31; bit; bit >>= 1)
		if ((r | bit) * (r | bit) <= n)
			r |= bit;
	return r;
}

/* Cost of one packet or byte, in grains << shift, rounded to nearest. */
static u128 cost_of(u128 grains, uint64_t amount, uint32_t shift)
{
	return ((grains << shift) + amount / 2) / amount;
}

void gcra_compile(const struct rl_limit *limit, struct rl_gcra *out)
{
	uint64_t bits = limit->unit == RL_BITS ? 8 : 1;
	uint64_t burst = limit->size / bits; /* packets or bytes */
	uint64_t packets = limit->unit == RL_PACKETS ? burst : burst / PACKET_BYTES_SMALL + 1;
	u128 period = (u128)limit->period_ns << RL_GRAIN_SHIFT;
	/* The burst or queue as a time, in grains. */
	u128 capacity = period * limit->size / limit->amount;
	uint32_t most = burst < AMOUNT_MAX ? burst : AMOUNT_MAX;
	uint32_t shift = COST_SHIFT_MAX;
	u128 cost;

	if (limit->algorithm == RL_LEAKY_BUCKET && limit->queue_ns)
		capacity = (u128)limit->queue_ns << RL_GRAIN_SHIFT;
	while (shift && (cost_of(period * bits, limit->amount, shift) + 1) * most >> 63)
		shift--;
	cost = cost_of(period * bits, limit->amount, shift);
	/* Dithered rounding may make the costs of a whole burst exceed its worth: by at most one
	 * grain per packet, and by a few square roots of the number if there are many. */
	if (cost & ((1ull << shift) - 1) || (period * bits << shift) % limit->amount)
		capacity += packets <= 256 ? packets : 256 + 4 * root(packets);
	out->capacity = capacity < 1ull << 62 ? capacity : 1ull << 62;
	out->cost = cost;
	out->cost_shift = shift;
	out->cost_max = most;
}

/* Slot numbers get the bits that 2^52 ns (52 days) of slots need, sums get the rest, at most 52.
 * This does not depend on N, so sums stay valid if only N changes. Enough for N up to 50 bytes per
 * nanosecond. */
static uint32_t sum_bits(const struct rl_limit *limit, uint64_t amount)
{
	u128 numbers = ((u128)limit->slots << 52) / limit->period_ns;
	uint32_t least = 64 - __builtin_clzll(amount), bits = 52;

	while (bits > least && numbers >> (64 - bits))
		bits--;
	return bits;
}

void window_compile(const struct rl_limit *limit, struct rl_window *out)
{
	uint64_t amount = limit->amount / (limit->unit == RL_BITS ? 8 : 1);

	*out = (struct rl_window){
		.amount = amount,
		.period_ns = limit->period_ns,
		.slots = limit->slots,
		.amount_bits = sum_bits(limit, amount),
	};
}

/* The largest shift (at most `most`) with which value << shift stays below 2^bits. */
static uint32_t shift_below(u128 value, uint32_t bits, uint32_t most)
{
	uint32_t shift = 0;

	while (shift < most && !(value << (shift + 1) >> bits))
		shift++;
	return shift;
}

/* Formulas and names: bpf/algorithm/warm_up.h. In permits and nanoseconds:
 * threshold = ramp N/(2P), max = threshold + 2 ramp N/(P (1 + F)). */
void warm_up_compile(const struct rl_limit *limit, struct rl_warm_up *w)
{
	u128 ramp_permits = ((u128)limit->ramp_ns * limit->amount << 16) / limit->period_ns;
	u128 stable = cost_of((u128)limit->period_ns << RL_GRAIN_SHIFT, limit->amount, 0);
	u128 climb = stable * (limit->cold - 1); /* at max */
	uint64_t ramp = limit->ramp_ns << RL_GRAIN_SHIFT;
	u128 twice;

	*w = (struct rl_warm_up){
		.threshold = ramp_permits / 2,
		.max = ramp_permits / 2 + 2 * ramp_permits / (1 + limit->cold),
		.stable = stable,
		.burst = stable * (limit->size - 1),
		.ramp_bits = 64 - __builtin_clzll(ramp),
		.most = 1,
	};
	w->refill_shift = shift_below(w->max, 62, 62);
	w->refill = (((u128)w->max << w->refill_shift) + ramp - 1) / ramp; /* in a ramp, all */
	twice = 2 * (u128)(w->max - w->threshold);
	while (twice >> w->climb_drop >> 30)
		w->climb_drop++;
	twice >>= w->climb_drop;
	w->climb_shift = shift_below(climb, 62, 60);
	w->climb = twice ? (climb << w->climb_shift) / twice : 0;
}

/* The part of the limit that one CPU enforces; always enough for one packet. */
static struct rl_limit limit_share(const struct rl_limit *limit, const struct compile_context *ctx)
{
	uint64_t bytes = (ctx->text->mtu + ETHERNET_MAX) * (limit->unit == RL_BITS ? 8ull : 1ull);
	uint64_t least = limit->unit == RL_PACKETS ? 1 : bytes;
	bool log = limit->algorithm == RL_SLIDING_WINDOW || limit->algorithm == RL_SLIDING_LOG;
	struct rl_limit part = *limit;

	/* With `per rule`, buckets are in an array that all CPUs share, windows and logs are not.
	 */
	if (!ctx->share || parts_are_account(limit) || (limit->key == RL_KEY_RULE && !log))
		return part;
	if (limit->algorithm != RL_WARM_UP) /* of each CPU: a cold interval has to fit */
		part.size = limit->size / ctx->cpus;
	if (part.size < least) {
		part.size = least < limit->size ? least : limit->size;
		if (limit->algorithm == RL_LEAKY_BUCKET)
			part.queue_ns = 0; /* too short for a packet at this part of the rate */
	}
	if (limit->algorithm == RL_FIXED_WINDOW || log) {
		part.amount = limit->amount / ctx->cpus;
		if (part.amount < least)
			part.amount = least < limit->amount ? least : limit->amount;
	} else {
		part.period_ns = limit->period_ns * ctx->cpus;
	}
	return part;
}

/* A batch is BATCH_US of the rate; those of all possible CPUs together are at most a BATCH_PART of
 * the burst, which is taken off the shared bucket, so that the limit also holds when more CPUs come
 * online. No batch if it would be a packet or less. */
static void batch_compile(const struct rl_limit *limit, const struct compile_context *ctx,
			  struct rl_rule *out)
{
	uint64_t bits = limit->unit == RL_BITS ? 8 : 1;
	uint64_t least = limit->unit == RL_PACKETS ? 2 : 2 * (ctx->text->mtu + ETHERNET_MAX);
	uint64_t batch =
		rate_amount_in(limit->amount, limit->period_ns, BATCH_US * NS_PER_US) / bits;
	uint64_t most = limit->size / bits / ctx->possible_cpus / BATCH_PART;

	if (limit->key != RL_KEY_RULE || limit->fleet || ctx->cpus < 2 ||
	    out->counter_id >= ctx->batches_max)
		return;
	batch = batch < most ? batch : most;
	batch = batch < out->gcra.cost_max ? batch : out->gcra.cost_max;
	if (batch < least)
		return;
	out->batch = batch;
	out->gcra.capacity -=
		(u128)batch * ctx->possible_cpus * out->gcra.cost >> out->gcra.cost_shift;
}

bool limit_is_bucket(const struct rl_limit *limit)
{
	return limit->algorithm == RL_TOKEN_BUCKET || limit->algorithm == RL_LEAKY_BUCKET;
}

static enum rl_backend backend_choose(const struct rl_limit *limit,
				      const struct compile_context *ctx)
{
	if (limit->unit == RL_CONNECTIONS)
		return RL_BACKEND_CONNECTIONS;
	if (limit->fleet)
		return RL_BACKEND_FLEET;
	if (limit_has_parts(limit))
		return RL_BACKEND_PARTS;
	if (limit->key == RL_KEY_RULE || parts_are_account(limit))
		return limit_is_bucket(limit) ? RL_BACKEND_SHARED : RL_BACKEND_LRU;
	if (!ctx->hot)
		return RL_BACKEND_LRU;
	return limit_is_bucket(limit) ? RL_BACKEND_HOT : RL_BACKEND_UNCONFIRMED;
}

uint64_t limit_state_uses(const struct rl_limit *limit, const struct compile_context *ctx)
{
	enum rl_backend backend = backend_choose(limit, ctx);
	uint64_t hot = 0;

	if (backend == RL_BACKEND_CONNECTIONS)
		return RL_USE_CONNECTIONS;
	if (backend == RL_BACKEND_SHARED)
		return RL_USE_SHARED;
	if (backend == RL_BACKEND_PARTS) /* each sender has a bucket */
		return limit->share[0] ? RL_USE_HOT : 0;
	if (backend == RL_BACKEND_HOT)
		return RL_USE_HOT;
	if (backend == RL_BACKEND_UNCONFIRMED)
		hot = RL_USE_HOT;
	/* The LRU that has the states of the limit. */
	if (limit->algorithm == RL_SLIDING_WINDOW)
		return hot | RL_USE_WINDOWS;
	if (limit->algorithm == RL_SLIDING_LOG)
		return hot | RL_USE_LOGS;
	if (limit->key == RL_KEY_RULE)
		return hot;
	return hot | (parts_are_long(key_parts(limit)) ? RL_USE_FLOWS : RL_USE_SOURCES);
}

/* Meanings: rl_unconfirmed. For bytes, a packet has the size of the device's MTU. */
static void unconfirmed_compile(const struct rl_limit *limit, const struct compile_context *ctx,
				struct rl_rule *out)
{
	u128 period = (u128)limit->period_ns << RL_GRAIN_SHIFT;
	uint64_t bits = limit->unit == RL_BITS ? 8 : 1;
	uint64_t packet = limit->unit == RL_PACKETS ? 1 : (ctx->text->mtu + ETHERNET_MAX) * bits;
	struct rl_unconfirmed *n = &out->unconfirmed;

	n->pace = (period * packet + limit->amount - 1) / limit->amount;
	n->span = period;
	n->wait = limit->amount == 1 ? n->span : 0;
	if (limit->algorithm == RL_WARM_UP) {
		n->wait = warm_up_cost(&out->warm_up, out->warm_up.max);
		n->span = (limit->ramp_ns << RL_GRAIN_SHIFT) + out->warm_up.burst + n->wait;
	}
}

/* Do packets over the limit pass? */
static bool passes_over(const struct rl_limit *limit)
{
	return limit->over == RL_OVER_SHADOW || limit->over == RL_OVER_MARK;
}

/* Is the key's first address the lookup address, with its lengths? */
static bool is_lookup_address(const struct rl_limit *limit, const struct compile_context *ctx)
{
	uint8_t parts = key_parts(limit);

	return parts & KEY_ADDRESSES && limit->key_len4 == 32 && limit->key_len6 == 64 &&
	       parts_begin_with_dest(parts) == ctx->text->by_dest;
}

static uint16_t flags_of(const struct rl_limit *limit, const struct compile_context *ctx)
{
	return (limit->key == RL_KEY_SOURCE || limit->key == RL_KEY_DEST ? RL_RULE_SIMPLE : 0) |
	       (is_lookup_address(limit, ctx) ? RL_RULE_LOOKUP_ADDRESS : 0) |
	       (parts_begin_with_dest(key_parts(limit)) ? RL_RULE_DEST : 0) |
	       (limit->unit == RL_BYTES || limit->unit == RL_BITS ? RL_RULE_BYTES : 0) |
	       (passes_over(limit) ? RL_RULE_SHADOW : 0) |
	       (limit->over == RL_OVER_BAN ? RL_RULE_BAN : 0) |
	       (limit_spares(limit) ? RL_RULE_UNLESS : 0) |
	       (limit->over == RL_OVER_CHALLENGE ? RL_RULE_CHALLENGE : 0) |
	       (limit->over == RL_OVER_TRUNCATE ? RL_RULE_TRUNCATE : 0);
}

void numbers_compile(const struct rl_limit *limit, const struct compile_context *ctx,
		     struct rl_rule *out)
{
	struct rl_limit part = limit_share(limit, ctx);

	out->clock = clock_choose(limit, ctx->hook, ctx->tick_ns);
	out->mask4 = mask_be64(RL_MAPPED_BITS - 64 + limit->key_len4);
	out->mask6[0] = mask_be64(limit->key_len6);
	out->mask6[1] = limit->key_len6 > 64 ? mask_be64(limit->key_len6 - 64) : 0;
	out->backend = backend_choose(limit, ctx);
	out->flags = flags_of(limit, ctx);
	if (out->backend == RL_BACKEND_CONNECTIONS)
		return; /* packets compare with limit.amount */
	switch (limit->algorithm) {
	case RL_TOKEN_BUCKET:
	case RL_LEAKY_BUCKET:
		gcra_compile(&part, &out->gcra);
		if (out->backend == RL_BACKEND_PARTS)
			parts_compile(limit, ctx, &out->parts);
		else if (!limit_paces(limit, ctx->hook)) /* pacing needs the exact state */
			batch_compile(limit, ctx, out);
		break;
	case RL_WARM_UP:
		warm_up_compile(&part, &out->warm_up);
		if (ctx->text->tc)
			out->warm_up.most = WARM_UP_MOST;
		break;
	default:
		window_compile(&part, &out->window);
		break;
	}
	if (out->backend == RL_BACKEND_UNCONFIRMED)
		unconfirmed_compile(limit, ctx, out);
}

/* The span of a limit that must be long compared to a tick. */
static uint64_t limit_span_ns(const struct rl_limit *limit)
{
	u128 span = 0;

	switch (limit->algorithm) {
	case RL_TOKEN_BUCKET:
	case RL_LEAKY_BUCKET:
	case RL_WARM_UP:
		span = (u128)limit->size * limit->period_ns / limit->amount;
		break;
	case RL_FIXED_WINDOW:
		span = limit->period_ns;
		break;
	case RL_SLIDING_WINDOW:
		span = limit->period_ns / limit->slots;
		break;
	default: /* a sliding-log always uses the precise clock */
		break;
	}
	return span < UINT64_MAX ? (uint64_t)span : UINT64_MAX;
}

bool limit_paces(const struct rl_limit *limit, enum rl_hook hook)
{
	return hook == RL_HOOK_EGRESS && limit->algorithm == RL_LEAKY_BUCKET && !passes_over(limit);
}

enum rl_clock clock_choose(const struct rl_limit *limit, enum rl_hook hook, uint64_t tick_ns)
{
	if (limit_paces(limit, hook))
		return RL_CLOCK_PRECISE;
	return limit_span_ns(limit) / TICKS_MIN >= tick_ns ? RL_CLOCK_TICK : RL_CLOCK_PRECISE;
}
