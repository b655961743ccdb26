// SPDX-License-Identifier: GPL-2.0-only
/* The data path's warm-up against Guava's formulas in long double: each step from the same state to
 * within grains, whole runs to within the stated 1 % of the rate, the shape of the ramp from cold,
 * what senders get that stay at the rate, against Guava with its waiting, refunds, and the corners
 * of the range.
 */
#include "models.h"

#include <math.h>

#include "algorithm/warm_up.h"
#include "turns.h"

#define GRAINS    16.0L
#define PERMIT    65536.0L
#define TOLERANCE 0.01L

struct warm_pair {
	struct rl_limit limit;
	struct rl_warm_up numbers;
	struct rl_state state;
	struct warm_model model;
	uint64_t start_ns;
};

static void warm_start(struct warm_pair *p, const struct rl_limit *limit, uint64_t now_ns)
{
	*p = (struct warm_pair){
		.limit = *limit, .model = warm_model(limit, now_ns), .start_ns = now_ns};
	warm_up_compile(limit, &p->numbers);
}

/* The state's `next`, in nanoseconds since the start. */
static long double warm_next(const struct warm_pair *p)
{
	return (__s64)(p->state.word - gcra_now(p->start_ns)) / GRAINS;
}

/* The first whole nanosecond at which a packet is admitted. */
static uint64_t warm_due_ns(const struct warm_pair *p)
{
	__s64 grains = p->state.word - gcra_now(p->start_ns);

	return p->state.word == 0 || grains < 0 ? p->start_ns : p->start_ns + (grains + 15) / 16;
}

static bool warm_take(struct warm_pair *p, uint64_t now_ns)
{
	struct rl_state before = p->state;
	__u64 taken;

	if (warm_up_consume(&p->numbers, &p->state, gcra_now(now_ns), 1, &taken))
		return true;
	assert_memory_equal(&before, &p->state, sizeof(before));
	return false;
}

static bool warm_admits(const struct warm_pair *p, __u64 now)
{
	return warm_up_admits(&p->numbers, &p->state, now);
}

static void assert_near(const char *what, long double is, long double should, long double tolerance)
{
	if (is - should > tolerance || should - is > tolerance)
		fail_msg("%s: %.4Lf, not %.4Lf within %.4Lf", what, is, should, tolerance);
}

/* ---- each step from the same state */

static void step_check(struct warm_pair *p, uint64_t now_ns)
{
	struct warm_model *m = &p->model;
	long double base, cost, rounded, off; /* the store may be off by so much */
	bool should;

	if (p->state.word) {
		m->next = warm_next(p);
		m->stored = p->state.aux / PERMIT;
	}
	base = now_ns - p->start_ns - (m->seen ? m->burst : 0);
	off = base > m->next ? (base - m->next) * m->refill : 0;
	base = base > m->next ? base : m->next;
	off = 4 / PERMIT + (off < m->max ? TOLERANCE * off : 0);
	off += .5L / GRAINS * (p->limit.size - 1) * m->refill; /* the burst, s to a grain */
	should = warm_model_admits(m, now_ns);
	assert_true(warm_admits(p, gcra_now(now_ns)) == should);
	assert_true(warm_take(p, now_ns) == should);
	if (!should)
		return;
	warm_model_take(m, now_ns);
	cost = m->next - base;
	rounded = (cost + m->burst) * (1e-6L + 0.5L / GRAINS / m->stable); /* s to a grain */
	assert_near("next", warm_next(p), m->next, 2 / GRAINS + rounded + m->slope * off);
	assert_near("stored", p->state.aux / PERMIT, m->stored, off);
}

static uint64_t warm_wait(const struct warm_pair *p, uint64_t now_ns)
{
	uint64_t due = warm_due_ns(p), left = due > now_ns ? due - now_ns : 0;
	uint64_t step = p->limit.period_ns / p->limit.amount;

	switch (random_below(16)) {
	case 0:
		return 0;
	case 1:
		return left ? left - 1 : 0;
	case 2:
		return left + random_below(p->limit.ramp_ns + 1);
	case 3:
		return random_below(8) ? left + step
				       : left + p->limit.ramp_ns - 1 + random_below(3);
	case 4:
		return random_below(64) ? 1 : NS_PER_HOUR * random_below(30);
	case 5:
		return left + random_below(8 * step + 1);
	case 6:
		return random_below(step + 2);
	default:
		return left;
	}
}

