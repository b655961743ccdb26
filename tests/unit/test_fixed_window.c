// SPDX-License-Identifier: GPL-2.0-only
/* The data path's fixed window against the exact model: every verdict and every sum, the state that
 * a refused packet leaves unchanged, refunds, and the corners of the range.
 *
 * Where the start's low 12 bits are those in the word the window starts 1 ns before its first
 * packet (see the header); there, and nowhere else, the model follows.
 */
#include "models.h"

#include "algorithm/fixed_window.h"
#include "turns.h"

#define TAG(ns) (((ns) + 1) & 0xfff)

struct fixed_pair {
	struct rl_limit limit;
	struct rl_window window;
	struct rl_state state;
	struct fixed_model model;
};

static void fixed_start(struct fixed_pair *p, const struct rl_limit *limit)
{
	*p = (struct fixed_pair){.limit = *limit, .model = fixed_model(limit)};
	window_compile(limit, &p->window);
}

/* A window that the packet at now_ns has just opened. */
static void fixed_follow(struct fixed_pair *p, const struct rl_state *before, uint64_t now_ns)
{
	if (p->state.aux == now_ns + 1)
		return;
	assert_true(before->word >> FIXED_WINDOW_SHIFT == TAG(now_ns));
	assert_true(p->state.aux == now_ns);
	p->model.start_ns = now_ns - 1;
}

static bool fixed_offer(struct fixed_pair *p, uint64_t now_ns, uint64_t amount, __u64 *taken)
{
	struct rl_state before = p->state;
	bool should = fixed_model_admits(&p->model, now_ns, amount);
	bool opens = fixed_model_is_over(&p->model, now_ns);
	u128 sum = fixed_model_sum(&p->model, now_ns);

	assert_true(fixed_window_sum(&p->window, &p->state, now_ns) * (u128)p->model.unit == sum);
	assert_true(fixed_window_admits(&p->window, &p->state, now_ns, amount) == should);
	if (fixed_window_consume(&p->window, &p->state, now_ns, amount, taken) != should)
		fail_msg("%llu at %llu: %s wrongly", (unsigned long long)amount,
			 (unsigned long long)now_ns, should ? "refused" : "admitted");
	if (!should) {
		assert_memory_equal(&before, &p->state, sizeof(before));
		return false;
	}
	fixed_model_take(&p->model, now_ns, amount);
	if (opens)
		fixed_follow(p, &before, now_ns);
	sum = fixed_model_sum(&p->model, now_ns);
	assert_true(fixed_window_sum(&p->window, &p->state, now_ns) * (u128)p->model.unit == sum);
	return true;
}

/* Refunds of an amount taken just now, or a while ago and perhaps in a window that is over. */
static void fixed_refund(struct fixed_pair *p, uint64_t now_ns, uint64_t amount, __u64 taken)
{
	uint64_t sum = fixed_window_sum(&p->window, &p->state, now_ns);
	__u64 other;

	if (random_below(2)) {
		fixed_window_refund(&p->state, taken);
		assert_true(fixed_window_sum(&p->window, &p->state, now_ns) == sum - amount);
	} else {
		uint64_t more = fixed_offer(p, now_ns, 1, &other) ? 1 : 0;

		fixed_window_refund(&p->state, taken);
		assert_true(fixed_window_sum(&p->window, &p->state, now_ns) == sum + more - amount);
	}
	p->model.sum -= (u128)p->model.unit * amount;
}

static void fixed_walk(const struct rl_limit *limit, uint64_t start_ns, unsigned int steps)
{
	struct trace t = trace_start(limit, start_ns);
	struct fixed_pair p;
	__u64 taken = 0;

	fixed_start(&p, limit);
	for (unsigned int i = 0; i < steps; i++) {
		uint64_t sum = fixed_window_sum(&p.window, &p.state, t.now_ns);
		uint64_t amount = trace_amount(limit, p.window.amount - sum);

		if (fixed_offer(&p, t.now_ns, amount, &taken) && !random_below(8))
			fixed_refund(&p, t.now_ns, amount, taken);
		trace_wait(&t, p.model.start_ns + p.model.period_ns);
	}
}

/* ---- rows */

static const char *const rates[] = {
	"fixed-window 1/day",
	"fixed-window 3/second",
	"fixed-window 7/13s",
	"fixed-window 1000/second",
	"fixed-window 100m/second",
	"fixed-window 1/10ns",
	"fixed-window 64kbit",
	"fixed-window 12345678byte/s",
	"fixed-window 12119bit/7us",
	"fixed-window 10gbit",
	"fixed-window 400gbit",
	"fixed-window 1514byte/31ns",
	"fixed-window 281474976710656/2814750s",
	"fixed-window 4503599627370495byte/2d", /* 2^52 - 1 */
};

ROWS(walk_test, rates, row)
{
	struct rl_limit limit = limit_of(*row);

	random_start(20240701);
	for (size_t i = 0; i < CLOCKS; i++)
		fixed_walk(&limit, clocks[i], TURNS(200000));
}

