/* SPDX-License-Identifier: GPL-2.0-only */
/* Shared by the tests of alarms: a harness for each kind of table, time that passes by tenths, and
 * the packets of an attack.
 */
#pragma once

#include "base/units.h"
#include "harness.h"

#define TENTH (100 * NS_PER_MS)
#define USES  (RL_USE_PROGRAM & ~(RL_USE_CHALLENGE | RL_USE_TRUNCATE))

/* More than 100 a second for a second; less than 50 for half of one. */
#define RATES  " over 100/second for 1s until under 50/second for 500ms;"
#define ATTACK "alarm attack when udp" RATES

static struct harness *h, *opened[RL_TABLE_CPU + 1], *at_tc;
static uint64_t now;

static inline void time_pass(uint64_t ns)
{
	now += ns;
	harness_clock(h, now);
}

/* Loading the program takes a second: it is loaded once for each kind. */
static inline void open_at(struct harness **one, enum rl_hook hook, enum rl_table table)
{
	if (!*one)
		*one = harness_must_open(&(struct harness_options){
			.hook = hook, .table = table, .program_uses = USES, .seed = {5, 9}});
	cpu_stay(0); /* with --table cpu a source is known to a CPU */
	h = *one;
	now = h->now_ns;
	time_pass(NS_PER_DAY); /* bans and cached refusals of other tests are over */
	harness_sockets(h, RL_SIMULATED_NONE);
}

/* Limits, cached answers and known sources of the policy before have long ended; counters go on. */
static inline void begin_with(enum rl_table table, const char *policy)
{
	open_at(&opened[table], RL_HOOK_XDP, table);
	harness_policy(h, policy);
}

static inline void begin(const char *policy)
{
	begin_with(RL_TABLE_HOT, policy);
}

/* With alarms that have never been on. */
static inline void begin_anew(const char *policy)
{
	open_at(&opened[RL_TABLE_HOT], RL_HOOK_XDP, RL_TABLE_HOT);
	harness_renew(h, policy);
}

/* One a call: for more than one the kernel puts the program into its dispatcher, and waits. */
static inline void packets_of(const char *words, uint32_t count)
{
	static struct frame frame;

	frame_build(&frame, words);
	for (uint32_t i = 0; i < count; i++)
		harness_passes(h, &frame);
}

/* So many in each of the next tenths, at its beginning; the time is then the end of the last. */
static inline void tenths_of(const char *words, uint32_t tenths, uint32_t count)
{
	for (uint32_t i = 0; i < tenths; i++) {
		packets_of(words, count);
		time_pass(TENTH);
	}
}

static inline struct alarm_now alarm_at(const char *name)
{
	return harness_alarm(h, name);
}

static inline bool is_on(const char *name)
{
	return alarm_at(name).on;
}

static inline void expect(const char *words, enum rl_reason reason)
{
	harness_expect(h, words, words, reason);
}

/* From the first packet on, a second of more than the rate. */
static inline void attack_begins(void)
{
	tenths_of("ip4=192.0.2.77 udp", 10, 11);
	assert_true(is_on("attack"));
}

static inline void attack_ends(void)
{
	time_pass(6 * TENTH);
	assert_false(is_on("attack"));
}

static int close_all(void **state)
{
	(void)state;
	harness_close(opened[RL_TABLE_HOT]);
	harness_close(opened[RL_TABLE_LRU]);
	harness_close(opened[RL_TABLE_CPU]);
	harness_close(at_tc);
	return 0;
}

FIXTURE(NULL, close_all)
