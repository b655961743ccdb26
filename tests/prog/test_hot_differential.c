// SPDX-License-Identifier: GPL-2.0-only
/* The same packets at the same times under --table hot and --table lru: the same verdicts, one by
 * one, whatever the key, the family and the number of limits. The table is large enough for all.
 */

#include "base/units.h"
#include "harness.h"

#define MANY 100000
#define FEW  20000

static const struct row {
	const char *name, *rules;
	uint32_t sources, dests, ports;
	uint64_t wait_ns; /* between packets, at most */
	uint32_t packets;
} rows[] = {
	{"per source", "any limit 10/s burst 5", 400, 1, 1, NS_PER_MS, MANY},
	{"per source/24,56", "any limit 100/s burst 9 per source/24,56", 400, 1, 1, NS_PER_MS,
	 MANY},
	{"per source/32,128", "any limit 2/s burst 5 per source/32,128", 400, 1, 1, NS_PER_MS, FEW},
	{"per source/0", "any limit 500/s burst 50 per source/0,0", 400, 1, 1, NS_PER_MS, FEW},
	{"per dest", "any limit 20/s burst 5 per dest", 9, 200, 1, NS_PER_MS, MANY},
	{"per dest/24,64", "any limit 100/s burst 9 per dest/24,64", 9, 400, 1, NS_PER_MS, FEW},
	{"per source+dport", "any limit 3/s burst 4 per source+dport", 40, 1, 20, NS_PER_MS, MANY},
	{"per source+dest", "any limit 3/s burst 4 per source+dest", 40, 20, 2, NS_PER_MS, MANY},
	{"per flow", "any limit 3/s burst 4 per flow", 6, 3, 3, NS_PER_MS, MANY},
	{"in bytes", "any limit 50kbit burst 3kbyte", 40, 1, 1, NS_PER_MS, FEW},
	{"leaky-bucket", "any limit leaky-bucket 97/s queue 40ms", 40, 1, 1, NS_PER_MS, FEW},
	{"refused by a fixed-window", "any limit fixed-window 20/s", 50, 1, 1, NS_PER_MS, MANY},
	{"refused by a short fixed-window", "any limit fixed-window 3/7ms", 3, 1, 1, NS_PER_MS,
	 FEW},
	{"refused by a sliding-window", "any limit sliding-window 20/s", 50, 1, 1, NS_PER_MS, MANY},
	{"refused by two slots", "any limit sliding-window 20/s slots 2", 50, 1, 1, NS_PER_MS, FEW},
	{"refused by a short sliding-window", "any limit sliding-window 3/7ms slots 3", 3, 1, 1,
	 NS_PER_MS, FEW},
	{"refused by a sliding-log", "any limit sliding-log 20/s", 50, 1, 1, NS_PER_MS, MANY},
	{"refused by a sliding-log of one", "any limit sliding-log 1/3ms", 3, 1, 1, NS_PER_MS, FEW},
	{"refused by a log per source+dport", "any limit sliding-log 4/s per source+dport", 20, 1,
	 9, NS_PER_MS, FEW},
	{"refused by a window per flow", "any limit fixed-window 4/s per flow", 9, 3, 3, NS_PER_MS,
	 FEW},
	{"refused by all three",
	 "any limit sliding-log 9/s; any limit fixed-window 50/10s per dest; device limit "
	 "sliding-window 999/10s per source/24,48",
	 50, 20, 1, 9 * NS_PER_MS, FEW},
	{"bans and shadows",
	 "any limit 10/s burst 5 over ban 200ms; any limit sliding-log 5/s over count; device "
	 "limit "
	 "fixed-window 99/10s per source over ban 1s source",
	 50, 1, 1, 2 * NS_PER_MS, FEW},
	{"refusals stand beside conditions",
	 "any limit 9/s burst 3; 10.0.0.0/24 udp dport 1-2 limit 5/s burst 2; 10.0.1.0/24 limit "
	 "7/s burst 4; 2001:db8::/48 limit 8/s burst 3; 2001:db8:0:40::/58 tcp deny",
	 200, 1, 4, NS_PER_MS, MANY},
	{"refusals stand, and a host's prefix is longer",
	 "any limit 5/s burst 3; 2001:db8::2 allow; 2001:db8:0:40::1 udp deny; 10.0.0.1 allow", 40,
	 1, 1, 4 * NS_PER_MS, FEW},
	{"refusals stand before the device's limits",
	 "any limit 9/s burst 3; any limit 7/s burst 4 per dest; device limit 100/s burst 9", 60,
	 30, 1, 2 * NS_PER_MS, MANY},
	{"the device denies some", "any limit 9/s burst 3; device tcp deny", 40, 1, 1,
	 4 * NS_PER_MS, FEW},
	{"known and new sources", "any limit 50/s burst 5; device new-source limit 1/s burst 9",
	 300, 1, 1, NS_PER_MS, FEW},
	{"sixteen limits",
	 "any tcp limit 9/s burst 5; any udp limit 8/s burst 6; any dport 1-3 limit 7/s burst 7; "
	 "any dport 4-9 limit 6/s burst 8; any sport 1-3 limit 5/s burst 9; any sport 4-9 limit "
	 "4/s "
	 "burst 10; any tcp dport 1-5 limit 3/s burst 11; any udp sport 1-5 limit 2/s burst 12; "
	 "device tcp limit 19/s burst 5 per source; device udp limit 18/s burst 6 per source; "
	 "device "
	 "dport 1-3 limit 17/s burst 7 per source; device dport 4-9 limit 16/s burst 8 per source; "
	 "device sport 1-3 limit 15/s burst 9 per source; device sport 4-9 limit 14/s burst 10 per "
	 "source; device tcp dport 1-5 limit 13/s burst 11 per source; device udp sport 1-5 limit "
	 "12/s burst 12 per source",
	 8, 1, 9, 4 * NS_PER_MS, FEW},
};

