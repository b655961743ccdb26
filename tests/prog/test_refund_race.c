// SPDX-License-Identifier: GPL-2.0-only
/* rlctl-policy(5): a refused packet costs nothing under any of its limits, as in test_refund.c,
 * where two CPUs race for every packet of one of them, so that tokens of the other have to be
 * refunded.
 *
 * check: alone
 */
#include "harness.h"

#include <pthread.h>

HARNESS(hot, .table = RL_TABLE_HOT, .real_time = true)
HARNESS(lru, .table = RL_TABLE_LRU, .real_time = true)

static struct harness *h; /* one of them */

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
static void race_in(struct harness *in, const char *limit)
{
	char rules[200];
	uint64_t before, raced, passed;

	if (cpus_usable() < 2) {
		skip();
		return;
	}
	h = in;
	before = harness_passed(h);
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

/* ---- */

static const char *const limits[] = {
	"token-bucket 1000/d burst 1000",
	"leaky-bucket 1000/d queue 1000",
	"fixed-window 1000/d",
	"sliding-window 1000/d",
	"sliding-log 1000/d",
};

ROWS(hot_test, limits, limit)
{
	race_in(hot, *limit);
}

ROWS(lru_test, limits, limit)
{
	race_in(lru, *limit);
}
