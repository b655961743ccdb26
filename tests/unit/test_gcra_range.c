// SPDX-License-Identifier: GPL-2.0-only
/* The GCRA of the data path where things change or end: another rate or burst on an old state, the
 * corners of the range, two CPUs on one word.
 */
#include <pthread.h>

#include "gcra_pair.h"
#include "turns.h"

/* ---- another rate or burst on an old state */

static const struct change_row {
	const char *name, *before, *after;
} changes[] = {
	{"burst lowered", "10/second burst 100000", "10/second burst 5"},
	{"burst lowered by one", "10/second burst 6", "10/second burst 5"},
	{"burst raised", "10/second burst 5", "10/second burst 1000"},
	{"rate raised", "1/minute burst 10", "1000/second burst 10"},
	{"rate raised from one a day", "1/day burst 1", "1000/second burst 10"},
	{"rate lowered", "1000/second burst 10", "7/13s burst 10"},
	{"bytes, rate raised", "64kbit burst 1mbyte", "1gbit"},
};

/* An old state that owes all it could holds the new limit's rate at once: not more than a burst and
 * the rate, and not less than the rate after at most two bursts' time. */
ROWS(change_test, changes, row)
{
	struct rl_limit before = limit_of(row->before), after = limit_of(row->after);
	uint64_t amount = before.unit == RL_PACKETS ? 1 : 1514, admitted = 0;
	uint64_t now_ns = NS_PER_DAY, step_ns, last_ns;
	__u64 taken;
	struct pair old, new;

	pair_start(&old, &before, now_ns);
	pair_start(&new, &after, now_ns);
	while (gcra_consume(&old.gcra, &old.word, gcra_now(now_ns), amount, &taken))
		;
	step_ns = packet_ns(&new, amount) / 4;
	last_ns = now_ns + 40 * span_ns(&new);
	for (; now_ns <= last_ns; now_ns += step_ns)
		admitted += gcra_consume(&new.gcra, &old.word, gcra_now(now_ns), amount, &taken);
	new.packets = admitted;
	new.amount = admitted *amount;
	bucket_model_take(&new.model, admitted * amount);
	bucket_model_wait(&new.model, last_ns);
	assert_true(new.model.debt <= new.model.capacity + (u128)pair_bound(&new) * after.amount);
	if (admitted * packet_ns(&new, amount) < 37 * span_ns(&new))
		fail_msg("%llu admitted where %llu could be", (unsigned long long)admitted,
			 (unsigned long long)(40 * span_ns(&new) / packet_ns(&new, amount)));
}

/* ---- the range */

/* No rate that the parser accepts overflows, and costs have their expected values. */
static void range_check(const struct rl_limit *limit)
{
	uint64_t most = limit->size / bits_of(limit);
	struct pair p;
	u128 exact;

	pair_start(&p, limit, 0);
	exact = p.model.capacity / p.model.amount;
	assert_true(p.gcra.capacity >= exact && p.gcra.capacity <= 1ull << 62);
	assert_true(p.gcra.cost_max == (most < 0xfffff ? most : 0xfffff));
	if (limit->unit == RL_PACKETS)
		most = 1;
	else
		most = p.gcra.cost_max;
	assert_true((u128)p.gcra.cost * most + (1ull << p.gcra.cost_shift) <= UINT64_MAX);
	exact = p.model.unit << p.gcra.cost_shift;
	exact = exact > (u128)p.gcra.cost * p.model.amount
			? exact - (u128)p.gcra.cost * p.model.amount
			: (u128)p.gcra.cost * p.model.amount - exact;
	assert_true(exact <= (p.model.amount + 1) / 2);
	walk(limit, 1790000000123456789ull, 20);
}