/* One packet of every family and protocol, to be addressed. */
struct post {
	struct frame frames[2][2];
	uint64_t seed;
};

static void post_build(struct post *post)
{
	frame_build(&post->frames[0][0], "ip6 udp data=30");
	frame_build(&post->frames[0][1], "ip6 tcp data=900");
	frame_build(&post->frames[1][0], "ip4 udp");
	frame_build(&post->frames[1][1], "ip4 tcp data=300");
}

/* Neighbours in the last bits and in the network's. */
static void address_draw(struct post *post, bool ip4, uint32_t count, uint8_t out[16])
{
	uint32_t n = random_under(&post->seed, count);

	if (ip4)
		address_ip4(out, n % 20 + (n / 20 << 8));
	else
		address_ip6(out, n / 5 * 64, n % 5);
}

static const struct frame *frame_draw(struct post *post, const struct row *row)
{
	bool ip4 = random_under(&post->seed, 2);
	struct frame *frame = &post->frames[ip4][random_under(&post->seed, 2)];
	uint8_t addr[16];

	address_draw(post, ip4, row->sources, addr);
	frame_source(frame, addr);
	address_draw(post, ip4, row->dests, addr);
	frame_dest(frame, addr);
	frame_ports(frame, 1 + random_under(&post->seed, row->ports),
		    1 + random_under(&post->seed, row->ports));
	return frame;
}

HARNESS(hot, .sources = 65536, .table = RL_TABLE_HOT, .seed = {11, 12})
HARNESS(lru, .sources = 65536, .table = RL_TABLE_LRU)

/* Fresh states: limits that went and come back are new ones, and all that is known or banned is so
 * no longer. */
static void row_begin(struct harness *h, const char *rules)
{
	harness_policy(h, "");
	harness_policy(h, rules);
	harness_clock(h, h->now_ns + NS_PER_DAY);
}

ROWS(row_test, rows, row)
{
	struct post post = {.seed = 20250711};
	uint64_t evictions = harness_pressure(hot, RL_PRESSURE_EVICTIONS);
	uint32_t passed = 0;

	row_begin(hot, row->rules);
	row_begin(lru, row->rules);
	harness_clock(hot, lru->now_ns);
	post_build(&post);
	for (uint32_t i = 0; i < row->packets; i++) {
		const struct frame *frame = frame_draw(&post, row);
		enum rl_reason reason = harness_run(lru, frame), other = harness_run(hot, frame);

		if (!reason_is_same(reason, other))
			fail_msg("packet %u is %s, not %s", i, reason_name(other),
				 reason_name(reason));
		passed += reason_is_pass(reason);
		if (random_under(&post.seed, 2))
			continue;
		harness_clock(lru, lru->now_ns + random_under(&post.seed, row->wait_ns));
		harness_clock(hot, lru->now_ns);
	}
	assert_true(passed > row->packets / 50 && passed < row->packets / 50 * 49);
	assert_int_equal(harness_pressure(hot, RL_PRESSURE_EVICTIONS), evictions);
}
