// SPDX-License-Identifier: GPL-2.0-only
/* The data path's sliding log against a plain list of times: every verdict, exactly N in every
 * window, the state that a refused packet leaves unchanged, refunds, N and P changed under way, and
 * rings from just large enough to the largest.
 */
#include "models.h"

#include "algorithm/sliding_log.h"
#include "turns.h"

struct log_pair {
	struct rl_window window;
	struct log_model model;
	uint32_t depth;
	union {
		struct rl_log state;
		uint8_t bytes[RL_LOG_SIZE(RL_SLIDING_LOG_MAX)];
	};
};

static void log_start(struct log_pair *p, const struct rl_limit *limit, uint32_t depth)
{
	memset(p->bytes, 0, sizeof(p->bytes));
	p->depth = depth;
	log_model_start(&p->model, limit);
	window_compile(limit, &p->window);
}

/* The smallest ring that holds N, and larger ones: 0, 1, 2, … */
static uint32_t depth_of(const struct rl_limit *limit, unsigned int doublings)
{
	uint32_t depth = 1;

	while (depth < limit->amount)
		depth *= 2;
	for (; doublings && depth < RL_SLIDING_LOG_MAX; doublings--)
		depth *= 2;
	return depth;
}

static bool log_offer(struct log_pair *p, uint64_t now_ns, __u64 *taken)
{
	bool should = log_model_admits(&p->model, now_ns);
	uint8_t before[RL_LOG_SIZE(RL_SLIDING_LOG_MAX)];

	if (!should)
		memcpy(before, p->bytes, RL_LOG_SIZE(p->depth));
	assert_true(sliding_log_admits(&p->window, &p->state, now_ns, p->depth, 1) == should);
	if (sliding_log_consume(&p->window, &p->state, now_ns, p->depth, taken) != should)
		fail_msg("%llu/%llu at %llu: %s wrongly", p->window.amount, p->window.period_ns,
			 (unsigned long long)now_ns, should ? "refused" : "admitted");
	if (!should) {
		assert_memory_equal(before, p->bytes, RL_LOG_SIZE(p->depth));
		return false;
	}
	log_model_take(&p->model, now_ns);
	assert_true(log_model_recent(&p->model, now_ns) <= p->model.amount);
	return true;
}

/* The instant at which the oldest that counts no longer does. */
static uint64_t log_edge(const struct log_pair *p, uint64_t now_ns)
{
	size_t recent = log_model_recent(&p->model, now_ns);

	return recent ? p->model.time_ns[p->model.count - recent] + p->model.period_ns : 0;
}

static void log_walk(const struct rl_limit *limit, uint32_t depth, uint64_t start_ns,
		     unsigned int steps)
{
	struct trace t = trace_start(limit, start_ns);
	static struct log_pair p;
	__u64 taken;

	log_start(&p, limit, depth);
	for (unsigned int i = 0; i < steps; i++) {
		log_offer(&p, t.now_ns, &taken);
		trace_wait(&t, log_edge(&p, t.now_ns));
	}
}

/* ---- rows */

static const char *const rates[] = {
	"sliding-log 1/day",      "sliding-log 3/second",     "sliding-log 7/13s",
	"sliding-log 1/10ns",     "sliding-log 2/20ns",       "sliding-log 64/640ns",
	"sliding-log 100/second", "sliding-log 1000/second",  "sliding-log 1023/11us",
	"sliding-log 1024/ms",    "sliding-log 1024/10240ns", "sliding-log 1000/1000d",
};

ROWS(walk_test, rates, row)
{
	struct rl_limit limit = limit_of(*row);

	random_start(20240721);
	for (size_t i = 0; i < CLOCKS; i++)
		log_walk(&limit, depth_of(&limit, i % 4), clocks[i],
			 TURNS(limit.amount > 100 ? 30000 : 100000));
}

TEST(random_test)
{
	char line[RATE_TEXT_MAX];

	random_start(20240722);
	for (int i = 0; i < TURNS(2000); i++) {
		struct rl_limit limit;

		random_rate(line, sizeof(line), "sliding-log", true, RL_SLIDING_LOG_MAX);
		limit = limit_of(line);
		log_walk(&limit, depth_of(&limit, i % 3), clocks[i % CLOCKS], 1000);
	}
}

/* Every N, filled at once and one by one, at each N free again exactly P later. */
TEST(every_amount_test)
{
	struct rl_limit limit = limit_of("sliding-log 1024/ms");
	static struct log_pair p;
	__u64 taken;

	for (limit.amount = 1; limit.amount <= RL_SLIDING_LOG_MAX;
	     limit.amount += 1 + limit.amount / 9)
		for (unsigned int more = 0; more < 2; more++) {
			uint64_t n = limit.amount, now_ns = clocks[n % CLOCKS];

			log_start(&p, &limit, depth_of(&limit, more));
			for (uint64_t i = 0; i < 3 * n;
			     i++, now_ns += i % n ? 1 : NS_PER_MS - n + 1)
				assert_true(log_offer(&p, now_ns, &taken));
			assert_int_equal(p.state.head, 3 * n);
			now_ns -= NS_PER_MS - n + 2;
			for (uint64_t i = 0; i < n; i++)
				assert_false(log_offer(&p, now_ns, &taken));
		}
}