/* Endless offers: the amount admitted from the first packet of a window to its end. */
TEST(sum_test)
{
	static const char *const saturated[] = {"fixed-window 7/13us", "fixed-window 50000byte/1ms",
						"fixed-window 100/4096ns"};

	random_start(20240702);
	for (size_t i = 0; i < ARRAY_SIZE(saturated); i++) {
		struct rl_limit limit = limit_of(saturated[i]);
		uint64_t now_ns = clocks[i], first_ns = 0, sum = limit.amount, taken_sum = 0;
		struct rl_state s = {0};
		struct rl_window w;
		__u64 taken;

		window_compile(&limit, &w);
		for (int n = 0; n < 1000000; n++, now_ns += random_below(w.period_ns / 40)) {
			uint64_t amount = 1 + random_below(limit.unit == RL_PACKETS ? 1 : 1514);

			now_ns += now_ns + 1 == first_ns + w.period_ns; /* see the top */
			if (!fixed_window_consume(&w, &s, now_ns, amount, &taken))
				continue;
			if (!taken_sum || now_ns >= first_ns + w.period_ns) {
				first_ns = now_ns;
				sum = 0;
			}
			sum += amount;
			taken_sum += amount;
			assert_true(sum <= w.amount);
		}
		assert_true(taken_sum > w.amount * 100);
	}
}

/* Every window's start has the low 12 bits of the one before. */
TEST(collision_test)
{
	static const uint64_t laps[] = {1, 2, 3, 4096, 1000000};
	struct rl_limit limit = limit_of("fixed-window 3/4096ns");
	__u64 taken;

	for (size_t i = 0; i < ARRAY_SIZE(laps) * CLOCKS; i++) {
		uint64_t lap_ns = 4096 * laps[i / CLOCKS], now_ns = clocks[i % CLOCKS];
		struct fixed_pair p;

		fixed_start(&p, &limit);
		for (int n = 0; n < 3000; n++, now_ns += lap_ns) {
			for (int k = 0; k < 4; k++)
				assert_true(fixed_offer(&p, now_ns, 1, &taken) == (k < 3));
			assert_false(fixed_offer(&p, now_ns + 4094, 1, &taken));
		}
	}
}

TEST(random_test)
{
	char line[RATE_TEXT_MAX];

	random_start(20240703);
	for (int i = 0; i < 3000; i++) {
		struct rl_limit limit;

		random_rate(line, sizeof(line), "fixed-window", i % 2, (1ull << 52) - 1);
		limit = limit_of(line);
		fixed_walk(&limit, clocks[i % CLOCKS], 500);
	}
}

/* ---- another rate on an old state, which it acts on at once */

TEST(change_test)
{
	static const char *const sequence[] = {"fixed-window 10/s", "fixed-window 3/s",
					       "fixed-window 1000/s", "fixed-window 20/13s",
					       "fixed-window 20/ms"};
	struct rl_limit limit = limit_of(sequence[0]);
	struct trace t = trace_start(&limit, NS_PER_DAY);
	struct fixed_pair p;
	__u64 taken;

	random_start(20240704);
	fixed_start(&p, &limit);
	for (int i = 0; i < 1000000; i++) {
		fixed_offer(&p, t.now_ns, 1, &taken);
		trace_wait(&t, p.model.start_ns + p.model.period_ns);
		if (random_below(100))
			continue;
		limit = limit_of(sequence[random_below(ARRAY_SIZE(sequence))]);
		window_compile(&limit, &p.window);
		p.model.amount = limit.amount;
		p.model.period_ns = limit.period_ns;
	}
}

/* A refund for a window that is over does not count in the next. */
TEST(late_refund_test)
{
	struct rl_limit limit = limit_of("fixed-window 10/s");
	struct fixed_pair p;
	__u64 old = 0, taken;

	fixed_start(&p, &limit);
	assert_true(fixed_offer(&p, 5, 3, &old));
	assert_true(fixed_offer(&p, 5 + NS_PER_SECOND, 4, &taken));
	fixed_window_refund(&p.state, old);
	assert_true(fixed_window_sum(&p.window, &p.state, 5 + NS_PER_SECOND) == 4);
}

/* The limit holds for every rate that the parser accepts; the parser refuses rates for which it
 * could not. */
TEST(range_test)
{
	static const char *const held[] = {
		"fixed-window 4503599627370495byte/2d",
		"fixed-window 4503599627370495byte/6000d",
		"fixed-window 36028797018963967bit/2d",
		"fixed-window 281474976710656/6000d",
		"fixed-window 53000/6000d",
	};
	static const char *const refused[] = {
		"fixed-window 4503599627370496byte/2d",
		"fixed-window 4503599627370497byte/2d",
		"fixed-window 5000000000000000byte/2d",
		"fixed-window 18446744073709551615byte/40000d",
		"fixed-window 36028797018963968bit/2d",
		"fixed-window 53000/4611686018427387904ns",
	};

	random_start(20240705);
	must_refuse(refused, ARRAY_SIZE(refused));
	for (size_t i = 0; i < ARRAY_SIZE(held); i++) {
		struct rl_limit limit = limit_of(held[i]);

		if (limit.amount / bits_of(&limit) > FIXED_WINDOW_MASK)
			fail_msg("%s is not held", held[i]);
		fixed_walk(&limit, clocks[i % CLOCKS], 10000);
	}
}
