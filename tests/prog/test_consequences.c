// SPDX-License-Identifier: GPL-2.0-only
/* rlctl-policy(5): the consequences of exceeding a limit (ban, ban of the source, count),
 * `new-source`, and an instance that goes by destination. Each row is a scenario (scenario.h) on
 * fresh states. Consequences that depend on the table are tested in test_tables.c.
 */
#include "scenario.h"

#define STRANGERS 100000
#define SOURCES   512 /* that there is room for */

HARNESS(h, .sources = SOURCES)

static const struct scenario rows[] = {
	/* over ban: the key, for what the limit matches */
	{"a ban begins with the packet that exceeds", "= any limit 1/h burst 2 over ban 10m | "
						      "2 * ip4 udp : within | "
						      "ip4 udp : over | "
						      "9 * ip4 udp : banned | "
						      "# any limit 1/h : 2 10 0"},
	{"a ban is for what the limit matches",
	 "= any udp dport 53 limit 1/h burst 1 over ban 10m; any tcp limit 1/h burst 2 | "
	 "ip4 udp=1>53 : within | "
	 "ip4 udp=1>53 : over | "
	 "ip4 udp=2>53 : banned | "
	 "ip4 udp=1>54 : unmatched | "
	 "ip4 icmp : unmatched | "
	 "2 * ip4 tcp=1>53 : within | "
	 "ip4 tcp=1>53 : over | "
	 "ip4 udp=1>53 : banned"},
	{"a ban is for the key", "= any limit 1/h burst 1 over ban 10m | "
				 "ip4 udp : within | "
				 "ip4 udp : over | "
				 "ip4 tcp : banned | "
				 "ip4=192.0.2.2 udp : within | "
				 "ip6 udp : within | "
				 "ip6=2001:db8::2 udp : over | "
				 "ip6=2001:db8::3 udp : banned | "
				 "ip6=2001:db8:0:1::1 udp : within"},
	{"a ban of a prefix", "= any limit 1/h burst 1 per source/24,56 over ban 10m | "
			      "ip4 udp : within | "
			      "ip4=192.0.2.2 udp : over | "
			      "ip4=192.0.2.3 udp : banned | "
			      "ip4=192.0.3.1 udp : within | "
			      "ip6 udp : within | "
			      "ip6=2001:db8:0:1::1 udp : over | "
			      "ip6=2001:db8:0:ff::1 udp : banned | "
			      "ip6=2001:db8:0:100::1 udp : within"},
	{"a ban of a destination", "= any limit 1/h burst 1 per dest over ban 10m | "
				   "ip4 udp : within | "
				   "ip4=9.9.9.9 udp : over | "
				   "ip4=8.8.8.8 udp : banned | "
				   "ip4=9.9.9.9>1.1.1.1 udp : within"},
	{"a ban of a source and port", "= any limit 1/h burst 1 per source+dport over ban 10m | "
				       "ip4 udp=1>53 : within | "
				       "ip4 udp=1>53 : over | "
				       "ip4 tcp=9>53 : banned | "
				       "ip4 udp=1>54 : within | "
				       "ip4=192.0.2.2 udp=1>53 : within"},
	{"a ban of a source and destination",
	 "= any limit 1/h burst 1 per source+dest over ban 10m | "
	 "ip4 udp : within | "
	 "ip4 udp : over | "
	 "ip4 tcp : banned | "
	 "ip4=192.0.2.1>1.1.1.1 udp : within | "
	 "ip4=192.0.2.2 udp : within"},
	{"a ban of a flow", "= any limit 1/h burst 1 per flow over ban 10m | "
			    "ip4 udp=1>2 : within | "
			    "ip4 udp=1>2 : over | "
			    "ip4 udp=1>2 : banned | "
			    "ip4 udp=2>2 : within | "
			    "ip4 tcp=1>2 : within"},
	{"a ban of a rule bans all that it matches",
	 "= 192.0.2.1 udp limit 1/h burst 1 per rule over ban 10m | "
	 "ip4 udp=1 : within | "
	 "ip4 udp=2 : over | "
	 "2 * ip4 udp=3 : banned | "
	 "ip4 tcp : unmatched | "
	 "+ 10m | "
	 "ip4 udp=4 : over | "
	 "ip4 udp=5 : banned"},
	{"a ban by a device rule",
	 "= 192.0.2.0/24 allow; device limit 1/h burst 1 per source over ban 10m | "
	 "3 * ip4 udp : allowed | "
	 "ip4=9.9.9.9 udp : within | "
	 "ip4=9.9.9.9 udp : over | "
	 "ip4=9.9.9.9 udp : banned | "
	 "ip4=8.8.8.8 udp : within"},

	/* its length */
	{"a ban ends to the nanosecond", "= any limit 1/s burst 1 over ban 10m | "
					 "ip4 udp : within | "
					 "ip4 udp : over | "
					 "+ 599999999999ns | "
					 "ip4 udp : banned | "
					 "+ 1ns | "
					 "ip4 udp : within"},
	{"a ban does not extend itself", "= any limit 1/s burst 1 over ban 10s | "
					 "ip4 udp : within | "
					 "ip4 udp : over | "
					 "+ 3s | "
					 "99 * ip4 udp : banned | "
					 "+ 3s | "
					 "99 * ip4 udp : banned | "
					 "+ 3999999999ns | "
					 "99 * ip4 udp : banned | "
					 "+ 1ns | "
					 "ip4 udp : within"},
	{"a new offence after it bans anew", "= any limit 1/h burst 1 over ban 10s | "
					     "ip4 udp : within | "
					     "ip4 udp : over | "
					     "+ 10s | "
					     "ip4 udp : over | "
					     "+ 9999999999ns | "
					     "ip4 udp : banned | "
					     "+ 1ns | "
					     "ip4 udp : over | "
					     "ip4 udp : banned"},
	{"what is banned costs nothing",
	 "= any limit 1/s burst 1 over ban 10s; any limit 1/h burst 3 per dest | "
	 "ip4 udp : within | "
	 "ip4 udp : over | "
	 "9 * ip4 udp : banned | "
	 "ip4=9.9.9.9 udp : within | "
	 "ip4=8.8.8.8 udp : within | "
	 "ip4=7.7.7.7 udp : over"},
	{"another limit's refusal bans nobody",
	 "= any limit 1/h burst 9 over ban 10s; any limit 1/h burst 1 per dest | "
	 "ip4 udp : within | "
	 "20 * ip4 udp : over | "
	 "ip4=192.0.2.1>1.1.1.1 udp : within"},
	{"two limits ban for their own time",
	 "= any udp limit 1/d burst 1 over ban 10s; any tcp limit 1/d burst 1 over ban 20s | "
	 "ip4 udp : within | "
	 "ip4 tcp : within | "
	 "ip4 udp : over | "
	 "ip4 tcp : over | "
	 "+ 10s | "
	 "ip4 udp : over | "
	 "ip4 tcp : banned | "
	 "+ 10s | "
	 "ip4 tcp : over | "
	 "ip4 udp : over"},
	{"a ban outlives a swap that keeps its rule",
	 "= any limit 1/h burst 1 over ban 10m | "
	 "ip4 udp : within | "
	 "ip4 udp : over | "
	 "= any limit 1/h burst 1 over ban 10m; 9.9.9.9 deny | "
	 "ip4 udp : banned | "
	 "= any udp deny | "
	 "ip4 tcp : unmatched | "
	 "= any limit 1/h burst 1 over ban 10m | "
	 "ip4 udp : within"},

	/* over ban … source: everything from that source */
	{"a banned source is banned from everything",
	 "= any udp dport 53 limit 1/h burst 1 over ban 10m source; any tcp limit 1/h burst 9 | "
	 "ip4 udp=1>53 : within | "
	 "ip4 udp=1>53 : over | "
	 "ip4 udp=1>54 : banned | "
	 "ip4 tcp : banned | "
	 "ip4 gre : banned | "
	 "ip4=192.0.2.1>1.1.1.1 icmp : banned | "
	 "type=0x806 : non-ip | "
	 "ip4=192.0.2.2 udp=1>53 : within | "
	 "ip4=192.0.2.2 tcp : within"},
	{"allow, banned, deny, limits",
	 "= any icmp allow; any esp deny; any udp limit 1/h burst 1 over ban 10m source; device gre allow; device sctp deny | "
	 "ip4 udp : within | "
	 "ip4 esp : denied | "
	 "ip4 udp : over | "
	 "ip4 icmp : allowed | "
	 "ip4 esp : banned | "
	 "ip4 udp : banned | "
	 "ip4 gre : banned | "
	 "ip4 sctp : banned | "
	 "ip4=192.0.2.2 esp : denied | "
	 "ip4=192.0.2.2 gre : allowed | "
	 "# any esp deny : 0 2 0 | "
	 "# any udp limit 1/h : 1 1 0"},
	{"a banned source under another prefix",
	 "= 192.0.2.0/31 udp limit 1/h burst 1 over ban 10m source; 192.0.2.1 tcp limit 1/h; 192.0.2.1 gre allow | "
	 "ip4 udp : within | "
	 "ip4 udp : over | "
	 "ip4 tcp : banned | "
	 "ip4 icmp : banned | "
	 "ip4 gre : allowed"},
	{"a banned IPv6 source is a /64", "= any udp limit 1/h burst 1 over ban 10m source | "
					  "ip6 udp : within | "
					  "ip6 udp : over | "
					  "ip6=2001:db8::ffff:1 tcp : banned | "
					  "ip6=2001:db8:0:1::1 tcp : unmatched"},
	{"the source is banned, whatever the limit's key",
	 "= any limit 1/h burst 1 per dest over ban 10m source | "
	 "ip4 udp : within | "
	 "ip4=9.9.9.9 udp : over | "
	 "ip4=9.9.9.9>1.1.1.1 udp : banned | "
	 "ip4=8.8.8.8 udp : over | "
	 "ip4=192.0.2.1>1.1.1.1 udp : within"},
	{"a source of a prefix is banned alone",
	 "= any udp limit 1/h burst 1 per source/24 over ban 10m source | "
	 "ip4 udp : within | "
	 "ip4=192.0.2.2 udp : over | "
	 "ip4=192.0.2.2 tcp : banned | "
	 "ip4 tcp : unmatched"},
	{"a source's ban ends to the nanosecond, and begins anew",
	 "= any udp limit 1/h burst 1 over ban 10m source | "
	 "ip4 udp : within | "
	 "ip4 udp : over | "
	 "+ 5m | "
	 "50 * ip4 udp : banned | "
	 "+ 299999999999ns | "
	 "ip4 tcp : banned | "
	 "+ 1ns | "
	 "ip4 tcp : unmatched | "
	 "ip4 udp : over | "
	 "ip4 tcp : banned"},
	{"a source's ban goes with the rules that ban sources",
	 "= any udp limit 1/h burst 1 over ban 10m source | "
	 "ip4 udp : within | "
	 "ip4 udp : over | "
	 "= any udp limit 1/h burst 1 over ban 10m source; 9.9.9.9 deny | "
	 "ip4 tcp : banned | "
	 "= any udp limit 1/h burst 1 | "
	 "ip4 tcp : unmatched"},

	/* over count */
	{"token-bucket over count", "= any limit 1/h burst 3 over count | "
				    "3 * ip4 udp : within | "
				    "50 * ip4 udp : shadow | "
				    "# any limit 1/h : 3 0 50"},
	{"leaky-bucket over count", "= any limit leaky-bucket 1/h queue 3 over count | "
				    "3 * ip4 udp : within | "
				    "50 * ip4 udp : shadow | "
				    "# any limit 1/h : 3 0 50"},
	{"fixed-window over count", "= any limit fixed-window 3/d over count | "
				    "3 * ip4 udp : within | "
				    "50 * ip4 udp : shadow | "
				    "# any limit 1/d : 3 0 50"},
	{"sliding-window over count", "= any limit sliding-window 3/d over count | "
				      "3 * ip4 udp : within | "
				      "50 * ip4 udp : shadow | "
				      "# any limit 1/d : 3 0 50"},
	{"sliding-log over count", "= any limit sliding-log 3/d over count | "
				   "3 * ip4 udp : within | "
				   "50 * ip4 udp : shadow | "
				   "# any limit 1/d : 3 0 50"},
	{"warm-up over count", "= any limit warm-up 1/d ramp 1h over count | "
			       "ip4 udp : within | "
			       "50 * ip4 udp : shadow | "
			       "# any limit 1/d : 1 0 50"},
	{"what is banned is not counted by another limit",
	 "= any udp limit 1/d burst 1 over ban 10s; any limit 1/h burst 2 per rule over count | "
	 "ip4 udp : within | "
	 "ip4 udp : over | "
	 "ip4 udp : banned | "
	 "ip4 tcp : within | "
	 "ip4 tcp : shadow | "
	 "# any limit 1/h per rule : 2 0 1"},

};