/* ---- another N or P on an old state, which it acts on at once */

TEST(change_test)
{
	static const char *const sequence[] = {
		"sliding-log 10/s",    "sliding-log 3/s",      "sliding-log 256/s",
		"sliding-log 200/13s", "sliding-log 10/100ms", "sliding-log 1/s",
	};
	struct rl_limit limit = limit_of(sequence[0]);
	struct trace t = trace_start(&limit, NS_PER_DAY);
	static struct log_pair p;
	__u64 taken;

	random_start(20240723);
	t.rush_most = 300;
	log_start(&p, &limit, 256);
	for (int i = 0; i < TURNS(1000000); i++) {
		log_offer(&p, t.now_ns, &taken);
		trace_wait(&t, log_edge(&p, t.now_ns));
		if (random_below(200))
			continue;
		limit = limit_of(sequence[random_below(ARRAY_SIZE(sequence))]);
		window_compile(&limit, &p.window);
		p.model.amount = limit.amount;
		p.model.period_ns = limit.period_ns;
	}
}

/* ---- refunds: never more than N, refused packets change nothing, and no packet waits longer than
 * P. The model keeps the true times; the log may refuse more for a while. */

struct refund_row {
	const char *name, *rate;
	uint32_t depth;
	bool changes; /* N goes up and down as well */
};

static const struct refund_row refunds[] = {
	{"refund, 1 of 1", "sliding-log 1/us", 1, false},
	{"refund, 1 of 2", "sliding-log 1/us", 2, false},
	{"refund, 2 of 2", "sliding-log 2/us", 2, false},
	{"refund, 7 of 8", "sliding-log 7/us", 8, false},
	{"refund, 64 of 64", "sliding-log 64/us", 64, false},
	{"refund, 64 of 1024", "sliding-log 64/us", 1024, false},
	{"refund, up to 8 of 8, N changes", "sliding-log 8/us", 8, true},
	{"refund, up to 8 of 64, N changes", "sliding-log 8/us", 64, true},
};

static void refund_offer(struct log_pair *p, uint64_t now_ns)
{
	bool may = log_model_admits(&p->model, now_ns);
	uint8_t before[RL_LOG_SIZE(RL_SLIDING_LOG_MAX)];
	__u64 taken;

	memcpy(before, p->bytes, RL_LOG_SIZE(p->depth));
	if (!sliding_log_consume(&p->window, &p->state, now_ns, p->depth, &taken)) {
		assert_memory_equal(before, p->bytes, RL_LOG_SIZE(p->depth));
		return;
	}
	if (!may)
		fail_msg("above %llu", p->window.amount);
	if (random_below(3))
		log_model_take(&p->model, now_ns);
	else
		sliding_log_refund(&p->window, &p->state, p->depth, taken);
}

ROWS(refund_test, refunds, row)
{
	struct rl_limit limit = limit_of(row->rate);
	struct trace t = trace_start(&limit, NS_PER_DAY);
	static struct log_pair p;

	random_start(20240724);
	log_start(&p, &limit, row->depth);
	for (int i = 0; i < TURNS(100000); i++) {
		refund_offer(&p, t.now_ns);
		trace_wait(&t, log_edge(&p, t.now_ns));
		if (!row->changes || random_below(20))
			continue;
		p.window.amount = 1 + random_below(limit.amount);
		p.model.amount = p.window.amount;
	}
}

/* A packet that is given back costs no other one its place: alone, it never was. */
TEST(refund_alone_test)
{
	static const uint32_t depths[] = {1, 2, 8};
	static struct log_pair p;
	__u64 taken = 0;

	for (size_t i = 0; i < ARRAY_SIZE(depths); i++) {
		struct rl_limit limit = limit_of("sliding-log 1/s");

		log_start(&p, &limit, depths[i]);
		for (uint64_t n = 0; n < 20; n++) {
			uint64_t now_ns = 5 + n * NS_PER_SECOND;

			assert_true(
				sliding_log_consume(&p.window, &p.state, now_ns, p.depth, &taken));
			sliding_log_refund(&p.window, &p.state, p.depth, taken);
			assert_true(
				sliding_log_consume(&p.window, &p.state, now_ns, p.depth, &taken));
			assert_false(
				sliding_log_consume(&p.window, &p.state, now_ns, p.depth, &taken));
		}
	}
}