/* `next` may be 100 days ahead: then so may the clock be, but not past what the header promises. */
static void step_walk(const struct rl_limit *limit, uint64_t start_ns, unsigned int steps)
{
	uint64_t now_ns = start_ns;
	struct warm_pair p;

	warm_start(&p, limit, start_ns);
	for (unsigned int i = 0; i < steps; i++) {
		step_check(&p, now_ns);
		now_ns += warm_wait(&p, now_ns);
		if (now_ns - p.start_ns > 1ull << 55) {
			now_ns = start_ns;
			warm_start(&p, limit, start_ns);
		}
	}
}

static const char *const rates[] = {
	"warm-up 1/day ramp 1ns",
	"warm-up 1/day ramp 30s",
	"warm-up 1/day ramp 1d cold 2",
	"warm-up 1/day ramp 1d cold 100",
	"warm-up 3/second ramp 1ms",
	"warm-up 3/second ramp 10s",
	"warm-up 3/second ramp 1d cold 50",
	"warm-up 7/13s ramp 1h cold 2",
	"warm-up 333/second ramp 1ms cold 100",
	"warm-up 1000/second ramp 5s",
	"warm-up 1000/second ramp 1d cold 100",
	"warm-up 1m/second ramp 1d cold 2",
	"warm-up 14880952/second ramp 100ns",
	"warm-up 97000003/second ramp 2s cold 10",
	"warm-up 100m/second ramp 1ms",
	"warm-up 100m/second ramp 1d cold 100",
};

static void step_test(void **state)
{
	struct rl_limit limit = limit_of(*state);

	random_start(20240731);
	for (size_t i = 0; i < CLOCKS; i++)
		step_walk(&limit, clocks[i], TURNS(20000));
}

TEST(random_test)
{
	char line[RATE_TEXT_MAX], text[RATE_TEXT_MAX + 64];

	random_start(20240732);
	for (int i = 0; i < 5000; i++) {
		uint64_t ramp_ns = 1 + random_below(1ull << random_below(47));
		uint64_t cold = 2 + random_below(99);
		struct rl_limit limit;

		random_rate(line, sizeof(line), "warm-up", true, 1ull << 48);
		snprintf(text, sizeof(text), "%s ramp %lluns cold %llu", line,
			 (unsigned long long)(ramp_ns < NS_PER_DAY ? ramp_ns : NS_PER_DAY),
			 (unsigned long long)cold);
		limit = limit_of(text);
		step_walk(&limit, clocks[i % CLOCKS], 300);
	}
}

/* ---- whole runs, each with its own state */

/* Now twice what the rate is, now a pause, and no eye on when the next one is due. */
static uint64_t demand_wait(const struct rl_limit *limit)
{
	uint64_t step = limit->period_ns / limit->amount;

	switch (random_below(4096)) {
	case 0:
		return random_below(2 * limit->ramp_ns);
	case 1:
		return random_below(100 * step);
	default:
		return random_below(step + 2);
	}
}

static void whole_test(void **state)
{
	struct rl_limit limit = limit_of(*state);
	uint64_t now_ns = NS_PER_DAY, admitted = 0, should = 0;
	struct warm_pair p;

	random_start(20240733);
	warm_start(&p, &limit, now_ns);
	for (int i = 0; i < TURNS(500000) && now_ns < 1ull << 55; i++) {
		should += warm_model_admits(&p.model, now_ns);
		if (warm_model_admits(&p.model, now_ns))
			warm_model_take(&p.model, now_ns);
		admitted += warm_take(&p, now_ns);
		assert_near("admitted", admitted, should, TOLERANCE * should + 2);
		now_ns += demand_wait(&limit);
	}
	assert_true(should > 100);
}

/* ---- the ramp from cold under constant demand, and the rate that it ends at */