static const struct scenario by_dest_rows[] = {
	{"prefixes are of the destination",
	 "= 198.51.100.1 deny; 192.0.2.1 allow; 2001:db8:1::/64 limit 1/h burst 1 | "
	 "ip4 udp : denied | "
	 "ip4=192.0.2.1>9.9.9.9 udp : unmatched | "
	 "ip4=9.9.9.9>192.0.2.1 udp : allowed | "
	 "ip6 udp : within | "
	 "ip6=::1 udp : over"},
	{"the default key is the destination", "= any limit 1/h burst 1 | "
					       "ip4 udp : within | "
					       "ip4=9.9.9.9 udp : over | "
					       "ip4=192.0.2.1>9.9.9.9 udp : within | "
					       "ip6=::1>2001:db8::1 udp : within | "
					       "ip6=::2>2001:db8::2 udp : over | "
					       "ip6=::2>2001:db8:0:1::2 udp : within"},
	{"per source all the same", "= any limit 1/h burst 1 per source | "
				    "ip4 udp : within | "
				    "ip4=9.9.9.9 udp : within | "
				    "ip4=192.0.2.1>9.9.9.9 udp : over"},
	{"a ban bans the destination", "= any udp limit 1/h burst 1 over ban 10m | "
				       "ip4 udp : within | "
				       "ip4 udp : over | "
				       "ip4=9.9.9.9 udp : banned | "
				       "ip4 tcp : unmatched | "
				       "ip4=192.0.2.1>9.9.9.9 udp : within"},
	{"with source, it bans who sent", "= any udp limit 1/h burst 1 over ban 10m source | "
					  "ip4 udp : within | "
					  "ip4=9.9.9.9 udp : over | "
					  "ip4=9.9.9.9>1.1.1.1 tcp : banned | "
					  "ip4 tcp : unmatched | "
					  "ip4=8.8.8.8>9.9.9.9 tcp : unmatched"},
	{"a new source is who sent", "= any new-source deny; any tcp allow | "
				     "ip4 udp : denied | "
				     "ip4 tcp : allowed | "
				     "ip4=192.0.2.1>9.9.9.9 udp : unmatched | "
				     "ip4=198.51.100.1 udp : denied"},
	{"src matches the source", "= 198.51.100.0/24 src 192.0.2.0/24 deny | "
				   "ip4 udp : denied | "
				   "ip4=9.9.9.9 udp : unmatched"},
};

