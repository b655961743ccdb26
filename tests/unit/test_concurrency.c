// SPDX-License-Identifier: GPL-2.0-only
/* Two CPUs on one state, at full speed: every bound of rlctl-policy(5) holds for what both admitted
 * together.
 *
 * The clock is a counter that both advance. None may run ahead of what the other read last by more
 * than `lead_ns`, as CPUs that took the time and were late; one may read it `lag_ns` in the past.
 *
 * check: alone check: timeout 240
 */
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

#include "models.h"

#include "algorithm/fixed_window.h"
#include "algorithm/sliding_log.h"
#include "algorithm/sliding_window.h"
#include "algorithm/warm_up.h"
#include "random.h"
#include "turns.h"

#define OFFERS  TURNS(500000)
#define MOST_S  4 /* for a row: where other work has the processors, the two wait for each other */
#define LOG_MAX 1024
#define IDLE    UINT64_MAX

struct admission {
	uint64_t at_ns;
	uint64_t amount;
	uint64_t taken;
};

struct contest_row {
	const char *name, *limit;
	uint64_t step_ns; /* the clock advances by 0..2 * step_ns an offer */
	uint64_t lead_ns, lag_ns;
};

struct contest {
	const struct contest_row *row;
	struct rl_limit limit;
	struct rl_gcra gcra;
	struct rl_window window;
	struct rl_warm_up warm_up;
	pthread_barrier_t start;
	uint64_t clock_ns __attribute__((aligned(64)));
	uint64_t read_ns[2]; /* what each read last, IDLE when done */
	union {
		struct rl_state state;
		struct rl_slots slots;
		struct rl_log log;
		uint64_t words[1 + LOG_MAX];
	} __attribute__((aligned(64)));
	time_t end_s;
	struct admission *admitted;
	size_t offered[2], count[2];
};

static uint64_t clock_read(struct contest *c, int who, uint64_t step_ns)
{
	uint64_t now_ns = __sync_add_and_fetch(&c->clock_ns, step_ns);

	__atomic_store_n(&c->read_ns[who], now_ns, __ATOMIC_SEQ_CST);
	for (unsigned int spins = 1;; spins++) {
		uint64_t other_ns = __atomic_load_n(&c->read_ns[!who], __ATOMIC_SEQ_CST);

		if (other_ns == IDLE || now_ns <= other_ns + c->row->lead_ns)
			break;
		if (spins % 64 == 0)
			sched_yield();
	}
	return who ? now_ns - c->row->lag_ns : now_ns;
}

static bool contest_take(struct contest *c, uint64_t now_ns, uint64_t amount, __u64 *taken)
{
	switch (c->limit.algorithm) {
	case RL_FIXED_WINDOW:
		return fixed_window_consume(&c->window, &c->state, now_ns, amount, taken);
	case RL_SLIDING_WINDOW:
		return sliding_window_consume(&c->window, &c->slots, now_ns, amount, taken);
	case RL_SLIDING_LOG:
		return sliding_log_consume(&c->window, &c->log, now_ns, LOG_MAX, taken);
	case RL_WARM_UP:
		return warm_up_consume(&c->warm_up, &c->state, gcra_now(now_ns), 1, taken);
	default:
		return gcra_consume(&c->gcra, &c->state.word, gcra_now(now_ns), amount, taken);
	}
}

static void contest_run(struct contest *c, int who)
{
	struct admission *next = c->admitted + who * OFFERS;
	uint64_t random = 88172645463325252ull + who;
	unsigned int i;
	cpu_set_t cpu;
	__u64 taken;

	CPU_ZERO(&cpu);
	CPU_SET(who, &cpu);
	pthread_setaffinity_np(pthread_self(), sizeof(cpu), &cpu); /* if there are two */
	pthread_barrier_wait(&c->start);
	for (i = 0; i < OFFERS && (i % 1024 || time(NULL) < c->end_s); i++) {
		uint64_t now_ns, amount;

		now_ns = clock_read(c, who, random_under(&random, 2 * c->row->step_ns + 1));
		amount = c->limit.unit == RL_PACKETS ? 1 : 60 + random_under(&random, 1455);
		if (contest_take(c, now_ns, amount, &taken))
			*next++ = (struct admission){now_ns, amount, taken};
	}
	__atomic_store_n(&c->read_ns[who], IDLE, __ATOMIC_SEQ_CST);
	c->offered[who] = i;
	c->count[who] = next - (c->admitted + who * OFFERS);
}

static void *contest_second(void *contest)
{
	contest_run(contest, 1);
	return NULL;
}

