/* SPDX-License-Identifier: GPL-2.0-only */
/* The data path's GCRA on the host, side by side with the exact token bucket of bucket_model.h.
 *
 * Where a packet costs whole grains every verdict is equal. Elsewhere costs are dithered, and then
 * a verdict may differ only where the tokens left are off by at most `bound` grains:
 *   what gcra_compile adds to the capacity (dither_bound of a full burst)
 *   + dither_bound of the packets since the bucket was last full
 *   + half of the cost's last digit (2^-cost_shift grains) for every packet or byte of them + 1.
 */
#pragma once

#include <string.h>

#include "algorithm/gcra.h"
#include "base/units.h"
#include "compile/compile.h"
#include "compile/numbers.h"
#include "policy_helpers.h"
#include "prog/bucket_model.h"

struct pair {
	struct rl_limit limit;
	struct rl_gcra gcra;
	struct bucket_model model;
	__u64 word;
	uint64_t now_ns;
	uint64_t packets, amount; /* since the bucket was last full, and the model too */
	bool exact;
};

static inline struct rl_limit limit_of(const char *rate)
{
	char line[RULE_TEXT_MAX];

	snprintf(line, sizeof(line), "rule any limit %s", rate);
	return must_parse(line, &on_xdp).limit;
}

static inline uint64_t bits_of(const struct rl_limit *limit)
{
	return limit->unit == RL_BITS ? 8 : 1;
}

static inline void pair_start(struct pair *p, const struct rl_limit *limit, uint64_t now_ns)
{
	*p = (struct pair){.limit = *limit, .model = bucket_model(limit), .now_ns = now_ns};
	p->model.last_ns = now_ns;
	p->exact = bucket_model_exact(&p->model);
	gcra_compile(limit, &p->gcra);
}

/* In grains; see the top of the file. */
static inline uint64_t pair_bound(const struct pair *p)
{
	uint64_t added = p->gcra.capacity - (uint64_t)(p->model.capacity / p->model.amount);

	if (p->exact)
		return 0;
	return added + dither_bound(p->packets) + (p->amount >> p->gcra.cost_shift >> 1) + 1;
}

static inline void pair_wait(struct pair *p, uint64_t ns)
{
	p->now_ns += ns;
	bucket_model_wait(&p->model, p->now_ns);
	if (p->model.debt == 0 && !gcra_level(&p->gcra, p->word, gcra_now(p->now_ns)))
		p->packets = p->amount = 0;
}

static inline i128 magnitude(i128 n)
{
	return n < 0 ? -n : n;
}

/* One packet. Where the verdicts may differ, the model follows the bucket. */
static inline bool pair_offer(struct pair *p, uint64_t amount)
{
	__u64 before = p->word, now = gcra_now(p->now_ns), taken = 0;
	i128 left = bucket_model_left(&p->model, amount);
	bool admitted = gcra_consume(&p->gcra, &p->word, now, amount, &taken);

	if (admitted != (left >= 0) &&
	    magnitude(left) > (i128)pair_bound(p) * (i128)p->model.amount)
		fail_msg("%llu/%lluns: %s wrongly, %g grains off, bound %llu", p->limit.amount,
			 p->limit.period_ns, admitted ? "admitted" : "refused",
			 (double)left / (double)p->model.amount, (unsigned long long)pair_bound(p));
	if (!admitted) {
		assert_true(p->word == before);
		return false;
	}
	assert_true(taken > 0 && p->word != 0);
	bucket_model_take(&p->model, amount);
	p->packets++;
	p->amount += amount;
	return true;
}

/* The bucket's state agrees with the model's. */
static inline void pair_compare(const struct pair *p)
{
	i128 level = gcra_level(&p->gcra, p->word, gcra_now(p->now_ns));
	i128 off = magnitude(level * (i128)p->model.amount - (i128)p->model.debt);

	assert_true(off <= (i128)pair_bound(p) * (i128)p->model.amount);
}

static inline uint64_t span_ns(const struct pair *p)
{
	return (p->gcra.capacity >> RL_GRAIN_SHIFT) + 1;
}

static inline uint64_t packet_ns(const struct pair *p, uint64_t amount)
{
	return (uint64_t)(p->model.unit * amount / p->model.amount >> RL_GRAIN_SHIFT);
}

static inline uint64_t random_wait(const struct pair *p, uint64_t amount)
{
	switch (random_below(16)) {
	case 0:
		return 1;
	case 1:
		return packet_ns(p, amount);
	case 2:
		return random_below(span_ns(p));
	case 3:
		return span_ns(p);
	case 4:
		return random_below(8) ? 4 * NS_PER_MS : NS_PER_HOUR * random_below(30);
	case 5:
	case 6:
	case 7:
		return random_below(2 * packet_ns(p, amount) + 2);
	default:
		return 0;
	}
}

static inline uint64_t random_amount(const struct pair *p)
{
	uint64_t bytes = p->limit.size / bits_of(&p->limit);

	if (p->limit.unit == RL_PACKETS)
		return 1;
	switch (random_below(8)) {
	case 0:
		return bytes < 0xfffff ? bytes + random_below(3) : 0xfffff; /* all, and too much */
	case 1:
		return 14 + random_below(65536);
	default:
		return 60 + random_below(1455);
	}
}

/* Nearly empty, as after a long attack: where large bursts are decided. */
static inline void pair_exhaust(struct pair *p)
{
	uint64_t exact = (uint64_t)(p->model.capacity / p->model.amount);
	uint64_t packet = (uint64_t)(p->model.unit * 1514 / p->model.amount);
	uint64_t spare = random_below(4 * packet + 1);
	uint64_t level = exact > spare ? exact - spare : exact;

	p->word = gcra_now(p->now_ns) + level;
	if (!p->word)
		p->word = 1;
	p->model.debt = (u128)(p->word - gcra_now(p->now_ns)) * p->model.amount;
	p->packets = p->amount = 0;
}

static inline void walk(const struct rl_limit *limit, uint64_t start_ns, unsigned int steps)
{
	struct pair p;

	pair_start(&p, limit, start_ns);
	for (unsigned int i = 0; i < steps; i++) {
		uint64_t amount = random_amount(&p);

		if (!random_below(2000))
			pair_exhaust(&p);
		pair_wait(&p, random_wait(&p, amount));
		pair_offer(&p, amount);
		pair_compare(&p);
	}
}