ROWS(row_test, rows, row)
{
	scenario_reset(h);
	scenario_run(h, row->steps);
}

/* ---- a flood of strangers */

static void strangers_send(uint32_t count)
{
	char words[80];

	for (uint32_t i = 0; i < count; i++) {
		if (i % 2)
			snprintf(words, sizeof(words), "ip4=10.%u.%u.%u udp", i >> 16, i >> 8 & 255,
				 i & 255);
		else
			snprintf(words, sizeof(words), "ip6=2001:db8:%x:%x::1 udp", i >> 8,
				 i & 255);
		harness_expect(h, "a stranger", words, RL_REASON_WITHIN);
	}
}

NAMED_TEST("bans outlive a flood of strangers", strangers_test)
{
	scenario_reset(h);
	scenario_run(
		h,
		"= any udp limit 1/d burst 1 over ban 1h; any udp limit sliding-log 2/d per source+dport; any tcp limit 1/d burst 1 over ban 1h source | "
		"ip4 udp : within | "
		"ip4 udp : over | "
		"ip4=192.0.2.2 tcp : within | "
		"ip4=192.0.2.2 tcp : over");
	strangers_send(STRANGERS);
	scenario_run(h, "ip4 udp : banned | "
			"ip4=192.0.2.2 udp : banned | "
			"ip4=192.0.2.2 gre : banned | "
			"+ 1h | "
			"ip4=192.0.2.2 gre : unmatched");
}

/* ---- the group */

SCENARIOS(by_dest_rows, .by_dest = true)