static const char *const ramps[] = {
	"warm-up 3/second ramp 1h",
	"warm-up 3/second ramp 1d cold 100",
	"warm-up 7/13s ramp 1d cold 10",
	"warm-up 1000/second ramp 1s cold 2",
	"warm-up 1000/second ramp 100s",
	"warm-up 1000/second ramp 1000s cold 100",
	"warm-up 333333/second ramp 3s cold 5",
	"warm-up 1m/second ramp 2s",
	"warm-up 14880952/second ramp 100ms cold 7",
	"warm-up 97000003/second ramp 10ms cold 100",
	"warm-up 100m/second ramp 10ms",
};

/* Offers at every instant, to the grain; how many are admitted until `end`. */
static uint64_t warm_demand(struct warm_pair *p, __u64 *now, __u64 end)
{
	uint64_t admitted = 0;
	__u64 taken;

	for (; (__s64)(end - *now) > 0; *now = p->state.word, admitted++) {
		assert_true(warm_up_consume(&p->numbers, &p->state, *now, 1, &taken));
		assert_false(warm_admits(p, p->state.word - 1));
	}
	return admitted;
}

ROWS(ramp_test, ramps, row)
{
	struct rl_limit limit = limit_of(*row);
	__u64 now = gcra_now(1790000000123456789ull), ramp = gcra_now(limit.ramp_ns);
	long double should;
	uint64_t admitted;
	struct warm_pair p;

	warm_start(&p, &limit, 0);
	should = p.model.max - p.model.threshold;
	admitted = warm_demand(&p, &now, now + ramp);
	assert_near("in the ramp", admitted, should, TOLERANCE * should + 1);
	should = limit.ramp_ns / p.model.stable;
	admitted = warm_demand(&p, &now, now + ramp);
	assert_near("after it", admitted, should, TOLERANCE * should + 1);
}

/* ---- senders at the rate */

/* Guava's caller, who waits in acquire() for its turn and so loses nothing: SmoothRateLimiter's
 * resync(), reserveEarliestAvailable(1) and storedPermitsToWaitTime(), in microseconds as there. */
struct guava {
	double stable_us, threshold, most, slope, cool_us;
	double stored, next_free_us;
};

static struct guava guava_start(const struct rl_limit *limit)
{
	double stable_us = limit->period_ns / 1e3 / limit->amount, warm_us = limit->ramp_ns / 1e3;
	double cold_us = stable_us * limit->cold, threshold = .5 * warm_us / stable_us;
	double most = threshold + 2 * warm_us / (stable_us + cold_us);

	return (struct guava){.stable_us = stable_us,
			      .threshold = threshold,
			      .most = most,
			      .slope = (cold_us - stable_us) / (most - threshold),
			      .cool_us = warm_us / most,
			      .stored = most};
}

/* Returns when a caller that comes at now_us has its permit. */
static double guava_acquire(struct guava *g, double now_us)
{
	double free_us, spend, above, wait_us;

	if (now_us > g->next_free_us) {
		g->stored += (now_us - g->next_free_us) / g->cool_us;
		g->stored = g->stored < g->most ? g->stored : g->most;
		g->next_free_us = now_us;
	}
	free_us = g->next_free_us;
	spend = g->stored < 1 ? g->stored : 1;
	above = g->stored - g->threshold;
	wait_us = 0;
	if (above > 0) {
		double dear = above < spend ? above : spend;

		wait_us = dear * (2 * g->stable_us + g->slope * (2 * above - dear)) / 2;
		spend -= dear;
	}
	wait_us += g->stable_us * spend;
	spend = g->stored < 1 ? 1 - g->stored : 0; /* fresh ones */
	g->next_free_us += wait_us + spend * g->stable_us;
	g->stored -= g->stored < 1 ? g->stored : 1;
	return free_us;
}

