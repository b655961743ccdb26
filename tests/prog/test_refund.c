// SPDX-License-Identifier: GPL-2.0-only
/* rlctl-policy(5): a refused packet costs nothing under any of its limits. Two limits, one by
 * source and one by destination, of every pair of algorithms, in the hot table and in LRUs: one
 * limit admits the same over time whether or not the other refuses packets in between. Where two
 * CPUs race: test_refund_race.c.
 */
#include "harness.h"

#include <string.h>

#include "base/units.h"

#define STEPS   60
#define STEP_NS (70 * NS_PER_MS)
#define NOISE   3 /* refused packets in each step */

/* By enum rl_algorithm: one that lets some of a step's packets pass. */
static const char *const moving[RL_ALGORITHM_COUNT] = {
	"token-bucket 5/s burst 3", "leaky-bucket 5/s queue 3", "fixed-window 5/s",
	"sliding-window 5/s",       "sliding-log 5/s",          "warm-up 5/s ramp 2s",
};

HARNESS(hot, .table = RL_TABLE_HOT)
HARNESS(lru, .table = RL_TABLE_LRU)

static struct harness *h; /* one of them */
static uint64_t now_ns = NS_PER_DAY;

static void fresh(const char *rules)
{
	now_ns = (now_ns / NS_PER_DAY + 1) * NS_PER_DAY;
	harness_clock(h, now_ns);
	harness_renew(h, rules);
}

/* ---- every pair */

/* The limit that moves is by source or by destination, the one that refuses by the other. */
struct pair {
	enum rl_algorithm moves, refuses;
	bool by_source;
};

/* Packets whose key under the moving limit is the one under test; under the other limit it is the
 * n-th. */
static void packet_of(char *words, size_t size, const struct pair *pair, unsigned int n)
{
	snprintf(words, size,
		 pair->by_source ? "ip4=192.0.2.1>10.0.%u.%u udp" : "ip4=10.0.%u.%u>192.0.2.1 udp",
		 n >> 8, n & 255);
}

/* Another source spends the other limit's key 0. */
static void spend(const struct pair *pair)
{
	const char *words =
		pair->by_source ? "ip4=192.0.2.2>10.0.0.0 udp" : "ip4=10.0.0.0>192.0.2.2 udp";

	assert_int_equal(harness_words(h, words), RL_REASON_WITHIN);
	assert_int_equal(harness_words(h, words), RL_REASON_OVER);
}

/* '+' and '-' for every step's packet, which the other limit would let pass. */
static void pair_run(const struct pair *pair, unsigned int noise, char verdicts[STEPS + 1])
{
	char refused[80], words[80];

	packet_of(refused, sizeof(refused), pair, 0);
	for (unsigned int i = 0; i < STEPS; i++) {
		for (unsigned int n = 0; n < noise; n++)
			assert_int_equal(harness_words(h, refused), RL_REASON_OVER);
		packet_of(words, sizeof(words), pair, i + 1);
		verdicts[i] = harness_words(h, words) == RL_REASON_WITHIN ? '+' : '-';
		now_ns += STEP_NS;
		harness_clock(h, now_ns);
	}
	verdicts[STEPS] = '\0';
}

static void pair_check(const struct pair *pair)
{
	char limit[80], rules[300], quiet[STEPS + 1], noisy[STEPS + 1];

	limit_of(limit, sizeof(limit), pair->refuses, 1);
	snprintf(rules, sizeof(rules), "any limit %s per %s;any limit %s per %s",
		 moving[pair->moves], pair->by_source ? "source" : "dest", limit,
		 pair->by_source ? "dest" : "source");
	fresh(rules);
	spend(pair);
	pair_run(pair, 0, quiet);
	fresh(rules);
	spend(pair);
	pair_run(pair, NOISE, noisy);
	if (strcmp(quiet, noisy) != 0 || !strchr(quiet, '-') || !strchr(quiet + 9, '+'))
		fail_msg("%s\n%s\n%s with refused packets between", rules, quiet, noisy);
}

static void pairs_check(struct harness *in, enum rl_algorithm moves)
{
	h = in;
	for (int refuses = 0; refuses < RL_ALGORITHM_COUNT; refuses++)
		for (int by_source = 0; by_source < 2; by_source++)
			pair_check(&(struct pair){
				.moves = moves,
				.refuses = refuses,
				.by_source = by_source,
			});
}

ROWS(hot_test, moving, row)
{
	pairs_check(hot, row - moving);
}

ROWS(lru_test, moving, row)
{
	pairs_check(lru, row - moving);
}