static int earlier(const void *a, const void *b)
{
	uint64_t x = ((const struct admission *)a)->at_ns;
	uint64_t y = ((const struct admission *)b)->at_ns;

	return x < y ? -1 : x > y;
}

/* ---- the bounds, over all admissions in order of their own clocks */

/* No window of length P holds more than N. */
static void log_bound(const struct contest *c, size_t count)
{
	for (size_t i = c->limit.amount; i < count; i++)
		if (c->admitted[i].at_ns - c->admitted[i - c->limit.amount].at_ns <
		    c->limit.period_ns)
			fail_msg("%llu in less than a period", c->limit.amount + 1);
}

/* Two windows of one tag are not adjacent, and begin a multiple of 4096 ns apart: a packet that
 * comes P plus the uncertainty of the time after the start of the first belongs to another, if the
 * uncertainty is small enough.
 */
static void fixed_bound(const struct contest *c, size_t count)
{
	static struct {
		uint64_t first_ns, sum;
	} windows[4096];
	uint64_t doubt_ns = c->row->lag_ns + c->row->lead_ns;
	uint64_t reach_ns = c->limit.period_ns + doubt_ns;
	uint64_t worst = 0, broken = 0;

	assert_true(((2 * c->limit.period_ns - 1) | 4095) + 1 - doubt_ns > reach_ns);
	memset(windows, 0, sizeof(windows));
	for (size_t i = 0; i < count; i++) {
		const struct admission *a = &c->admitted[i];
		uint64_t tag = a->taken >> FIXED_WINDOW_SHIFT;

		if (a->at_ns - windows[tag].first_ns > reach_ns) {
			windows[tag].first_ns = a->at_ns;
			windows[tag].sum = 0;
		}
		windows[tag].sum += a->amount;
		broken += windows[tag].sum > c->window.amount &&
			  windows[tag].sum - a->amount <= c->window.amount;
		worst = windows[tag].sum > worst ? windows[tag].sum : worst;
	}
	if (broken)
		fail_msg("%llu windows hold more than %llu, up to %llu", (unsigned long long)broken,
			 c->window.amount, (unsigned long long)worst);
}

/* Never more than N in as many slots as a period has. */
static void slots_bound(const struct contest *c, size_t count)
{
	uint64_t first = IDLE, last = 0, sum = 0, worst = 0, broken = 0, *parts;

	for (size_t i = 0; i < count; i++) {
		first = c->admitted[i].taken < first ? c->admitted[i].taken : first;
		last = c->admitted[i].taken > last ? c->admitted[i].taken : last;
	}
	parts = calloc(last - first + 1, sizeof(*parts));
	assert_non_null(parts);
	for (size_t i = 0; i < count; i++)
		parts[c->admitted[i].taken - first] += c->admitted[i].amount;
	for (uint64_t slot = 0; slot <= last - first; slot++) {
		sum += parts[slot];
		if (slot >= c->limit.slots)
			sum -= parts[slot - c->limit.slots];
		broken += sum > c->window.amount;
		worst = sum > worst ? sum : worst;
	}
	free(parts);
	if (broken)
		fail_msg("%llu of %llu times more than %llu, up to %llu",
			 (unsigned long long)broken, (unsigned long long)(last - first + 1),
			 c->window.amount, (unsigned long long)worst);
}

/* From any admission to any later one: the burst and the rate. A clock that lags may make an
 * admission look earlier than it was. */
static void bucket_bound(const struct contest *c, size_t count)
{
	struct bucket_model m = bucket_model(&c->limit);
	u128 slack = (u128)(c->row->lag_ns + c->row->lead_ns) << RL_GRAIN_SHIFT;
	u128 full = m.capacity + (slack + dither_bound(count)) * m.amount;

	m.last_ns = count ? c->admitted[0].at_ns : 0;
	for (size_t i = 0; i < count; i++) {
		bucket_model_wait(&m, c->admitted[i].at_ns);
		bucket_model_take(&m, c->admitted[i].amount);
		assert_true(m.debt <= full);
	}
}

/* Each paid for a permit of its own, a stable interval at least: the burst and the rate, as of a
 * bucket. */
static void warm_bound(const struct contest *c, size_t count)
{
	uint64_t slack = gcra_now(c->row->lag_ns + c->row->lead_ns), debt = 0, past = 0;

	for (size_t i = 0; i < count; i++) {
		if (i)
			past = gcra_now(c->admitted[i].at_ns - c->admitted[i - 1].at_ns);
		debt = (debt > past ? debt - past : 0) + c->warm_up.stable;
		assert_true(debt <= c->warm_up.stable + c->warm_up.burst + slack);
	}
}

