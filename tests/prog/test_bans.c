// SPDX-License-Identifier: GPL-2.0-only
/* Bans and their slots: none in force is evicted, bans that could not begin are counted, and a ban
 * that is over or forgiven makes room.
 */
#include <errno.h>

#include <bpf/bpf.h>
#include "base/units.h"
#include "harness.h"

#define BANS  64
#define CROWD 4096
#define RULE  "any limit 1/d burst 1 over ban 1m"

static struct harness *h;
HARNESS_OF_EACH(set_up, tear_down, h, .sources = 16 * CROWD, .bans = BANS)
HARNESS_OF_EACH(lru_set_up, lru_tear_down, h, .table = RL_TABLE_LRU, .sources = 16 * CROWD,
		.bans = BANS)

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
NAMED_TEST("bans: as many as there are seats", fill_test, set_up, tear_down)
{
	harness_policy(h, RULE);
	offend(0, BANS);
	assert_int_equal(refused(), 0);
	assert_int_equal(banned(0, BANS), BANS);
}

/* A crowd that wants their slots does not affect banned sources. */
NAMED_TEST("bans: none in force is pushed out", crowd_test, set_up, tear_down)
{
	harness_policy(h, RULE);
	offend(0, BANS);
	offend(BANS, CROWD);
	assert_int_equal(refused(), CROWD);
	assert_int_equal(banned(0, BANS), BANS);
	assert_int_equal(banned(BANS, CROWD), 0);
}

/* Bans that are over make room, for others and for their own keys. */
NAMED_TEST("bans: what is over makes room", over_test, set_up, tear_down)
{
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
NAMED_TEST("bans: a seat is kept", renew_test, set_up, tear_down)
{
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

NAMED_TEST("bans: what is forgiven makes room", forgive_test, set_up, tear_down)
{
	uint8_t addr[16];

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
NAMED_TEST("bans: more of them", grow_test, set_up, tear_down)
{
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
NAMED_TEST("bans: a writer was killed", seats_gone_test, set_up, tear_down)
{
	uint32_t zero = 0;

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
NAMED_TEST("bans: no map where nobody is banned", none_test, set_up, tear_down)
{
	uint32_t zero = 0, id;

	harness_policy(h, "any limit 1/d burst 1");
	assert_int_equal(bpf_map_lookup_elem(h->instance.fd.bans, &zero, &id), -ENOENT);
	assert_int_equal(bpf_map_lookup_elem(h->instance.fd.ban_seats, &zero, &id), -ENOENT);
	harness_policy(h, RULE);
	assert_int_equal(bpf_map_lookup_elem(h->instance.fd.bans, &zero, &id), 0);
}

AT_START(crowd_of_lru_add)
{
	test_add((struct CMUnitTest){"bans: none in force is pushed out, lru", crowd_test,
				     lru_set_up, lru_tear_down, NULL});
}
