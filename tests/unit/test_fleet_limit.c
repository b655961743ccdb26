// SPDX-License-Identifier: GPL-2.0-only
/* The clock of a fleet's buckets, and the records that drive it: exact products, no tokens gained
 * or lost when a part or the mode changes, one identity on all members, and members whose parts
 * never add up to more than the limit.
 */
#include <stdint.h>
#include <string.h>

#include "algorithm/fleet_clock.h"
#include "base/units.h"
#include "fleet/fleet.h"
#include "policy/policy.h"
#include "policy_helpers.h"
#include "random.h"

static uint64_t any(void)
{
	static uint64_t seed_state = 88172645463325252ull;

	return random_next(&seed_state);
}

TEST(earned_test)
{
	for (int i = 0; i < 1000000; i++) {
		uint64_t ns = any() >> (any() % 64);
		uint64_t rate = any() >> (any() % 64);
		uint64_t wanted = (uint64_t)((unsigned __int128)ns * rate >> RL_FLEET_RATE_SHIFT);

		if (fleet_earned(ns, rate) != wanted)
			fail_msg("%llu ns at %llu", (unsigned long long)ns,
				 (unsigned long long)rate);
	}
}

static struct fleet_limit limit_of(const char *line)
{
	static const struct policy_context context = {.mtu = 1500};
	struct rule rule = must_parse(line, &context);
	struct fleet_limit limit;

	fleet_limit_make(&rule, 1500, false, &limit);
	return limit;
}

/* Tokens of a bucket that was full at `base`: cap - (word - clock), at most the cap. */
static int64_t tokens_of(const struct fleet_limit *limit, uint64_t word, uint64_t now_ns)
{
	struct fleet_clock clock = fleet_clock_of(&limit->record, NULL, now_ns);
	int64_t level = (int64_t)(word - clock.grains);

	return (int64_t)clock.cap - (level > 0 ? level : 0);
}

/* An empty bucket never has more than the fastest rate could have filled, however members and mode
 * change. */
TEST(tokens_test)
{
	struct fleet_limit limit = limit_of("rule any limit 1000/second burst 200 fleet");
	uint64_t now_ns = NS_PER_SECOND, start_ns = now_ns, word;
	struct fleet_clock clock;

	fleet_limit_next(&limit, 3, true, now_ns);
	clock = fleet_clock_of(&limit.record, NULL, now_ns);
	word = clock.grains + clock.cap;
	assert_int_equal(tokens_of(&limit, word, now_ns), 0);
	for (int i = 0; i < 100000; i++) {
		int64_t before;
		uint64_t bound;

		now_ns += any() % (2 * NS_PER_MS);
		before = tokens_of(&limit, word, now_ns);
		fleet_limit_next(&limit, 1 + any() % 9, any() % 2, now_ns);
		if (tokens_of(&limit, word, now_ns) > before + 1)
			fail_msg("step %d makes tokens", i);
		bound = fleet_earned(now_ns - start_ns, fleet_limit_rate(&limit, SHARE_ALL));
		if (before > (int64_t)bound + 100)
			fail_msg("step %d: %lld tokens of %llu", i, (long long)before,
				 (unsigned long long)bound);
		if (before > 0) { /* spend them */
			word += before;
			start_ns = now_ns;
		}
	}
}

/* When the agent is gone the part of a member alone begins by itself, without new tokens. */
TEST(dead_agent_test)
{
	struct fleet_limit limit = limit_of("rule any limit 1000/second burst 200 fleet");
	uint64_t begin_ns = 5 * NS_PER_SECOND, end_ns = begin_ns + HOLD_NS, word;
	struct fleet_clock clock;
	int64_t before, after;

	fleet_limit_next(&limit, 4, true, begin_ns);
	clock = fleet_clock_of(&limit.record, NULL, end_ns - 1);
	word = clock.grains + clock.cap;
	before = tokens_of(&limit, word, end_ns - 1);
	after = tokens_of(&limit, word, end_ns);
	assert_in_range(after - before + 100, 0, 200);
	clock = fleet_clock_of(&limit.record, NULL, end_ns);
	assert_int_equal(clock.cap, 50ull << RL_FLEET_PACKET_SHIFT);
	after = fleet_clock_of(&limit.record, NULL, end_ns + NS_PER_SECOND).grains - clock.grains;
	assert_in_range(after >> RL_FLEET_PACKET_SHIFT, 249, 250);
}

