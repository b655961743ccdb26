// SPDX-License-Identifier: GPL-2.0-only
/* Known sources behind their filter: a source that sent within five minutes is known, to the
 * nanosecond and whatever came between; most strangers are answered by the filter alone; the filter
 * is there only where a policy uses it, and one that may have missed something knows everybody.
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "algorithm/known_filter.h"
#include "base/units.h"
#include "harness.h"
#include "kernel/maps/policy_maps.h"

#define GRAINS(ns) ((uint64_t)(ns) << RL_GRAIN_SHIFT)
#define KNOWN      (5 * NS_PER_MINUTE)
#define FORGOTTEN  (7 * NS_PER_MINUTE) /* by the filter, too: four epochs and a bit */
#define TICK       (4 * NS_PER_MS)

/* By the policy below udp makes a source known, and tcp asks whether it is. */
#define POLICY "any udp allow;device new-source deny"

static struct harness *h;

static void fresh(bool by_dest)
{
	harness_close(h);
	h = harness_must_open(&(struct harness_options){
		.table = RL_TABLE_HOT, .by_dest = by_dest, .seed = {3, 5}});
	harness_policy(h, POLICY);
}

static enum rl_reason packet(const uint8_t addr[16], bool ipv6, bool asks)
{
	static struct frame frames[2][2];
	struct frame *frame = &frames[ipv6][asks];

	if (!frame->size)
		frame_build(frame, ipv6   ? asks ? "ip6 tcp" : "ip6 udp"
				   : asks ? "ip4 tcp"
					  : "ip4 udp");
	frame_source(frame, addr);
	return harness_run(h, frame);
}

static void becomes_known(uint32_t number)
{
	uint8_t addr[16];

	address_ip4(addr, number);
	assert_int_equal(packet(addr, false, false), RL_REASON_ALLOWED);
}

static bool is_known(uint32_t number)
{
	uint8_t addr[16];
	enum rl_reason reason;

	address_ip4(addr, number);
	reason = packet(addr, false, true);
	assert_true(reason == RL_REASON_UNMATCHED || reason == RL_REASON_DENIED);
	return reason == RL_REASON_UNMATCHED;
}

/* ---- the filter, and a slot that it knows nothing of */

static bool has_filter(void)
{
	int fd = policy_map_open(&h->instance, POLICY_MAP_known_filter);

	if (fd >= 0)
		close(fd);
	assert_true(fd >= 0 || fd == -ENOENT);
	return fd >= 0;
}

/* Does the program look at the slot? One that says "known" is there while it is asked. */
static bool slot_asked(uint32_t number)
{
	const struct rl_instance *info = &h->instance.info;
	struct rl_hot_slot *slot, before;
	struct hot_key key;
	uint8_t addr[16];
	__u64 words[2];
	bool known;

	address_ip4(addr, number);
	memcpy(words, addr, sizeof(words));
	key = hot_key_of(hot_hash_address(info->hot_seed, true, words), 0, 0, info->hot_sets - 1);
	slot = &h->table.sets[key.set].slot[RL_HOT_WAYS - 1];
	before = *slot;
	*slot = (struct rl_hot_slot){key.fingerprint, GRAINS(h->now_ns + NS_PER_SECOND)};
	known = is_known(number);
	*slot = before;
	return known;
}

#define STRANGERS 5000

/* Strangers that reach the slots, of a thousand. Those pass, and become known. */
static unsigned int asked_permille(void)
{
	unsigned int asked = 0;

	for (uint32_t i = 0; i < STRANGERS; i++)
		asked += slot_asked((1 << 20) + i);
	return asked * 1000 / STRANGERS;
}

/* ---- never a false "new" */

#define SOURCES 64

static const struct row {
	const char *name;
	bool ipv6, by_dest;
	uint64_t step_ns; /* from one packet to the next: up to that */
} rows[] = {
	{"known or new, each within a second", false, false, NS_PER_SECOND / SOURCES},
	{"known or new, around five minutes", false, false, 2 * KNOWN / SOURCES},
	{"known or new, IPv6 networks", true, false, 2 * KNOWN / SOURCES},
	{"known or new, by destination", false, true, 2 * KNOWN / SOURCES},
	{"known or new, seldom", false, false, 8 * KNOWN / SOURCES},
};

/* Two CPUs in turn, one of which is late by up to a tick. until_ns[]: what the manual says. */
ROWS(lives_test, rows, row)
{
	uint64_t until_ns[SOURCES] = {0}, seed = 17, now = NS_PER_DAY, known = 0, new = 0;

	fresh(row->by_dest);
	for (int i = 0; i < 20000; i++) {
		uint32_t n = random_under(&seed, SOURCES);
		bool asks = random_under(&seed, 4);
		uint8_t addr[16];
		enum rl_reason is, should = RL_REASON_ALLOWED;

		if (row->ipv6)
			address_ip6(addr, n, random_under(&seed, 1000));
		else
			address_ip4(addr, n);
		now += random_under(&seed, row->step_ns);
		harness_clock(h, random_under(&seed, 2) ? now : now - random_under(&seed, TICK));
		if (asks)
			should = until_ns[n] > h->now_ns ? RL_REASON_UNMATCHED : RL_REASON_DENIED;
		is = packet(addr, row->ipv6, asks);
		if (is != should)
			fail_msg("packet %d, source %u: %s, not %s", i, n, reason_name(is),
				 reason_name(should));
		if (is != RL_REASON_DENIED && until_ns[n] < h->now_ns + KNOWN - NS_PER_SECOND)
			until_ns[n] = h->now_ns + KNOWN;
		known += is == RL_REASON_UNMATCHED;
		new += is == RL_REASON_DENIED;
	}
	assert_int_equal(harness_pressure(h, RL_PRESSURE_EVICTIONS), 0);
	assert_true(known > 300 && new > (row->step_ns < NS_PER_SECOND ? 10 : 300));
}

/* ---- strangers */

/* A quarter as many known sources as there are slots: one bit each of 3584. */
TEST(strangers_test)
{
	fresh(false);
	assert_int_equal(asked_permille(), 0);
	for (uint32_t i = 0; i < 1024; i++)
		becomes_known(i);
	assert_in_range(asked_permille(), 210, 290); /* 1 - e^(-1024/3584) */
	harness_clock(h, h->now_ns + KNOWN - 1);
	assert_in_range(asked_permille(), 210, 290);
	harness_clock(h, h->now_ns + FORGOTTEN);
	assert_int_equal(asked_permille(), 0); /* nobody had to clear it */
}

/* ---- where there is a filter */

TEST(made_test)
{
	static const enum rl_table others[] = {RL_TABLE_LRU, RL_TABLE_CPU};

	fresh(false);
	assert_true(has_filter());
	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		harness_close(h);
		h = harness_open(&(struct harness_options){.table = others[i]});
		harness_policy(h, POLICY);
		assert_false(has_filter());
		assert_false(is_known(1));
		becomes_known(1);
		assert_true(is_known(1));
	}
}

AT_START(stay)
{
	cpu_stay(0);
}

static int end(void **state)
{
	(void)state;
	harness_close(h);
	return 0;
}

FIXTURE(NULL, end)
