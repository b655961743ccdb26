// SPDX-License-Identifier: GPL-2.0-only
/* Tests that a scenario cannot express: the deepest nest, an instance that goes by destination, a
 * full state map, two CPUs at once.
 */
#include <pthread.h>
#include <string.h>

#include <bpf/bpf.h>

#include "base/units.h"
#include "scenario.h"

HARNESS(h)

/* Prefixes nested as deeply as possible: `shortest` for the shortest, a rule that does not match
 * for all others, then `last`. */
static void nest_policy(bool ip4, const char *shortest, const char *last)
{
	uint8_t first = ip4 ? RL_MAPPED_BITS : 0, addr[16] = {0};
	char text[RL_NEST_MAX * 80] = "", prefix[PREFIX_TEXT_MAX];

	if (ip4)
		addr[10] = addr[11] = 0xff;
	for (uint8_t len = 1; len <= RL_NEST_MAX; len++) {
		size_t used = strlen(text);
		uint8_t bit = first + len - 1;

		addr[bit / 8] |= 0x80 >> bit % 8;
		prefix_print(prefix, sizeof(prefix), addr, first + len);
		snprintf(text + used, sizeof(text) - used, "rule %s %s\n", prefix,
			 len == 1 ? shortest : "tcp deny");
	}
	snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s\n", last);
	harness_policy(h, text);
}

TEST(nest_test)
{
	static const char *const frames[] = {"ip6=ffff:ffff:: udp", "ip4=255.255.255.255 udp"};

	for (int ip4 = 0; ip4 < 2; ip4++) {
		nest_policy(ip4, "tcp deny", "");
		harness_expect(h, "nothing", frames[ip4], RL_REASON_UNMATCHED);
		nest_policy(ip4, "tcp deny", "rule any udp deny");
		harness_expect(h, "any", frames[ip4], RL_REASON_DENIED);
		nest_policy(ip4, "udp allow", "rule any udp deny");
		harness_expect(h, "the shortest", frames[ip4], RL_REASON_ALLOWED);
	}
}

/* ---- by destination */

static const struct row {
	const char *name, *scenario;
} by_dest[] = {
	{"by destination: prefix", "= 198.51.100.1 deny; 2001:db8:1::/64 allow | "
				   "ip4 udp : denied | "
				   "ip4=198.51.100.1>192.0.2.1 udp : unmatched | "
				   "ip6 udp : allowed | "
				   "ip6=2001:db8:1::1>::1 udp : unmatched"},
	{"by destination: default key", "= any limit 1/h burst 1 | "
					"ip4 udp : within | "
					"ip4=9.9.9.9 udp : over | "
					"ip4=192.0.2.1>9.9.9.9 udp : within | "
					"ip6 udp : within | "
					"ip6=::1>2001:db8:1::ffff udp : over"},
	{"by destination: per source", "= any limit 1/h burst 1 per source | "
				       "ip4 udp : within | "
				       "ip4=192.0.2.1>9.9.9.9 udp : over | "
				       "ip4=192.0.2.2 udp : within"},
	{"by destination: matches",
	 "= 198.51.100.0/24 src 192.0.2.1 deny; any dst 198.51.100.2 allow | "
	 "ip4 udp : denied | "
	 "ip4=192.0.2.2>198.51.100.1 udp : unmatched | "
	 "ip4=192.0.2.2>198.51.100.2 udp : allowed"},
};

ROWS(by_dest_test, by_dest, row)
{
	static const struct harness_options options = {.by_dest = true};
	struct harness *own = harness_must_open(&options);

	harness_expect(own, "before any policy", "ip4 udp", RL_REASON_UNMATCHED);
	scenario_reset(own);
	scenario_run(own, row->scenario);
	harness_close(own);
}

/* ---- more sources than there is room for */

static void source_set(struct frame *frame, uint32_t source)
{
	memcpy(frame->bytes + frame->ip_at + 12, &source, sizeof(source));
}

static uint32_t entries_of(int map)
{
	uint8_t key[sizeof(struct rl_state_key)], *last = NULL;
	uint32_t count = 0;

	for (; !bpf_map_get_next_key(map, last, key); last = key)
		count++;
	return count;
}

static const struct full {
	const char *name;
	enum rl_table table;
	uint32_t least, most; /* states in LRU maps at the end */
} fulls[] = {
	{"full, --table hot: strangers seen once leave no state", RL_TABLE_HOT, 0, 1},
	{"full, --table lru: as many states as there is room for", RL_TABLE_LRU, 512, 1024},
};

/* Every stranger is limited like any other source. A source that sends all the time is not evicted
 * among them: it passes the burst, once or (an LRU is not exact) a few times in 100,000 packets. */
ROWS(full_test, fulls, full)
{
	struct harness *own =
		harness_open(&(struct harness_options){.table = full->table, .sources = 1024});
	uint32_t within = 0;
	struct frame frame;

	assert_non_null(own);
	harness_policy(own, "any limit 1/h burst 2");
	frame_build(&frame, "ip4 udp");
	for (uint32_t i = 0; i < 50000; i++) {
		source_set(&frame, 0x01000000 + i);
		assert_int_equal(harness_run(own, &frame), RL_REASON_WITHIN);
		source_set(&frame, 0xffffffff);
		within += harness_run(own, &frame) == RL_REASON_WITHIN;
	}
	assert_in_range(within, 2, 20);
	assert_in_range(entries_of(own->policy_maps[POLICY_MAP_sources]) +
				entries_of(own->policy_maps[POLICY_MAP_spilled]),
			full->least, full->most);
	for (uint32_t i = 0; i < 3; i++) {
		source_set(&frame, 0x02000000);
		assert_int_equal(harness_count(own, &frame),
				 i < 2 ? RL_REASON_WITHIN : RL_REASON_OVER);
	}
	harness_close(own);
}

