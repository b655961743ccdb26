// SPDX-License-Identifier: GPL-2.0-only
/* Two CPUs in one set of the hot table at once: a source, and strangers that owe longer and push it
 * out; a pardon while its packets go on; sources that come back while their slot is given away.
 *
 * check: alone
 */
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "base/units.h"
#include "harness.h"

#define STRANGERS 60000 /* of each CPU */
#define BURST     600
#define PACKETS   3 /* of the source, for each stranger */

/* The work of one CPU, and its results. */
struct runner {
	struct harness *h;
	uint8_t (*strangers)[16];
	int cpu;
	uint32_t within, strangers_in;
};

static const uint8_t source[16] = {[10] = 0xff, 0xff, 192, 0, 2, 1};

static void *runner_run(void *arg)
{
	struct runner *r = arg;
	struct frame frame;

	cpu_stay(r->cpu); /* its counters are exact only if no other thread runs there */
	frame_build(&frame, "ip4 udp");
	for (uint32_t i = 0; i < STRANGERS; i++) {
		frame_source(&frame, source);
		for (int n = 0; n < PACKETS; n++)
			r->within += harness_passes(r->h, &frame);
		frame_source(&frame, r->strangers[i]);
		r->strangers_in += harness_passes(r->h, &frame);
	}
	return NULL;
}

/* Strangers of a set, by numbers from `from` on. */
static void strangers_meet(struct harness *h, const struct rl_rule *numbers, uint32_t set,
			   uint32_t from, uint8_t (*out)[16], uint32_t count)
{
	uint32_t found = 0;

	for (uint32_t i = from; found < count; i++) {
		assert_true(i < 1u << 24);
		address_ip4(out[found], i);
		found += harness_key(h, numbers, out[found]).set == set;
	}
}

/* Strangers of the source's set, which is returned. */
static uint32_t strangers_find(struct harness *h, uint8_t (*out)[16], uint32_t count)
{
	struct rl_rule first = harness_numbers(h, 0), second = harness_numbers(h, 1);
	bool ours_first = first.limit.size > second.limit.size;
	uint32_t set = harness_key(h, ours_first ? &first : &second, source).set;

	strangers_meet(h, ours_first ? &second : &first, set, 0, out, count);
	return set;
}

/* The clock stands still. The source passes its burst, and at most one packet for each slot that it
 * was given: strangers send one packet each and pass it, since a key seen for the first time has a
 * fresh state; so all other slots that were assigned were the source's. */
NAMED_TEST("a source among strangers, on two CPUs", crush_test)
{
	static const struct harness_options options = {.sources = 64, .seed = {8, 9}};
	static uint8_t strangers[2 * STRANGERS][16];
	struct runner one = {.h = harness_open(&options), .cpu = 0, .strangers = strangers};
	struct runner two = {.h = one.h, .cpu = 1, .strangers = strangers + STRANGERS};
	uint64_t inserted;
	pthread_t second;

	assert_non_null(one.h);
	harness_policy(one.h, "192.0.2.1 limit 1/m burst 600; 10.0.0.0/8 limit 2/d burst 2");
	strangers_find(one.h, strangers, 2 * STRANGERS);
	assert_int_equal(pthread_create(&second, NULL, runner_run, &two), 0);
	runner_run(&one);
	assert_int_equal(pthread_join(second, NULL), 0);
	inserted = harness_pressure(one.h, RL_PRESSURE_STRANGERS);
	harness_close(one.h);
	assert_int_equal(one.strangers_in + two.strangers_in, 2 * STRANGERS);
	assert_true(one.within + two.within >= BURST);
	assert_true(one.within + two.within <= BURST + (inserted - 2 * STRANGERS));
	assert_true(one.within + two.within < 2 * PACKETS * STRANGERS / 2);
}

/* ---- forgiven under fire */

#define PARDONS 100
#define ALLOWED 4

struct fire {
	struct harness *h;
	atomic_bool over;
	atomic_uint within;
};

static void *fire_run(void *arg)
{
	struct fire *fire = arg;
	struct frame frame;

	cpu_stay(1);
	frame_build(&frame, "ip4 udp");
	frame_source(&frame, source);
	while (!fire->over)
		fire->within += harness_passes(fire->h, &frame);
	return NULL;
}

static bool within_reaches(struct fire *fire, uint32_t wanted)
{
	for (int i = 0; i < 200 && fire->within < wanted; i++)
		usleep(1000);
	return fire->within >= wanted;
}

static const char *const fire_rules[] = {
	"any limit fixed-window 4/h",
	"any limit sliding-window 4/h",
	"any limit sliding-log 4/h",
	"any limit 1/h burst 4",
};

/* Forgiving admits as many packets as the limit allows, though packets that are refused never
 * pause. A packet that was reading the old state meanwhile may undo it, which is rare. */
ROWS(pardon_test, fire_rules, row)
{
	static const struct harness_options options = {.sources = 4096, .seed = {8, 9}};
	struct fire fire = {.h = harness_open(&options)};
	uint32_t acted = 0;
	pthread_t second;

	assert_non_null(fire.h);
	cpu_stay(0);
	harness_policy(fire.h, *row);
	assert_int_equal(pthread_create(&second, NULL, fire_run, &fire), 0);
	assert_true(within_reaches(&fire, ALLOWED));
	for (uint32_t i = 0; i < PARDONS && i - acted <= PARDONS / 10; i++) {
		uint32_t before = fire.within;

		harness_forgive(fire.h, source);
		acted += within_reaches(&fire, before + ALLOWED);
	}
	fire.over = true;
	assert_int_equal(pthread_join(second, NULL), 0);
	harness_close(fire.h);
	assert_true(acted >= PARDONS * 9 / 10);
}

