// SPDX-License-Identifier: GPL-2.0-only
/* An alarm that two CPUs count at once, while a third thread moves the time on, whole tenths at
 * once, and reads it: no packet is counted twice or lost, and the alarm is where the sum says.
 *
 * check: alone
 */
#include <pthread.h>

#include "base/units.h"
#include "harness.h"

#define PACKETS 40000 /* of each CPU */
#define TENTH   (100 * NS_PER_MS)
#define TURNS   200

struct racer {
	struct harness *h;
	unsigned int cpu;
	struct frame frame;
};

static void *racer_run(void *arg)
{
	struct racer *racer = arg;

	cpu_stay(racer->cpu);
	for (int i = 0; i < PACKETS; i++)
		harness_passes(racer->h, &racer->frame);
	return NULL;
}

/* Over the rate for a second, then nothing until it is off. */
static void on_and_off(struct harness *h, uint64_t now)
{
	struct frame udp;

	frame_build(&udp, "ip4 udp");
	for (int i = 0; i < 10 * 11; i++) {
		harness_clock(h, now + i / 11 * TENTH);
		harness_passes(h, &udp);
	}
	harness_clock(h, now += 10 * TENTH);
	assert_true(harness_alarm(h, "attack").on);
	harness_expect(h, "on", "ip4 tcp", RL_REASON_DENIED);
	harness_clock(h, now + 6 * TENTH);
	assert_false(harness_alarm(h, "attack").on);
	harness_expect(h, "off", "ip4 tcp", RL_REASON_UNMATCHED);
}

TEST(race_test)
{
	struct harness *h = harness_must_open(
		&(struct harness_options){.program_uses = RL_USE_PROGRAM, .seed = {5, 9}});
	struct racer racers[2] = {{.h = h, .cpu = 0}, {.h = h, .cpu = 1}};
	pthread_t threads[2];
	uint64_t now;

	now = h->now_ns;
	harness_policy(h, "alarm attack when udp over 100/second for 1s until under 50/second for "
			  "500ms; any tcp deny while attack");
	for (int i = 0; i < 2; i++) {
		frame_build(&racers[i].frame, i ? "ip6 udp" : "ip4 udp");
		assert_int_equal(pthread_create(&threads[i], NULL, racer_run, &racers[i]), 0);
	}
	for (int i = 0; i < TURNS; i++) {
		harness_clock(h, now += TENTH / 10);
		harness_alarm(h, "attack");
	}
	for (int i = 0; i < 2; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	assert_int_equal(harness_alarm(h, "attack").counted, 2 * PACKETS);
	harness_clock(h, now += NS_PER_SECOND);
	on_and_off(h, now);
	harness_close(h);
}