/* A lease's cap and rate are gone when it has ended; saved tokens stay. */
TEST(lease_ends_test)
{
	struct rl_fleet_limit limit = {.until_ns = 1000, .phase[0] = {.cap = 10}};
	struct rl_fleet_grant grant = {.until_ns = 500,
				       .phase = {.rate = 1ull << RL_FLEET_RATE_SHIFT, .cap = 5}};
	struct fleet_clock at = fleet_clock_of(&limit, &grant, 499);

	assert_int_equal(at.grains, 499);
	assert_int_equal(at.cap, 15);
	at = fleet_clock_of(&limit, &grant, 501);
	assert_int_equal(at.grains, 505); /* 5 fewer owed, 5 fewer saved */
	assert_int_equal(at.cap, 10);
	limit.until_ns = 400; /* alone before that */
	at = fleet_clock_of(&limit, &grant, 450);
	assert_int_equal(at.grains, 405);
	assert_int_equal(at.cap, 0);
}

static const struct {
	const char *name, *a, *b;
	bool same;
} identities[] = {
	{"the same", "rule any limit 10/s burst 3 fleet", "rule any limit 10/second burst 3 fleet",
	 true},
	{"what happens over it", "rule any limit 10/s burst 3 fleet",
	 "rule any limit 10/s burst 3 over ban 1m fleet", true},
	{"how long it lives", "rule any limit 10/s burst 3 fleet",
	 "rule any limit 10/s burst 3 fleet for 1h", true},
	{"another prefix", "rule any limit 10/s burst 3 fleet",
	 "rule 10.0.0.0/8 limit 10/s burst 3 fleet", false},
	{"another match", "rule any limit 10/s burst 3 fleet",
	 "rule any udp limit 10/s burst 3 fleet", false},
	{"another key", "rule any limit 10/s burst 3 fleet",
	 "rule any limit 10/s burst 3 per source/24 fleet", false},
	{"another unit", "rule any limit 80kbit burst 3kbyte fleet",
	 "rule any limit 10000/s burst 3000 fleet", false},
	{"another algorithm", "rule any limit 10/s burst 3 fleet",
	 "rule any limit leaky-bucket 10/s queue 3 fleet", false},
	{"another rate", "rule any limit 10/s burst 3 fleet", "rule any limit 11/s burst 3 fleet",
	 false},
	{"another burst", "rule any limit 10/s burst 3 fleet", "rule any limit 10/s burst 4 fleet",
	 false},
};

TEST(identity_test)
{
	for (size_t i = 0; i < ARRAY_SIZE(identities); i++) {
		struct fleet_limit a = limit_of(identities[i].a), b = limit_of(identities[i].b);

		if (!strcmp(a.identity, b.identity) != identities[i].same)
			fail_msg("%s", identities[i].name);
	}
}

/* Parts without asking and all that can be leased: together the limit, its burst, and what the
 * stated overshoot says. */
static const char *const sums[] = {
	"rule any limit 1000/second burst 100 fleet",  "rule any limit 10mbit burst 30kbyte fleet",
	"rule any limit leaky-bucket 10/second fleet", "rule any limit 1/hour burst 1 fleet",
	"rule any limit 100m/second burst 1m fleet",
};

TEST(sum_test)
{
	for (size_t i = 0; i < ARRAY_SIZE(sums); i++)
		for (uint32_t members = 1; members <= 64; members++) {
			struct fleet_limit limit = limit_of(sums[i]);
			const struct rl_fleet_phase *phase = limit.record.phase;
			uint64_t most = (limit.burst + fleet_limit_overshoot(&limit, members))
					<< limit.shift;
			uint64_t whole = fleet_limit_rate(&limit, SHARE_ALL);

			fleet_limit_next(&limit, members, true, NS_PER_SECOND);
			whole += whole >> 40; /* rates are rounded to 53 bits */
			assert_true(members * phase[0].rate +
					    fleet_limit_rate(&limit, SHARE_LEASED) <=
				    whole + 1);
			assert_true(members * phase[1].rate <= whole + 1);
			if (members * phase[0].cap + (limit.burst << limit.shift) / 2 > most)
				fail_msg("%s, %u members", sums[i], members);
		}
}

TEST(window_test)
{
	for (uint32_t members = 1; members <= 64; members++) {
		struct fleet_limit limit =
			limit_of("rule any limit fixed-window 1000/second fleet");

		fleet_limit_next(&limit, members, true, NS_PER_SECOND);
		/* two windows of a member may lie in one of Redis */
		assert_true(2 * members * limit.record.phase[0].cap + fleet_limit_leased(&limit) <=
			    1000);
		assert_true(members * limit.record.phase[1].cap <= 1000);
	}
}