/* ---- a stranger starts fresh */

#define STRANGERS 60000
#define OWED      18000 /* five hours */

static uint32_t refusals(struct harness *h, const uint8_t addr[16], uint32_t packets)
{
	static struct frame frame;
	uint32_t refused = 0;

	if (!frame.size)
		frame_build(&frame, "ip4 udp");
	frame_source(&frame, addr);
	for (uint32_t i = 0; i < packets; i++)
		refused += !harness_passes(h, &frame);
	return refused;
}

/* Three slots of the set are taken for days. The fourth holds the source, which owes hours, or the
 * latest stranger. A packet of the source, counted while its slot is taken, may be added to the
 * debt of the stranger, which may send three and sends two; the source's debt must not. */
NAMED_TEST("a stranger starts fresh", unconfirmed_test)
{
	static const struct harness_options options = {.sources = 64, .seed = {8, 9}};
	static uint8_t strangers[STRANGERS][16];
	struct fire fire = {.h = harness_open(&options)};
	struct rl_hot_set *set;
	uint32_t refused = 0;
	pthread_t second;

	assert_non_null(fire.h);
	cpu_stay(0);
	harness_policy(fire.h, "192.0.2.1 limit 1/s burst 86400; 10.0.0.0/8 limit 1/m burst 3");
	set = &fire.h->table.sets[strangers_find(fire.h, strangers, STRANGERS)];
	for (int i = 0; i < 3; i++)
		set->slot[i] = (struct rl_hot_slot){4 + 4 * i, (fire.h->now_ns + 9 * NS_PER_DAY)
								       << RL_GRAIN_SHIFT};
	assert_int_equal(harness_within(fire.h, source, OWED), OWED);
	assert_int_equal(pthread_create(&second, NULL, fire_run, &fire), 0);
	for (uint32_t i = 0; i < STRANGERS; i++)
		refused += refusals(fire.h, strangers[i], 2);
	fire.over = true;
	assert_int_equal(pthread_join(second, NULL), 0);
	harness_close(fire.h);
	assert_int_equal(refused, 0);
}

/* ---- flags stay with their key */

#define RETURNS 40000
#define RECENT  4

static const char *const flag_rules[] = {
	"10.0.0.0/9 limit 2/d burst 2; 10.128.0.0/9 limit 1/m burst 2",
	"10.0.0.0/9 limit 2/d burst 2; 10.128.0.0/9 limit fixed-window 4/h",
};

struct visits {
	struct harness *h;
	uint8_t (*returning)[16];
	atomic_bool over;
};

/* One source after the other, each of which comes back at once. Time goes on, so that states may be
 * made. */
static void *visits_run(void *arg)
{
	struct visits *visits = arg;
	struct frame frame;

	cpu_stay(1);
	frame_build(&frame, "ip4 udp");
	for (uint32_t i = 0; !visits->over; i++) {
		frame_source(&frame, visits->returning[i % RETURNS]);
		harness_passes(visits->h, &frame);
		harness_passes(visits->h, &frame);
		harness_clock(visits->h, visits->h->now_ns + NS_PER_SECOND / 8);
	}
	return NULL;
}

/* How many of the slots are of strangers' keys and have flags. */
static uint32_t flags_strayed(const struct rl_hot_set *set, const uint64_t recent[RECENT])
{
	uint32_t strayed = 0;

	for (int way = 0; way < RL_HOT_WAYS; way++) {
		uint64_t fingerprint =
			__atomic_load_n(&set->slot[way].fingerprint, __ATOMIC_SEQ_CST);

		for (int i = 0; i < RECENT; i++)
			strayed += (fingerprint & ~HOT_FLAGS) == recent[i] &&
				   fingerprint & (HOT_AGAIN | HOT_REFUSED);
	}
	return strayed;
}

/* Strangers send one packet each and owe longer, so that each takes the slot of a source that is
 * just coming back. No stranger came back, so none is refused: no flag of theirs is set. */
ROWS(flags_test, flag_rules, rules)
{
	static const struct harness_options options = {.sources = 64, .seed = {8, 9}};
	static uint8_t strangers[RETURNS][16], returning[RETURNS][16];
	struct visits visits = {.h = harness_open(&options), .returning = returning};
	uint64_t recent[RECENT] = {0};
	struct rl_rule numbers, theirs;
	struct rl_hot_set *set;
	uint32_t strayed = 0;
	pthread_t second;

	assert_non_null(visits.h);
	cpu_stay(0);
	harness_policy(visits.h, *rules);
	numbers = harness_numbers(visits.h, 0);
	theirs = harness_numbers(visits.h, 1);
	set = &visits.h->table.sets[0];
	strangers_meet(visits.h, &numbers, 0, 0, strangers, RETURNS);
	strangers_meet(visits.h, &theirs, 0, 1u << 23, returning, RETURNS);
	assert_int_equal(pthread_create(&second, NULL, visits_run, &visits), 0);
	for (uint32_t i = 0; i < RETURNS; i++) {
		recent[i % RECENT] = harness_key(visits.h, &numbers, strangers[i]).fingerprint;
		refusals(visits.h, strangers[i], 1);
		strayed += flags_strayed(set, recent);
	}
	visits.over = true;
	assert_int_equal(pthread_join(second, NULL), 0);
	harness_close(visits.h);
	assert_int_equal(strayed, 0);
}
