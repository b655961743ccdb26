// SPDX-License-Identifier: GPL-2.0-only
/* rlctl-policy(5): `over truncate`, which packets it answers and which it drops. The answers
 * themselves are compared in test_truncate_bytes.sh.
 */
#include "scenario.h"

#define ANSWERS_SENT  20000
#define ANSWERS_BURST 5000 /* of the usual million a second */
#define ANSWERS_BATCH 64   /* of a CPU, at most */

#define QUERY         "ip4 udp=1000>53 query"
#define QUERY6        "ip6 udp=1000>53 query"

static const struct scenario rows[] = {
	{"a query over the limit", "= any udp dport 53 limit 1/h burst 2 over truncate | "
				   "2 * " QUERY " : within | "
				   "9 * " QUERY " : truncated | "
				   "# any udp dport 53 limit 1/h : 2 9 0 | "
				   "ip4=192.0.2.2 udp=1000>53 query : within"},
	{"IPv6, tags, options",
	 "= any limit 1/h burst 1 per rule over truncate | "
	 "ip4 udp : within | " QUERY " : truncated | " QUERY6 " : truncated | "
	 "8021q " QUERY " : truncated | "
	 "8021ad 8021q " QUERY6 " : truncated | "
	 "ip4 options=40 udp=1000>53 query : truncated | "
	 "8021ad 8021q ip4 options=4 udp=1000>53 query : truncated"},
	{"what is no query is dropped", "= any limit 1/h burst 1 per rule over truncate | "
					"ip4 udp : within | "
					"ip4 udp=1000>53 : over | "
					"ip4 udp=1000>53 data=25 : over | "
					"ip4 udp=1000>53 query data=1 : over | "
					"ip4 udp=1000>53 query pad=30 : truncated | "
					"ip4 udp=1000>53 query udplen=32 : over | "
					"ip4 udp=53>1000 query : over | "
					"ip4 tcp=1000>53 query : over | "
					"ip4 sctp=1000>53 query : over | "
					"ip4 icmp query : over | "
					"ip4 frag=0+ udp=1000>53 query : over | "
					"ip4 frag=8 udp=1000>53 query : over | "
					"ip6 dst udp=1000>53 query : over | "
					"ip6 frag=0 udp=1000>53 query : over"},
	{"a query to any port", "= any limit 1/h burst 1 per rule over truncate | "
				"ip4 udp=1000>5353 query : within | "
				"ip4 udp=1000>5353 query : truncated"},
	{"deny comes before",
	 "= any limit 1/h burst 1 over truncate; 192.0.2.1 src 192.0.2.1 deny; "
	 "device sport 7 deny | "
	 "3 * " QUERY " : denied | "
	 "ip4=192.0.2.2 udp=1000>53 query : within | "
	 "ip4=192.0.2.2 udp=7>53 query : denied | "
	 "ip4=192.0.2.2 udp=1000>53 query : truncated"},
	{"an answer takes nothing of another limit",
	 "= any udp dport 53 limit 1/h burst 1 over truncate; any limit 1/h burst 3 | " QUERY
	 " : within | "
	 "20 * " QUERY " : truncated | "
	 "2 * ip4 tcp : within | "
	 "# any limit 1/h : 3 0 0"},
	{"another limit that refuses the query decides",
	 "= any udp dport 53 limit 1/h burst 1 over truncate; any limit 1/h burst 3 | " QUERY
	 " : within | "
	 "2 * ip4 tcp : within | "
	 "5 * " QUERY " : over | "
	 "# any limit 1/h : 3 5 0 | "
	 "# any udp dport 53 limit 1/h : 1 0 0"},
	{"as does one of the device",
	 "= any udp dport 53 limit 1/h burst 1 over truncate; device limit 1/h burst 3 | " QUERY
	 " : within | " QUERY " : truncated | "
	 "2 * ip4 tcp : within | "
	 "5 * " QUERY " : over | "
	 "# device limit 1/h : 3 5 0"},
	{"and one that bans",
	 "= any udp dport 53 limit 1/h burst 1 over truncate; any limit 1/h burst 3 over ban 10m | "
	 "2 * ip4 tcp : within | " QUERY " : within | " QUERY " : over | "
	 "2 * " QUERY " : banned | "
	 "# any udp dport 53 limit 1/h : 1 0 0"},
	{"two such limits answer once both refuse",
	 "= any limit 1/h burst 1 over truncate; any limit 1/h burst 2 per rule over truncate | " QUERY
	 " : within | "
	 "3 * " QUERY " : truncated | "
	 "ip4=192.0.2.2 udp=1000>53 query : within | "
	 "2 * " QUERY " : truncated"},
	{"beside a shadow",
	 "= any limit 1/h burst 1 over truncate; any limit 1/h burst 1 per dest over "
	 "count | " QUERY " : within | "
	 "3 * " QUERY " : truncated | "
	 "# any limit 1/h per dest : 1 0 0"},
	{"beside a limit that spares what is established",
	 "= any limit 1/h burst 1 over drop unless established; any limit 1/h burst 3 per rule over "
	 "truncate | "
	 "! established | " QUERY " : within | "
	 "2 * " QUERY " : established | "
	 "3 * " QUERY " : truncated | "
	 "! not established | "
	 "3 * " QUERY " : over"},
	{"over challenge answers no query",
	 "= any limit 1/h burst 1 over truncate; any limit 1/h burst 1 per dest over challenge | " QUERY
	 " : within | "
	 "3 * " QUERY " : over"},

	{"leaky-bucket", "= any limit leaky-bucket 1/h queue 1 over truncate | " QUERY
			 " : within | " QUERY " : truncated"},
	{"fixed-window",
	 "= any limit fixed-window 1/d over truncate | " QUERY " : within | " QUERY " : truncated"},
	{"sliding-window", "= any limit sliding-window 2/d over truncate | 2 * " QUERY
			   " : within | 2 * " QUERY " : truncated"},
	{"sliding-log", "= any limit sliding-log 2/d over truncate | 2 * " QUERY
			" : within | 2 * " QUERY " : truncated"},
	{"warm-up", "= any limit warm-up 1/d ramp 1h over truncate | " QUERY " : within | " QUERY
		    " : truncated"},
	{"per flow", "= any limit 1/h burst 1 per flow over truncate | " QUERY
		     " : within | 2 * " QUERY " : truncated | ip4 udp=1001>53 query : within"},
	{"in bytes", "= any limit 8bit/s burst 1514byte over truncate | 22 * " QUERY
		     " : within | " QUERY " : truncated"},
};

