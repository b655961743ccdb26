// SPDX-License-Identifier: GPL-2.0-only
/* The numbers of a limit: its clock, the batches of CPUs, shares of --table cpu. */

#include "base/units.h"
#include "compile/numbers.h"
#include "compile_helpers.h"
#include "policy_helpers.h"

/* ---- which clock */

static const struct clock_row {
	const char *name, *limit;
	uint64_t tick_ns;
	enum rl_clock clock;
} clocks[] = {
	{"burst of 64 ms, 4 ms ticks", "1000/s burst 64", 4000000, RL_CLOCK_TICK},
	{"burst of 63 ms", "1000/s burst 63", 4000000, RL_CLOCK_PRECISE},
	{"burst of 64 ms, 10 ms ticks", "1000/s burst 64", 10000000, RL_CLOCK_PRECISE},
	{"burst of 160 ms, 10 ms ticks", "1000/s burst 160", 10000000, RL_CLOCK_TICK},
	{"burst of 16 ms, 1 ms ticks", "1000/s burst 16", 1000000, RL_CLOCK_TICK},
	{"one packet a day", "1/day", 10000000, RL_CLOCK_TICK},
	{"a packet short", "1000000000/10s burst 6399999", 4000000, RL_CLOCK_PRECISE},
	{"none short", "1000000000/10s burst 6400000", 4000000, RL_CLOCK_TICK},
	{"bits", "8mbit burst 64kbyte", 4000000, RL_CLOCK_TICK},
	{"fewer bits", "8mbit burst 63999byte", 4000000, RL_CLOCK_PRECISE},
	{"bytes", "1mbyte/s burst 64kbyte", 4000000, RL_CLOCK_TICK},
	{"queue", "leaky-bucket 1000/s queue 64ms", 4000000, RL_CLOCK_TICK},
	{"short queue", "leaky-bucket 1000/s queue 63ms", 4000000, RL_CLOCK_PRECISE},
	{"window", "fixed-window 9/64ms", 4000000, RL_CLOCK_TICK},
	{"short window", "fixed-window 9/63999999ns", 4000000, RL_CLOCK_PRECISE},
	{"slots", "sliding-window 9/640ms", 4000000, RL_CLOCK_TICK},
	{"short slots", "sliding-window 9/640ms slots 11", 4000000, RL_CLOCK_PRECISE},
	{"sliding-log", "sliding-log 9/day", 1000000, RL_CLOCK_PRECISE},
	{"warm-up", "warm-up 1000/16s ramp 1h", 4000000, RL_CLOCK_TICK}, /* its burst is 4 */
	{"a faster warm-up", "warm-up 1001/16s ramp 1h", 4000000, RL_CLOCK_PRECISE},
	{"its burst", "warm-up 1001/16s ramp 1h burst 5", 4000000, RL_CLOCK_TICK},
};

ROWS(clock_test, clocks, row)
{
	char line[RULE_TEXT_MAX];
	struct rule rule;

	snprintf(line, sizeof(line), "rule any limit %s", row->limit);
	rule = must_parse(line, &on_xdp);
	assert_int_equal(clock_choose(&rule.limit, RL_HOOK_XDP, row->tick_ns), row->clock);
}

/* ---- batches */

/* The batches of all CPUs together are small, and subtracted from the shared bucket: both add up to
 * the burst, also once every possible CPU has come online. */
TEST(lease_test)
{
	static const char *const shared[] = {
		"1m/s burst 50000", "100m/s", "97000003/s",           "1m/s burst 256",
		"10/s burst 1",     "1gbit",  "400gbit burst 1mbyte", "100k/s burst 4096"};
	static const uint32_t cpus[] = {1, 2, 8, 64, 1024};

	for (size_t i = 0; i < ARRAY_SIZE(shared) * ARRAY_SIZE(cpus); i++) {
		struct compile_context ctx = roomy;
		struct rl_rule with = {0}, without = {0};
		char line[RULE_TEXT_MAX];
		struct rule rule;
		uint64_t units;

		snprintf(line, sizeof(line), "rule device limit %s", shared[i / ARRAY_SIZE(cpus)]);
		rule = must_parse(line, &on_xdp);
		numbers_compile(&rule.limit, &ctx, &without);
		ctx.cpus = cpus[i % ARRAY_SIZE(cpus)];
		ctx.possible_cpus = ctx.cpus << i % 3;
		numbers_compile(&rule.limit, &ctx, &with);
		units = (uint64_t)with.batch * ctx.possible_cpus;
		assert_true(ctx.cpus > 1 || with.batch == 0);
		assert_true(units * (rule.limit.unit == RL_BITS ? 8 : 1) * 64 <= rule.limit.size);
		assert_true(with.gcra.capacity + (units * with.gcra.cost >> with.gcra.cost_shift) ==
			    without.gcra.capacity);
		rule.limit.key = RL_KEY_SOURCE;
		with.batch = 0;
		numbers_compile(&rule.limit, &ctx, &with);
		assert_int_equal(with.batch, 0);
	}
}

/* ---- --table cpu: shares */

static const struct share_row {
	const char *name, *limit;
	uint32_t cpus, possible;
	uint64_t period_ns; /* that one packet or byte takes on each CPU */
	uint64_t amount;    /* of a window on each CPU; 0: a bucket */
} shares[] = {
	{"share: all possible CPUs are online", "1000/s burst 100", 4, 4, 4 * NS_PER_MS, 0},
	{"share: 2 online of 128", "1000/s burst 100", 2, 128, 2 * NS_PER_MS, 0},
	{"share: 1 online of 128", "1000/s burst 100", 1, 128, NS_PER_MS, 0},
	{"share: a window, 2 online of 128", "fixed-window 1000/s", 2, 128, 0, 500},
	{"share: a log, 2 online of 128", "sliding-log 1000/s", 2, 128, 0, 500},
};

ROWS(share_test, shares, row)
{
	struct compile_context ctx = roomy;
	char line[RULE_TEXT_MAX];
	struct rl_rule out = {0};
	struct rule rule;

	snprintf(line, sizeof(line), "rule any limit %s", row->limit);
	rule = must_parse(line, &on_xdp);
	ctx.share = true;
	ctx.cpus = row->cpus;
	ctx.possible_cpus = row->possible;
	numbers_compile(&rule.limit, &ctx, &out);
	if (row->amount)
		assert_int_equal(out.window.amount, row->amount);
	else
		assert_int_equal(out.gcra.cost >> out.gcra.cost_shift,
				 row->period_ns << RL_GRAIN_SHIFT);
}