static const char *const paces[] = {
	"warm-up 1/hour ramp 5h",
	"warm-up 3/second ramp 1ms",
	"warm-up 7/13s ramp 1m cold 2",
	"warm-up 100/second ramp 6s",
	"warm-up 100/second ramp 6s cold 2",
	"warm-up 1000/second ramp 5s cold 10",
	"warm-up 1000/second ramp 2s cold 100",
	"warm-up 333333/second ramp 10ms cold 5",
	"warm-up 14880952/second ramp 100us",
	"warm-up 100m/second ramp 10us",
};

static const struct sender_row {
	const char *name;
	unsigned int together; /* packets at one instant */
	bool random;           /* exponential gaps; else even ones */
	unsigned int percent;  /* of the rate that it sends */
	unsigned int least;    /* percent of what Guava's caller gets */
} senders[] = {
	{"even, half the rate", 1, false, 50, 99},
	{"even", 1, false, 100, 99},
	{"even, twice the rate", 1, false, 200, 99},
	{"even, a flood", 1, false, 5000, 99},
	{"in pairs", 2, false, 100, 99},
	{"random, half the rate", 1, true, 50, 80},
	{"random, nine tenths", 1, true, 90, 85},
	{"random", 1, true, 100, 80},
	{"random, twice the rate", 1, true, 200, 97},
};

#define SENDER_SPAN 20000 /* intervals, in which each sends from 1.5 ramps on */

/* Sends until `end`; counts from `from` on what is offered, what Guava's caller gets, who waits,
 * each packet after the one before, and what the data path admits. */
static void sender_run(const struct rl_limit *limit, const struct sender_row *row,
		       uint64_t count[3])
{
	long double stable = (long double)limit->period_ns / limit->amount, t = 0;
	long double gap = stable * 100 * row->together / row->percent;
	long double from = 1.5L * limit->ramp_ns, end = from + SENDER_SPAN * stable;
	struct guava guava = guava_start(limit);
	double done_us = 0;
	struct warm_pair p;

	warm_start(&p, limit, NS_PER_DAY);
	for (uint64_t i = 0; t < end; i++) {
		uint64_t at_ns = (uint64_t)t;

		if (done_us < end / 1e3L)
			done_us = guava_acquire(&guava, fmax(done_us, at_ns / 1e3));
		count[0] += t >= from;
		count[1] += done_us >= (double)from / 1e3 && done_us < (double)end / 1e3;
		count[2] += warm_take(&p, NS_PER_DAY + at_ns) && t >= from;
		if ((i + 1) % row->together == 0)
			t += row->random ? -gap * logl((random_below(1u << 30) + 1) / 0x1p30L)
					 : gap;
	}
}

ROWS(sender_test, senders, row)
{
	random_start(20240736);
	for (size_t i = 0; i < ARRAY_SIZE(paces); i++) {
		struct rl_limit limit = limit_of(paces[i]);
		uint64_t count[3] = {0}, least; /* offered, of Guava's caller, admitted */

		sender_run(&limit, row, count);
		least = count[0] < SENDER_SPAN ? count[0] : SENDER_SPAN;
		assert_near("Guava's caller", fminl(count[0], count[1]), least, .02L * least);
		least = count[0] < count[1] ? count[0] : count[1];
		if (count[2] * 100 < least * row->least)
			fail_msg("%s: %llu of %llu pass, and %llu of Guava's caller", paces[i],
				 (unsigned long long)count[2], (unsigned long long)count[0],
				 (unsigned long long)count[1]);
	}
}

/* Never more than the burst and the rate, whoever sends. */
TEST(bound_test)
{
	random_start(20240737);
	for (size_t i = 0; i < ARRAY_SIZE(paces); i++) {
		struct rl_limit limit = limit_of(paces[i]);
		long double stable = (long double)limit.period_ns / limit.amount, debt = 0;
		uint64_t now_ns = NS_PER_DAY, step;
		struct warm_pair p;

		warm_start(&p, &limit, now_ns);
		for (int turn = 0; turn < 20000; turn++, now_ns += step) {
			debt += warm_take(&p, now_ns);
			assert_true(debt <= limit.size * (1 + TOLERANCE));
			step = random_below(random_below(64) ? 2 * stable : 3 * limit.ramp_ns) + 1;
			debt = step < debt * stable ? debt - step / stable : 0;
		}
	}
}