static void (*const bounds[RL_ALGORITHM_COUNT])(const struct contest *c, size_t count) = {
	[RL_TOKEN_BUCKET] = bucket_bound, [RL_LEAKY_BUCKET] = bucket_bound,
	[RL_FIXED_WINDOW] = fixed_bound,  [RL_SLIDING_WINDOW] = slots_bound,
	[RL_SLIDING_LOG] = log_bound,     [RL_WARM_UP] = warm_bound,
};

/* ---- */

static void contest_numbers(struct contest *c)
{
	if (c->limit.algorithm <= RL_LEAKY_BUCKET)
		gcra_compile(&c->limit, &c->gcra);
	else if (c->limit.algorithm == RL_WARM_UP)
		warm_up_compile(&c->limit, &c->warm_up);
	else
		window_compile(&c->limit, &c->window);
}

static const struct contest_row rows[] = {
	{"token bucket", "100m/second burst 64", 4, 500, 0},
	{"token bucket, one lags", "100m/second burst 64", 4, 500, 3000},
	{"token bucket, bytes", "10gbit burst 64kibyte", 300, 5000, 1000},
	{"leaky bucket", "leaky-bucket 100m/second queue 3", 4, 500, 0},
	{"leaky bucket, one lags", "leaky-bucket 50m/second queue 3", 5, 500, 3000},
	{"fixed window, together", "fixed-window 3/5us", 100, 200, 0},
	{"fixed window", "fixed-window 50/5us", 40, 1000, 0},
	{"fixed window, one lags", "fixed-window 50/10us", 40, 500, 3000},
	{"fixed window, one is late", "fixed-window 100/20us", 40, 9000, 0},
	{"fixed window, short", "fixed-window 5/50ns", 3, 1500, 0},
	{"fixed window, short, one lags", "fixed-window 10/200ns", 5, 1500, 300},
	{"fixed window, bytes", "fixed-window 20000byte/10us", 300, 3000, 1000},
	{"sliding window, together", "sliding-window 3/5us slots 10", 100, 200, 0},
	{"sliding window", "sliding-window 50/10us slots 10", 50, 500, 0},
	{"sliding window, 16 slots", "sliding-window 50/16us slots 16", 80, 500, 0},
	{"sliding window, one lags", "sliding-window 50/10us slots 10", 50, 400, 500},
	{"sliding window, 2 slots, one lags", "sliding-window 5/2us slots 2", 50, 400, 500},
	{"sliding window, 16 slots, one lags", "sliding-window 50/16us slots 16", 80, 400, 500},
	{"sliding window, bytes", "sliding-window 20000byte/10us slots 5", 300, 900, 1000},
	{"sliding log, together", "sliding-log 1/100ns", 10, 50, 0},
	{"sliding log", "sliding-log 50/5us", 40, 1000, 0},
	{"sliding log, one lags", "sliding-log 50/5us", 40, 1000, 3000},
	{"sliding log, one is late", "sliding-log 50/5us", 40, 100000, 0},
	{"sliding log, full depth", "sliding-log 1024/200us", 70, 1000, 3000},
	{"warm-up", "warm-up 10m/second ramp 1ms", 20, 1000, 0},
	{"warm-up, one lags", "warm-up 10m/second ramp 1ms", 20, 1000, 3000},
	{"warm-up, fast", "warm-up 97000003/second ramp 1us", 4, 200, 100},
};

ROWS(contest_test, rows, row)
{
	static struct contest c;
	pthread_t second;
	size_t count, offered;

	memset(&c, 0, sizeof(c));
	c.row = row;
	c.limit = limit_of(c.row->limit);
	c.clock_ns = c.read_ns[0] = c.read_ns[1] = NS_PER_DAY;
	c.admitted = calloc(2 * OFFERS, sizeof(*c.admitted));
	assert_non_null(c.admitted);
	contest_numbers(&c);
	c.end_s = time(NULL) + MOST_S;
	pthread_barrier_init(&c.start, NULL, 2);
	assert_int_equal(pthread_create(&second, NULL, contest_second, &c), 0);
	contest_run(&c, 0);
	assert_int_equal(pthread_join(second, NULL), 0);
	memmove(c.admitted + c.count[0], c.admitted + OFFERS, c.count[1] * sizeof(*c.admitted));
	count = c.count[0] + c.count[1];
	offered = c.offered[0] + c.offered[1];
	assert_true(count > offered / 50 && count < offered); /* other work may cut it short */
	qsort(c.admitted, count, sizeof(*c.admitted), earlier);
	bounds[c.limit.algorithm](&c, count);
	free(c.admitted);
}