HARNESS(h, .program_uses = RL_USE_PROGRAM)

ROWS(row_test, rows, row)
{
	scenario_reset(h);
	scenario_run(h, row->steps);
}

/* ---- the rate of all answers */

static uint32_t answers_count(uint32_t packets)
{
	uint32_t answers = 0;

	for (uint32_t i = 0; i < packets; i++)
		answers += harness_words(h, QUERY) == RL_REASON_TRUNCATED;
	return answers;
}

TEST(rate_test)
{
	scenario_reset(h);
	scenario_run(h, "= any limit 1/h burst 1 over truncate | " QUERY " : within");
	assert_in_range(answers_count(ANSWERS_SENT), ANSWERS_BURST - ANSWERS_BATCH,
			ANSWERS_BURST + ANSWERS_BATCH);
	scenario_run(h, "3 * " QUERY " : over | + 1s | 3 * " QUERY " : truncated");
}

/* ---- frames of more than one piece */

TEST(pieces_test)
{
	static const struct harness_options options = {.mtu = 9000,
						       .program_uses = RL_USE_TRUNCATE};
	struct harness *jumbo = harness_must_open(&options);
	enum rl_reason reason = RL_REASON_TRUNCATED;
	static struct frame frame;

	scenario_run(jumbo, "= any limit 1/h burst 1 per rule over truncate | " QUERY
			    " : within | " QUERY " : truncated");
	frame_build(&frame, QUERY " pad=2000");
	if (harness_pieces(jumbo, &frame, 42, &reason))
		assert_int_equal(reason, RL_REASON_OVER);
	harness_close(jumbo);
}

/* ---- the group */

SCENARIOS(rows, .table = RL_TABLE_LRU, .program_uses = RL_USE_PROGRAM)