TEST(range_test)
{
	static const char *const corners[] = {
		"1/day burst 1",
		"53376/4611686018427387904ns burst 1",
		"281474976710656/2814750s",
		"8640000000000/day burst 8640000000000",
		"99999999/second burst 8639999913600",
		"1/10ns burst 1",
		"100m/second burst 8640000000000",
		"2kbyte/3285day",
		"10byte/day burst 1514byte",
		"1kbit/day",
		"1kbyte/day burst 1522byte",
		"400gbit burst 34560000000000000bit",
		"400gbit burst 1514byte",
		"400bit/ns burst 1514byte",
	};

	for (size_t i = 0; i < ARRAY_SIZE(corners); i++) {
		struct rl_limit limit = limit_of(corners[i]);

		range_check(&limit);
	}
}

TEST(random_range_test)
{
	char line[RULE_TEXT_MAX];
	unsigned int buckets = 0;

	random_start(20240611);
	while (buckets < 20000) {
		struct rule rule;

		random_rule(line, &on_xdp);
		rule = must_parse(line, &on_xdp);
		if (rule.action != RL_ACTION_LIMIT || rule.limit.algorithm > RL_LEAKY_BUCKET)
			continue;
		range_check(&rule.limit);
		buckets++;
	}
}

/* More than a burst is refused whatever the time; 0 stays the word of the fresh. */
TEST(corner_test)
{
	struct rl_limit limit = limit_of("10/second burst 4");
	__u64 word = 0, taken = 0, cost;
	struct rl_gcra gcra;

	gcra_compile(&limit, &gcra);
	assert_false(gcra_consume(&gcra, &word, 0, 5, &taken));
	assert_false(gcra_consume(&gcra, &word, 0, UINT32_MAX, &taken));
	assert_true(word == 0);
	cost = gcra.cost >> gcra.cost_shift;
	assert_true(gcra_consume(&gcra, &word, -cost, 1, &taken));
	assert_true(word == 1 && taken == cost + 1);
	gcra_refund(&word, taken);
	assert_true(gcra_level(&gcra, word, -cost) == 0);
}

/* ---- two CPUs, one word */

struct contest {
	pthread_barrier_t start;
	struct rl_gcra gcra;
	__u64 word;
	uint64_t clock_ns, step_ns;
	uint64_t admitted[2];
};

#define CONTEST_OFFERS TURNS(10000000)

static void *contest_run(struct contest *c, int who)
{
	uint64_t admitted = 0;
	__u64 taken;

	pthread_barrier_wait(&c->start);
	for (unsigned int i = 0; i < CONTEST_OFFERS; i++) {
		uint64_t now_ns = __sync_add_and_fetch(&c->clock_ns, i % 2 ? c->step_ns : 0);

		admitted += gcra_consume(&c->gcra, &c->word, gcra_now(now_ns), 1, &taken);
	}
	c->admitted[who] = admitted;
	return NULL;
}

static void *contest_second(void *contest)
{
	return contest_run(contest, 1);
}

/* From many refusals to many admissions: the sum is at most the burst and the rate, to the packet.
 * It is less by threads that lost GCRA_TRIES times in a row, or were late after reading the clock.
 */
TEST(contest_test)
{
	static const uint64_t steps_ns[] = {1, 5, 9, 15};
	struct rl_limit limit = limit_of("100m/second burst 64");

	for (size_t i = 0; i < ARRAY_SIZE(steps_ns); i++) {
		struct contest c = {.clock_ns = NS_PER_DAY, .step_ns = steps_ns[i]};
		uint64_t due, admitted;
		pthread_t second;

		gcra_compile(&limit, &c.gcra);
		pthread_barrier_init(&c.start, NULL, 2);
		assert_int_equal(pthread_create(&second, NULL, contest_second, &c), 0);
		contest_run(&c, 0);
		assert_int_equal(pthread_join(second, NULL), 0);
		admitted = c.admitted[0] + c.admitted[1];
		due = 64 + (c.clock_ns - NS_PER_DAY) / 10;
		assert_true(admitted <= due && admitted <= 2ull * CONTEST_OFFERS);
		assert_true(admitted >= (due < CONTEST_OFFERS ? due : CONTEST_OFFERS) / 2);
	}
}
