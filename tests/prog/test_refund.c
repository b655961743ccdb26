// SPDX-License-Identifier: GPL-2.0-only
/* rlctl-policy(5): a refused packet costs nothing under any of its limits. Two limits, one by
 * source and one by destination, of every pair of algorithms, in the hot table and in LRUs: one
 * limit admits the same over time whether or not the other refuses packets in between. Then the
 * same where two CPUs race for every packet of the other limit, so that tokens have to be refunded.
 *
 * check: alone
 */
#include "harness.h"

#include <pthread.h>
#include <string.h>

#include "units.h"

#define STEPS   60
#define STEP_NS (70 * NS_PER_MS)
#define NOISE   3 /* refused packets in each step */

/* By enum rl_algorithm: one that lets some of a step's packets pass. */
static const char *const moving[RL_ALGORITHM_COUNT] = {
	"token-bucket 5/s burst 3", "leaky-bucket 5/s queue 3", "fixed-window 5/s",
	"sliding-window 5/s",       "sliding-log 5/s",          "warm-up 5/s ramp 2s",
};

static struct harness *h;
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

static void pair_test(void **state)
{
	const char *const *moves = *state;

	for (int refuses = 0; refuses < RL_ALGORITHM_COUNT; refuses++)
		for (int by_source = 0; by_source < 2; by_source++)
			pair_check(&(struct pair){
				.moves = moves - moving,
				.refuses = refuses,
				.by_source = by_source,
			});
}

/* ---- two CPUs race */

#define ALLOWANCE 1000
#define RACES     300000

struct racer {
	pthread_t thread;
	unsigned int cpu;
	struct frame frame;
};

static void *race(void *arg)
{
	struct racer *racer = arg;

	cpu_stay(racer->cpu);
	harness_repeat(h, &racer->frame, RACES);
	return NULL;
}

static void race_run(void)
{
	static struct racer racers[2];

	for (unsigned int i = 0; i < 2; i++) {
		racers[i].cpu = i;
		frame_build(&racers[i].frame, "ip4=192.0.2.1>10.0.0.0 udp");
		assert_int_equal(pthread_create(&racers[i].thread, NULL, race, &racers[i]), 0);
	}
	for (unsigned int i = 0; i < 2; i++)
		pthread_join(racers[i].thread, NULL);
}

/* From the source, towards destinations that let all pass. */
static void alone_spend(unsigned int packets)
{
	struct pair pair = {.by_source = true};
	struct frame frame;
	char words[80];

	for (unsigned int i = 0; i < packets; i++) {
		packet_of(words, sizeof(words), &pair, i + 1);
		frame_build(&frame, words);
		harness_repeat(h, &frame, 1);
	}
}

/* The destination admits a packet every microsecond, for which both CPUs take from the source's
 * limit: the loser gets a refund. All of the allowance is then spent on packets that passed. */
static void race_test(void **state)
{
	const char *limit = *state;
	char rules[200];
	uint64_t before = harness_passed(h), raced, passed;

	if (cpus_usable() < 2) {
		skip();
		return;
	}
	snprintf(rules, sizeof(rules), "any limit %s;any limit 500000/s burst 1 per dest", limit);
	harness_renew(h, rules);
	alone_spend(2); /* or two CPUs that meet a new key may each take for it: bpf/hot.h */
	race_run();
	raced = harness_passed(h) - before;
	alone_spend(ALLOWANCE + 9);
	passed = harness_passed(h) - before;
	print_message("# %s: %llu in the race, %llu in all\n", limit, (unsigned long long)raced,
		      (unsigned long long)passed);
	assert_int_equal(passed, ALLOWANCE);
}

/* ---- the groups */

static int hot_set_up(void **state)
{
	(void)state;
	h = harness_open(&(struct harness_options){.table = RL_TABLE_HOT});
	return h ? 0 : -1;
}

static int lru_set_up(void **state)
{
	(void)state;
	h = harness_open(&(struct harness_options){.table = RL_TABLE_LRU});
	return h ? 0 : -1;
}

static int hot_race_set_up(void **state)
{
	(void)state;
	h = harness_open(&(struct harness_options){.table = RL_TABLE_HOT, .real_time = true});
	return h ? 0 : -1;
}

static int lru_race_set_up(void **state)
{
	(void)state;
	h = harness_open(&(struct harness_options){.table = RL_TABLE_LRU, .real_time = true});
	return h ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	harness_close(h);
	return 0;
}

#define PAIR(i)                                                      \
	{                                                            \
		moving[i], pair_test, NULL, NULL, (void *)&moving[i] \
	}
#define RACE(limit)                                                    \
	{                                                              \
		"race, " limit, race_test, NULL, NULL, (void *)(limit) \
	}

int main(void)
{
	const struct CMUnitTest pairs[] = {
		PAIR(RL_TOKEN_BUCKET),   PAIR(RL_LEAKY_BUCKET), PAIR(RL_FIXED_WINDOW),
		PAIR(RL_SLIDING_WINDOW), PAIR(RL_SLIDING_LOG),  PAIR(RL_WARM_UP),
	};
	const struct CMUnitTest races[] = {
		RACE("token-bucket 1000/d burst 1000"),
		RACE("leaky-bucket 1000/d queue 1000"),
		RACE("fixed-window 1000/d"),
		RACE("sliding-window 1000/d"),
		RACE("sliding-log 1000/d"),
	};
	int failed = cmocka_run_group_tests(pairs, hot_set_up, tear_down);

	failed += cmocka_run_group_tests(pairs, lru_set_up, tear_down);
	failed += cmocka_run_group_tests(races, hot_race_set_up, tear_down);
	return failed + cmocka_run_group_tests(races, lru_race_set_up, tear_down);
}
