// SPDX-License-Identifier: GPL-2.0-only
/* The GCRA of the data path over a table of rates: every verdict against the exact model, the sum
 * under long overload, bursts at one instant, refunds.
 */
#include "gcra_pair.h"
#include "turns.h"

#define YEAR_NS (365 * NS_PER_DAY)

static const char *const rates[] = {
	"1/day",       "3/second",        "7/13s",           "1000/second", "333/second",
	"1000003/day", "14880952/second", "97000003/second", "100m/second", "64kbit",
	"1mbit",       "12345678byte/s",  "10gbit",          "100gbit",     "400gbit",
};

/* Where the clock stands at first: where it has bits to lose. */
static const uint64_t clocks[] = {
	0,
	1,
	(1ull << 32) * NS_PER_MS - 5,
	(1ull << 41) - 3,
	(1ull << 53) - 1,
	10 * YEAR_NS,
	(1ull << 60) - NS_PER_SECOND, /* where grains wrap */
	1790000000123456789ull,
};

/* ---- every verdict */

/* From the smallest burst to a day of the rate. */
static void walk_test(void **state)
{
	const char *rate = *state;
	struct rl_limit limit = limit_of(rate);
	uint64_t least = limit.unit == RL_PACKETS ? 1 : 1514 * bits_of(&limit);
	uint64_t day = rate_amount_in(limit.amount, limit.period_ns, NS_PER_DAY);
	const uint64_t sizes[] = {least, limit.size, 10 * least < day ? 10 * least : day, day};

	random_start(20240608);
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		limit.size = sizes[i];
		for (size_t k = 0; k < ARRAY_SIZE(clocks); k++)
			walk(&limit, clocks[k], TURNS(15000));
	}
}

/* ---- long overload */

/* Twice the rate and more, in packets of one size; *elapsed in grains. */
static void overload(struct pair *p, uint64_t amount, unsigned int offers, uint64_t *elapsed)
{
	uint64_t start_ns = p->now_ns, half_ns = packet_ns(p, amount) / 2;
	uint64_t years = half_ns ? 4 * YEAR_NS / half_ns : offers;

	while (pair_offer(p, amount))
		;
	for (unsigned int i = 0; i < offers && i < years; i++) {
		pair_wait(p, half_ns + (half_ns == 0 && i % 2));
		pair_offer(p, amount);
	}
	*elapsed = (p->now_ns - start_ns) << RL_GRAIN_SHIFT;
}

/* The amount admitted is the burst and the refill: within the bound, and within 1e-4 of it. */
static void overload_test(void **state)
{
	static const uint64_t frames[] = {60, 61, 74, 89, 590, 1514};
	struct rl_limit limit = limit_of(*state);
	size_t sizes = limit.unit == RL_PACKETS ? 1 : ARRAY_SIZE(frames);

	for (size_t i = 0; i < sizes; i++) {
		uint64_t amount = limit.unit == RL_PACKETS ? 1 : frames[i], elapsed;
		struct pair p;
		i128 due, off;

		limit.size = limit.unit == RL_PACKETS ? 10 : 5 * 1514 * bits_of(&limit);
		pair_start(&p, &limit, clocks[i]);
		overload(&p, amount, 2000000, &elapsed);
		due = (i128)elapsed * (i128)p.model.amount + (i128)p.model.capacity;
		off = (i128)(p.model.unit * p.amount) - due;
		assert_true(off <= (i128)pair_bound(&p) * (i128)p.model.amount);
		off += (i128)(p.model.unit * amount);
		assert_true(off >= -(i128)pair_bound(&p) * (i128)p.model.amount);
		assert_true(magnitude(off) < due / 10000 + (i128)(p.model.unit * amount));
	}
}

/* ---- a burst from a full bucket */

static uint64_t burst_of(const struct rl_gcra *gcra, __u64 word, uint64_t now_ns)
{
	__u64 taken;
	uint64_t n = 0;

	while (gcra_consume(gcra, &word, gcra_now(now_ns), 1, &taken))
		n++;
	return n;
}

/* Never less than n, and exactly n where the bound is less than one packet: always but for bursts
 * of more than 80 at 97 million packets/s (165 grains a packet) or 100000 at 15 million. */
static void burst_check(const struct rl_limit *limit, uint64_t n)
{
	struct pair p;

	pair_start(&p, limit, 0);
	p.packets = p.amount = n;
	for (size_t i = 0; i < ARRAY_SIZE(clocks); i++) {
		uint64_t now_ns = clocks[i] + random_below(NS_PER_HOUR);
		uint64_t drained = gcra_now(now_ns) - random_below(1ull << 50);
		uint64_t cost = (uint64_t)(p.model.unit / p.model.amount);
		uint64_t more = pair_bound(&p) / cost;
		uint64_t fresh = burst_of(&p.gcra, 0, now_ns);
		uint64_t full = burst_of(&p.gcra, drained ? drained : 1, now_ns);

		if (fresh < n || full < n || fresh > n + more || full > n + more)
			fail_msg("burst %llu: %llu, %llu", (unsigned long long)n,
				 (unsigned long long)fresh, (unsigned long long)full);
	}
}

static void burst_test(void **state)
{
	static const uint64_t more[] = {1000, 4096, 65536, 100000};
	struct rl_limit limit = limit_of(*state);
	uint64_t day = rate_amount_in(limit.amount, limit.period_ns, NS_PER_DAY);

	random_start(20240609);
	for (limit.size = 1; limit.size <= TURNS(300) && limit.size <= day; limit.size++)
		burst_check(&limit, limit.size);
	for (size_t i = 0; i < ARRAY_SIZE(more); i++) {
		limit.size = TURNS(more[i]);
		if (limit.size <= day)
			burst_check(&limit, limit.size);
	}
}

/* ---- refund */

static void refund_test(void **state)
{
	struct rl_limit limit = limit_of(*state);
	__u64 taken;
	struct pair p;

	random_start(20240610);
	pair_start(&p, &limit, NS_PER_DAY);
	for (int i = 0; i < TURNS(20000); i++) {
		uint64_t now, level;

		pair_wait(&p, random_wait(&p, 100));
		now = gcra_now(p.now_ns);
		level = gcra_level(&p.gcra, p.word, now);
		if (!gcra_consume(&p.gcra, &p.word, now, 1, &taken))
			continue;
		assert_true(gcra_level(&p.gcra, p.word, now) == level + taken);
		if (random_below(2))
			continue;
		gcra_refund(&p.word, taken);
		assert_true(gcra_level(&p.gcra, p.word, now) == level);
	}
}

/* ---- */

static const struct {
	const char *name;
	CMUnitTestFunction test;
	bool packets_only;
} rated[] = {
	{"every verdict", walk_test, false},
	{"long overload", overload_test, false},
	{"burst at one instant", burst_test, true},
	{"refund", refund_test, false},
};

AT_START(rated_add)
{
	for (size_t i = 0; i < ARRAY_SIZE(rated); i++)
		for (size_t k = 0; k < ARRAY_SIZE(rates); k++)
			if (!rated[i].packets_only || limit_of(rates[k]).unit == RL_PACKETS)
				test_add_named(rated[i].test, rates[k], "%s, %s", rated[i].name,
					       rates[k]);
}