/* ---- refund */

/* The next packet is admitted at once, and pays what the one given back did. */
static void refund_test(void **state)
{
	struct rl_limit limit = limit_of(*state);
	uint64_t now_ns = 12345;
	struct warm_pair p;

	random_start(20240734);
	warm_start(&p, &limit, now_ns);
	for (int i = 0; i < 20000 && now_ns < 1ull << 55; i++) {
		__u64 taken, again;

		now_ns += warm_wait(&p, now_ns);
		if (!warm_up_consume(&p.numbers, &p.state, gcra_now(now_ns), 1, &taken))
			continue;
		warm_up_refund(&p.state, taken, 1);
		assert_true(warm_admits(&p, gcra_now(now_ns)));
		assert_true(warm_up_consume(&p.numbers, &p.state, gcra_now(now_ns), 1, &again));
		if (p.numbers.threshold >= WARM_UP_ONE)
			assert_true(again == taken);
	}
}

/* 0 stays the word of a fresh state, and an amount taken then is refunded exactly. */
TEST(zero_test)
{
	struct rl_limit limit = limit_of("warm-up 10/second ramp 1s");
	struct warm_pair p;
	__u64 taken = 0, now;

	warm_start(&p, &limit, 0);
	now = -warm_up_cost(&p.numbers, p.numbers.max);
	assert_true(warm_up_consume(&p.numbers, &p.state, now, 1, &taken));
	assert_true(p.state.word != 0);
	warm_up_refund(&p.state, taken, 1);
	assert_true(warm_admits(&p, now));
}

/* ---- another rate on an old state, which it acts on at once */

TEST(change_test)
{
	struct rl_limit before = limit_of("warm-up 1/day ramp 1d cold 100");
	struct rl_limit after = limit_of("warm-up 1000/second ramp 1s");
	uint64_t now_ns = NS_PER_DAY, admitted = 0;
	struct warm_pair p;

	warm_start(&p, &before, now_ns);
	assert_true(warm_take(&p, now_ns));
	warm_up_compile(&after, &p.numbers);
	for (int i = 0; i < 20000; i++, now_ns += NS_PER_MS)
		admitted += warm_take(&p, now_ns);
	if (admitted < 15000)
		fail_msg("%llu admitted in 20 s at 1000 a second", (unsigned long long)admitted);
}

/* ---- every rate that the parser accepts is held; it refuses those that could not be held */

TEST(range_test)
{
	static const char *const held[] = {
		"warm-up 1/day ramp 1d cold 100",
		"warm-up 100m/second ramp 1d cold 2",
		"warm-up 53000/6000d ramp 1d",
	};
	static const char *const refused[] = {
		"warm-up 1/day ramp 1152921504606846976ns", /* 2^60: no grain is left */
		"warm-up 1/day ramp 4611686018427387904ns",
		"warm-up 1/day ramp 30000d cold 100",
		"warm-up 100m/second ramp 40d",
		"warm-up 100m/second ramp 2d cold 2",
		"warm-up 53000/4611686018427387904ns ramp 1d",
	};

	random_start(20240735);
	must_refuse(refused, ARRAY_SIZE(refused));
	for (size_t i = 0; i < ARRAY_SIZE(held); i++) {
		struct rl_limit limit = limit_of(held[i]);

		if (limit.ramp_ns >> 59 ||
		    warm_model(&limit, 0).max * PERMIT >= (long double)(1ull << 62))
			fail_msg("%s overflows", held[i]);
		step_walk(&limit, clocks[i % CLOCKS], 2000);
	}
}

/* ---- */

static const struct {
	const char *name;
	CMUnitTestFunction test;
} rated[] = {{"every step", step_test}, {"whole run", whole_test}, {"refund", refund_test}};

AT_START(rated_add)
{
	for (size_t i = 0; i < ARRAY_SIZE(rated); i++)
		for (size_t k = 0; k < ARRAY_SIZE(rates); k++)
			test_add_named(rated[i].test, rates[k], "%s, %s", rated[i].name, rates[k]);
}
