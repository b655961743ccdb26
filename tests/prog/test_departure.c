// SPDX-License-Identifier: GPL-2.0-only
/* Departure times: at egress a leaky bucket is a queue of constant rate, at ingress a meter. */

#include "base/units.h"
#include "harness.h"

#define NOW  NS_PER_DAY
#define MANY "ip4 tcp data=2800"

HARNESS(ingress, .hook = RL_HOOK_INGRESS)
HARNESS(egress, .hook = RL_HOOK_EGRESS, .by_dest = true)

/* Departure times, in microseconds after the packets arrived all at once. */

#define KEPT (-1) /* not set: the value before, 0 */
#define OVER (-2)

static const struct pace_row {
	const char *name, *policy, *words;
	uint32_t segments;
	int64_t asked; /* by its socket */
	int64_t departs[6];
} paces_of[] = {
	{"one after the other",
	 "rule any limit leaky-bucket 1000/s queue 5",
	 "ip4 udp",
	 1,
	 KEPT,
	 {KEPT, 1000, 2000, 3000, 4000, OVER}},
	{"IPv6",
	 "rule any limit leaky-bucket 1000/s queue 3",
	 "ip6 tcp",
	 1,
	 KEPT,
	 {KEPT, 1000, 2000, OVER}},
	{"a tag in the data",
	 "rule any limit leaky-bucket 1000/s queue 3",
	 "8021q ip4 udp",
	 1,
	 KEPT,
	 {KEPT, 1000, 2000, OVER}},
	{"segments",
	 "rule any limit leaky-bucket 1000/s queue 10",
	 MANY,
	 4,
	 KEPT,
	 {KEPT, 4000, OVER}},
	{"bytes: 60 of 60000 a second",
	 "rule any limit leaky-bucket 60kbyte/s queue 3kbyte",
	 "ip4 udp data=18",
	 1,
	 KEPT,
	 {KEPT, 1000, 2000, 3000, 4000, 5000}},
	{"of all the rule's packets",
	 "rule any limit leaky-bucket 1000/s queue 5 per rule",
	 "ip4 udp",
	 1,
	 KEPT,
	 {KEPT, 1000, 2000, 3000, 4000, OVER}},
	{"where a CPU else leases",
	 "rule device limit leaky-bucket 1m/s queue 100000",
	 "ip4 udp",
	 1,
	 KEPT,
	 {KEPT, 1, 2, 3, 4, 5}},
	{"two buckets, the later counts",
	 "rule any limit leaky-bucket 1000/s queue 5; rule device limit leaky-bucket 100/s queue 3",
	 "ip4 udp",
	 1,
	 KEPT,
	 {KEPT, 10000, 20000, OVER, OVER, OVER}},
	{"the socket asked for earlier",
	 "rule any limit leaky-bucket 1000/s queue 5",
	 "ip4 udp",
	 1,
	 500,
	 {500, 1000, 2000, 3000}},
	{"the socket asked for later",
	 "rule any limit leaky-bucket 1000/s queue 5",
	 "ip4 udp",
	 1,
	 2500,
	 {2500, 2500, 2500, 3000}},
	{"over count holds nothing up",
	 "rule any limit leaky-bucket 1000/s queue 2 over count",
	 "ip4 udp",
	 1,
	 KEPT,
	 {KEPT, KEPT, KEPT, KEPT}},
	{"over mark holds nothing up",
	 "rule any limit leaky-bucket 1000/s queue 2 over mark 1",
	 "ip4 udp",
	 1,
	 KEPT,
	 {KEPT, KEPT, KEPT, KEPT}},
	{"over ban does",
	 "rule any limit leaky-bucket 1000/s queue 2 over ban 1h",
	 "ip4 udp",
	 1,
	 KEPT,
	 {KEPT, 1000}},
	{"other buckets do not",
	 "rule any limit 1000/s burst 3",
	 "ip4 udp",
	 1,
	 KEPT,
	 {KEPT, KEPT, KEPT, OVER}},
};

static bool is_over(enum rl_reason reason)
{
	return reason == RL_REASON_OVER || reason == RL_REASON_BANNED;
}

static void pace_check(const struct pace_row *row, const struct frame *frame, int64_t expected)
{
	uint64_t asked_ns = row->asked == KEPT ? 0 : NOW + row->asked * NS_PER_US;
	struct __sk_buff skb = {.tstamp = asked_ns,
				.gso_size = row->segments > 1 ? 2800 / row->segments : 0};
	enum rl_reason reason = harness_skb(egress, frame, &skb, row->segments,
					    frame->size + (row->segments - 1) * 54);

	assert_int_equal(is_over(reason), expected == OVER);
	if (expected != OVER)
		assert_int_equal(skb.tstamp,
				 expected == KEPT ? asked_ns : NOW + expected * NS_PER_US);
}

ROWS(pace_test, paces_of, row)
{
	struct frame frame;

	harness_policy(egress, "");
	harness_policy(egress, row->policy);
	frame_build(&frame, row->words);
	for (size_t i = 0; i < ARRAY_SIZE(row->departs) && row->departs[i]; i++)
		pace_check(row, &frame, row->departs[i]);
}

/* Packets do not wait for the part of the level that has leaked. */
TEST(leak_test)
{
	struct __sk_buff skb = {0};
	struct frame frame;

	harness_policy(egress, "");
	harness_policy(egress, "rule any limit leaky-bucket 1000/s queue 5");
	frame_build(&frame, "ip4 udp");
	for (int i = 0; i < 5; i++) {
		skb.tstamp = 0;
		harness_skb(egress, &frame, &skb, 1, frame.size);
	}
	harness_clock(egress, NOW + 2500 * NS_PER_US);
	skb.tstamp = 0;
	assert_int_equal(harness_skb(egress, &frame, &skb, 1, frame.size), RL_REASON_WITHIN);
	assert_int_equal(skb.tstamp, NOW + 5000 * NS_PER_US);
	harness_clock(egress, NOW + NS_PER_SECOND);
	skb.tstamp = 0;
	harness_skb(egress, &frame, &skb, 1, frame.size);
	assert_int_equal(skb.tstamp, 0);
	harness_clock(egress, NOW);
}

/* A refused packet delays no other, also if the pacing bucket had taken tokens for it. */
TEST(refused_test)
{
	struct __sk_buff skb = {0};
	struct frame frame;

	harness_policy(egress, "");
	harness_policy(egress, "rule any limit leaky-bucket 1000/s queue 5; "
			       "rule any limit 24/d burst 2 per rule");
	frame_build(&frame, "ip4 udp");
	for (int i = 0; i < 4; i++)
		harness_skb(egress, &frame, &skb, 1, frame.size);
	harness_policy(egress, "rule any limit leaky-bucket 1000/s queue 5");
	skb.tstamp = 0;
	harness_skb(egress, &frame, &skb, 1, frame.size);
	assert_int_equal(skb.tstamp, NOW + 2000 * NS_PER_US);
}

/* At ingress the same rule is a meter. */
TEST(meter_test)
{
	struct frame frame;

	harness_policy(ingress, "");
	harness_policy(ingress, "rule any limit leaky-bucket 1000/s queue 3");
	frame_build(&frame, "ip4 udp");
	for (int i = 0; i < 4; i++) {
		struct __sk_buff skb = {0};
		enum rl_reason reason = harness_skb(ingress, &frame, &skb, 1, frame.size);

		assert_int_equal(reason, i < 3 ? RL_REASON_WITHIN : RL_REASON_OVER);
		assert_int_equal(skb.tstamp, 0);
	}
}