/* ---- two CPUs at once */

#define RACE_PACKETS 200000
#define RACE_BURST   50000

static void *race_run(void *unused)
{
	struct frame frame;

	(void)unused;
	frame_build(&frame, "ip4 udp");
	harness_repeat(h, &frame, RACE_PACKETS);
	return NULL;
}

/* The first packet comes alone: two CPUs that miss a key at once may forget a packet of its debt
 * (bpf/limit/hot.h). */
static uint64_t race_pair(const char *policy)
{
	struct rl_amount before[RL_REASON_COUNT], after[RL_REASON_COUNT];
	struct frame frame;
	pthread_t second;

	scenario_reset(h);
	harness_policy(h, policy);
	harness_reasons(h, before);
	frame_build(&frame, "ip4 udp");
	harness_count(h, &frame);
	assert_int_equal(pthread_create(&second, NULL, race_run, NULL), 0);
	race_run(NULL);
	assert_int_equal(pthread_join(second, NULL), 0);
	harness_reasons(h, after);
	assert_int_equal(after[RL_REASON_WITHIN].packets - before[RL_REASON_WITHIN].packets +
				 after[RL_REASON_OVER].packets - before[RL_REASON_OVER].packets,
			 2 * RACE_PACKETS + 1);
	return after[RL_REASON_WITHIN].packets - before[RL_REASON_WITHIN].packets;
}

/* The clock stands still: exactly the burst is admitted. A packet that loses the race for the word
 * too often is refused, so fewer packets could be admitted if fewer were sent, but not with so
 * many. */
static const struct {
	const char *name, *policy;
} races[] = {
	{"race for one source", "rule any limit 1/s burst 50000"},
	{"race for a shared state", "rule device limit 1/s burst 50000"},
};

ROWS(race_test, races, row)
{
	for (int i = 0; i < 5; i++)
		assert_int_equal(race_pair(row->policy), RACE_BURST);
}

/* The first limit gets refunds for packets that the second refused, exact to the packet. */
TEST(race_refund_test)
{
	for (int i = 0; i < 5; i++) {
		assert_int_equal(race_pair("rule any limit 1/s burst 50100; rule any limit 1/s "
					   "burst 50000 per rule"),
				 RACE_BURST);
		scenario_run(h, "= any limit 1/s burst 50100 | "
				"100 * ip4 udp : within | "
				"ip4 udp : over");
	}
}

/* ---- batches: a shared bucket at a high rate */

#define LEASED "limit 1m/second burst 50000"

static uint32_t admitted_of(const struct frame *frame, uint32_t offers)
{
	uint32_t admitted = 0;

	for (uint32_t i = 0; i < offers; i++)
		admitted += harness_count(h, frame) == RL_REASON_WITHIN;
	return admitted;
}

/* Never above the burst, and below it by at most a 64th that other CPUs may hold. */
TEST(lease_race_test)
{
	for (int i = 0; i < 5; i++) {
		uint64_t admitted = race_pair("rule device " LEASED);

		assert_true(admitted <= RACE_BURST);
		assert_true(admitted >= RACE_BURST - RACE_BURST / 64 - 2);
	}
}

/* From one CPU over 50 ms: the burst and the rate, not above, and the rate within a 1000th. */
TEST(lease_rate_test)
{
	uint64_t start_ns = 400 * NS_PER_DAY, admitted = 0;
	struct frame frame;

	frame_build(&frame, "ip4 udp");
	harness_policy(h, "");
	harness_policy(h, "rule device limit 1m/second burst 5000");
	for (uint32_t us = 0; us <= 50000; us++) {
		harness_clock(h, start_ns + us * NS_PER_US);
		admitted += admitted_of(&frame, 2);
		assert_true(admitted <= 5000 + us);
	}
	assert_true(admitted >= 50000 + 5000 - 5000 / 64 - 50);
}

/* A batch or a bucket gets refunds for packets that another limit refused. */
TEST(lease_refund_test)
{
	uint32_t admitted, left;
	struct frame frame;

	frame_build(&frame, "ip4 udp");
	admitted = race_pair("rule any limit 1/s burst 60000; rule device " LEASED);
	harness_policy(h, "rule any limit 1/s burst 60000");
	assert_int_equal(admitted + admitted_of(&frame, 60000 - RACE_BURST + 2000), 60000);
	admitted = race_pair("rule any limit 1m/second burst 51000 per rule; rule device limit 1/s "
			     "burst 50000");
	assert_int_equal(admitted, RACE_BURST);
	harness_policy(h, "rule any limit 1m/second burst 51000 per rule");
	left = admitted_of(&frame, 2000);
	assert_true(left <= 1000 && left + 51000 / 64 + 2 >= 1000);
}
