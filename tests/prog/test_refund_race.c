// SPDX-License-Identifier: GPL-2.0-only
/* rlctl-policy(5): a refused packet costs nothing under any of its limits, as in test_refund.c,
 * where two CPUs race for every packet of one of them, so that tokens of the other have to be
 * refunded.
 *
 * check: alone
 */
#include "harness.h"

#include <pthread.h>

static struct harness *h;

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
	struct frame frame;
	char words[80];

	for (unsigned int i = 1; i <= packets; i++) {
		snprintf(words, sizeof(words), "ip4=192.0.2.1>10.0.%u.%u udp", i >> 8, i & 255);
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
	alone_spend(2); /* or two CPUs that meet a new key may each take for it: bpf/limit/hot.h */
	race_run();
	raced = harness_passed(h) - before;
	alone_spend(ALLOWANCE + 9);
	passed = harness_passed(h) - before;
	print_message("# %s: %llu in the race, %llu in all\n", limit, (unsigned long long)raced,
		      (unsigned long long)passed);
	assert_int_equal(passed, ALLOWANCE);
}

/* ---- the groups */

HARNESS_OF_EACH(hot_set_up, hot_tear_down, h, .table = RL_TABLE_HOT, .real_time = true)
HARNESS_OF_EACH(lru_set_up, lru_tear_down, h, .table = RL_TABLE_LRU, .real_time = true)

#define RACE(limit)                                                    \
	{                                                              \
		"race, " limit, race_test, NULL, NULL, (void *)(limit) \
	}

int main(void)
{
	const struct CMUnitTest races[] = {
		RACE("token-bucket 1000/d burst 1000"),
		RACE("leaky-bucket 1000/d queue 1000"),
		RACE("fixed-window 1000/d"),
		RACE("sliding-window 1000/d"),
		RACE("sliding-log 1000/d"),
	};
	int failed = cmocka_run_group_tests(races, hot_set_up, hot_tear_down);

	return failed + cmocka_run_group_tests(races, lru_set_up, lru_tear_down);
}
