// SPDX-License-Identifier: GPL-2.0-only
/* Bans and their slots: none in force is evicted, bans that could not begin are counted, and a ban
 * that is over or forgiven makes room.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/bpf.h>
#include <cmocka.h>

#include "base/units.h"
#include "harness.h"

#define BANS  64
#define CROWD 4096
#define RULE  "any limit 1/d burst 1 over ban 1m"

static struct harness *h;

static int setup(void **state)
{
	const struct harness_options options = {
		.table = *state ? *(const enum rl_table *)*state : RL_TABLE_HOT,
		.sources = 16 * CROWD,
		.bans = BANS,
	};

	h = harness_open(&options);
	return h ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	harness_close(h);
	return 0;
}

static enum rl_reason run_from(uint32_t number)
{
	uint8_t addr[16];

	address_ip4(addr, number);
	return harness_run_from(h, addr);
}

/* Two packets from each of the sources: the second is over the limit, and bans. */
static void offend(uint32_t first, uint32_t count)
{
	for (uint32_t i = first; i < first + count; i++) {
		assert_int_equal(run_from(i), RL_REASON_WITHIN);
		assert_int_equal(run_from(i), RL_REASON_OVER);
	}
}

/* Counts the banned sources; the others are over their limit. */
static uint32_t banned(uint32_t first, uint32_t count)
{
	uint32_t found = 0;

	for (uint32_t i = first; i < first + count; i++) {
		enum rl_reason reason = run_from(i);

		assert_true(reason == RL_REASON_BANNED || reason == RL_REASON_OVER);
		found += reason == RL_REASON_BANNED;
	}
	return found;
}

static uint64_t refused(void)
{
	return harness_pressure(h, RL_PRESSURE_BANS_REFUSED);
}

static void wait_ns(uint64_t ns)
{
	harness_clock(h, h->now_ns + ns);
}

/* As many as there are slots, each of which is tried once. */
static void fill_test(void **state)
{
	(void)state;
	harness_policy(h, RULE);
	offend(0, BANS);
	assert_int_equal(refused(), 0);
	assert_int_equal(banned(0, BANS), BANS);
}

/* A crowd that wants their slots does not affect banned sources. */
static void crowd_test(void **state)
{
	(void)state;
	harness_policy(h, RULE);
	offend(0, BANS);
	offend(BANS, CROWD);
	assert_int_equal(refused(), CROWD);
	assert_int_equal(banned(0, BANS), BANS);
	assert_int_equal(banned(BANS, CROWD), 0);
}

/* Bans that are over make room, for others and for their own keys. */
static void over_test(void **state)
{
	(void)state;
	harness_policy(h, RULE);
	offend(0, BANS);
	wait_ns(NS_PER_MINUTE - 1);
	assert_int_equal(run_from(0), RL_REASON_BANNED);
	wait_ns(1);
	offend(BANS, BANS);
	assert_int_equal(refused(), 0);
	assert_int_equal(banned(BANS, BANS), BANS);
	assert_int_equal(banned(0, BANS), 0);
	wait_ns(NS_PER_MINUTE);
	assert_int_equal(banned(0, BANS), 0); /* each is an offence */
	assert_int_equal(banned(0, BANS), BANS);
	wait_ns(NS_PER_MINUTE);
	assert_int_equal(banned(0, BANS), 0);
	assert_int_equal(banned(0, BANS), BANS);
}

/* A ban that has a slot keeps it when it begins anew. */
static void renew_test(void **state)
{
	(void)state;
	harness_policy(h, RULE);
	offend(0, 1);
	for (int i = 0; i < 4 * BANS; i++) {
		assert_int_equal(run_from(0), RL_REASON_BANNED);
		wait_ns(NS_PER_MINUTE);
		assert_int_equal(run_from(0), RL_REASON_OVER);
	}
	offend(1, BANS - 1);
	assert_int_equal(refused(), 0);
	assert_int_equal(banned(0, BANS), BANS);
}

static void forgive_test(void **state)
{
	uint8_t addr[16];

	(void)state;
	harness_policy(h, RULE);
	offend(0, BANS);
	address_ip4(addr, 7);
	assert_int_equal(harness_forgive(h, addr), 1);
	assert_int_equal(run_from(7), RL_REASON_WITHIN);
	assert_int_equal(run_from(BANS), RL_REASON_WITHIN);
	for (int i = 0; i < BANS; i++) /* each looks at some seats more */
		run_from(BANS);
	assert_int_equal(banned(BANS, 1), 1);
	assert_int_equal(banned(0, 7) + banned(8, BANS - 8), BANS - 1);
}

/* Larger maps have all that is in force, and room. */
static void grow_test(void **state)
{
	(void)state;
	harness_policy(h, RULE);
	offend(0, BANS);
	assert_int_equal(bans_grow(&h->instance, 4 * BANS), 0);
	assert_int_equal(banned(0, BANS), BANS);
	offend(BANS, 3 * BANS);
	assert_int_equal(refused(), 0);
	assert_int_equal(banned(0, 4 * BANS), 4 * BANS);
	offend(4 * BANS, BANS);
	assert_int_equal(refused(), BANS);
}

/* A writer that was killed left the bans without slots: those in force hold, and the next writer
 * repairs it. */
static void seats_gone_test(void **state)
{
	uint32_t zero = 0;

	(void)state;
	harness_policy(h, RULE);
	offend(0, 3);
	assert_int_equal(bpf_map_delete_elem(h->instance.fd.ban_seats, &zero), 0);
	offend(3, 2);
	assert_int_equal(refused(), 2);
	assert_int_equal(banned(0, 3), 3);
	harness_policy(h, RULE);
	assert_int_equal(banned(0, 3), 3);
	assert_int_equal(banned(3, 2), 0);
	assert_int_equal(banned(3, 2), 2);
}

/* A policy without bans has no map of bans. */
static void none_test(void **state)
{
	uint32_t zero = 0, id;

	(void)state;
	harness_policy(h, "any limit 1/d burst 1");
	assert_int_equal(bpf_map_lookup_elem(h->instance.fd.bans, &zero, &id), -ENOENT);
	assert_int_equal(bpf_map_lookup_elem(h->instance.fd.ban_seats, &zero, &id), -ENOENT);
	harness_policy(h, RULE);
	assert_int_equal(bpf_map_lookup_elem(h->instance.fd.bans, &zero, &id), 0);
}

#define ROW(name, test)                           \
	{                                         \
		name, test, setup, teardown, NULL \
	}

int main(void)
{
	static enum rl_table lru = RL_TABLE_LRU;
	const struct CMUnitTest tests[] = {
		ROW("bans: as many as there are seats", fill_test),
		ROW("bans: none in force is pushed out", crowd_test),
		{"bans: none in force is pushed out, lru", crowd_test, setup, teardown, &lru},
		ROW("bans: what is over makes room", over_test),
		ROW("bans: a seat is kept", renew_test),
		ROW("bans: what is forgiven makes room", forgive_test),
		ROW("bans: more of them", grow_test),
		ROW("bans: a writer was killed", seats_gone_test),
		ROW("bans: no map where nobody is banned", none_test),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
