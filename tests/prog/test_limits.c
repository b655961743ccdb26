// SPDX-License-Identifier: GPL-2.0-only
/* rlctl-policy(5): several limits together, amounts, keys, shadow, expiry, swaps, counters. Each
 * row is a scenario (scenario.h) on fresh states.
 */
#include "scenario.h"

static const struct scenario rows[] = {
	/* limits together; a refused packet costs nothing */
	{"the second refuses", "= any limit 1/h burst 3; any limit 1/h burst 1 per dest | "
			       "ip4=10.0.0.1>1.0.0.1 udp : within | "
			       "5 * ip4=10.0.0.1>1.0.0.1 udp : over | "
			       "ip4=10.0.0.1>1.0.0.2 udp : within | "
			       "ip4=10.0.0.1>1.0.0.3 udp : within | "
			       "ip4=10.0.0.1>1.0.0.4 udp : over"},
	{"the first refuses", "= any limit 1/h burst 1; any limit 1/h burst 3 per dest | "
			      "ip4=10.0.0.1>1.0.0.1 udp : within | "
			      "5 * ip4=10.0.0.1>1.0.0.1 udp : over | "
			      "ip4=10.0.0.2>1.0.0.1 udp : within | "
			      "ip4=10.0.0.3>1.0.0.1 udp : within | "
			      "ip4=10.0.0.4>1.0.0.1 udp : over"},
	{"the third refuses",
	 "= any limit 1/h burst 2; any limit 1/h burst 2 per dest; device limit 1/s burst 1 | "
	 "ip4 udp : within | "
	 "5 * ip4 udp : over | "
	 "+ 1s | "
	 "ip4 udp : within | "
	 "+ 1s | "
	 "ip4 udp : over | "
	 "# device limit 1/s : 2 5 0 | "
	 "# any limit 1/h : 2 1 0 | "
	 "# any limit 1/h per dest : 2 0 0"},
	{"they alternate", "= any limit 1/s burst 1; any limit 1/10s burst 4 per rule | "
			   "ip4 udp : within | "
			   "ip4 udp : over | "
			   "+ 1s | "
			   "ip4 udp : within | "
			   "+ 1s | "
			   "ip4 udp : within | "
			   "+ 1s | "
			   "ip4 udp : within | "
			   "ip4 udp : over | "
			   "+ 1s | "
			   "9 * ip4 udp : over | "
			   "+ 5999999999ns | "
			   "9 * ip4 udp : over | "
			   "+ 1ns | "
			   "ip4 udp : within | "
			   "ip4 udp : over | "
			   "ip4=10.0.0.1 udp : over"},
	{"packets and bytes", "= any limit 1/h burst 3; any limit 1kbyte/h burst 3028byte | "
			      "2 * ip4 udp data=1472 : within | "
			      "ip4 udp : over | "
			      "# any limit 1/h : 2 0 0 | "
			      "# any limit 1kbyte/h : 2 1 0"},
	{"a refused packet leaves no state",
	 "= any limit 1/h burst 1 per rule; any limit 1/h burst 1 | "
	 "ip4 udp : within | "
	 "ip4=10.0.0.1 udp : over | "
	 "= any limit 1/h burst 1 | "
	 "ip4=10.0.0.1 udp : within | "
	 "ip4 udp : over"},
	{"sixteen limits",
	 "= any limit 1/h burst 2; any limit 1mbit; any limit 1/h burst 2 per dest; any limit 1mbit per dest; any limit 1/h burst 2 per rule; any limit 1mbit per rule; any limit 1/h burst 2 per source+dport; any limit 1mbit per source+dport; device limit 1/h burst 2; device limit 1mbit; device limit 1/h burst 2 per dest; device limit 1mbit per dest; device limit 1/h burst 2 per source; device limit 1mbit per source; device limit 1mbit per source+dport; device limit 1/s burst 1 per source+dport | "
	 "ip4 udp : within | "
	 "9 * ip4 udp : over | "
	 "+ 1s | "
	 "ip4 udp : within | "
	 "+ 1s | "
	 "ip4 udp : over | "
	 "# device limit 1mbit per dest : 2 0 0 | "
	 "# device limit 1/s per source+dport : 2 9 0 | "
	 "# any limit 1/h : 2 0 0 | " /* refuses too, but is asked after those that packets share */
	 "# any limit 1/h per rule : 2 1 0"},

	/* amounts */
	{"bytes are the frame's", "= any limit 1kbyte/h burst 3028byte | "
				  "50 * ip4 udp data=18 : within | "
				  "ip4 udp : over"},
	{"padding is bytes", "= any limit 1kbyte/h burst 3028byte | "
			     "50 * ip4 udp pad=18 : within | "
			     "ip4 udp : over"},
	{"tags are bytes", "= any limit 1kbyte/h burst 3000byte | "
			   "60 * 8021ad 8021q ip4 udp : within | "
			   "ip4 udp : over"},
	{"bits", "= any limit 8kbit/h burst 24224bit | "
		 "2 * ip4 tcp data=1460 : within | "
		 "ip4 udp : over"},
	{"bytes come back", "= any limit 1kbyte/s burst 2kbyte | "
			    "ip4 udp data=1472 : within | "
			    "+ 1027ms | "
			    "ip4 udp data=1472 : over | "
			    "+ 1ms | "
			    "ip4 udp data=1472 : within | "
			    "ip4 udp : over"},
	{"more than the burst never fits", "= any limit 1mbit burst 1600byte | "
					   "3 * ip4 udp data=1559 : over | "
					   "+ 1h | "
					   "ip4 udp data=1559 : over | "
					   "ip4 udp data=1558 : within"},
	{"jumbo frames in full", "= any limit 1kbyte/h burst 18028byte | "
				 "2 * ip4 udp data=8972 : within | "
				 "ip4 udp : over"},
	{"a queue is a bucket", "= any limit leaky-bucket 10/s queue 2 | "
				"2 * ip4 udp : within | "
				"ip4 udp : over | "
				"+ 100ms | "
				"ip4 udp : within | "
				"ip4 udp : over"},

	/* keys */
	{"per source", "= any limit 1/h burst 1 | "
		       "ip4 udp : within | "
		       "ip4=192.0.2.1>9.9.9.9 tcp : over | "
		       "ip4=192.0.2.2 udp : within | "
		       "ip6 udp : within"},
	{"per source, IPv6 by /64", "= any limit 1/h burst 1 | "
				    "ip6 udp : within | "
				    "ip6=2001:db8::ffff:ffff:ffff:ffff udp : over | "
				    "ip6=2001:db8:0:1:: udp : within"},
	{"per source/24,56", "= any limit 1/h burst 1 per source/24,56 | "
			     "ip4 udp : within | "
			     "ip4=192.0.2.255 udp : over | "
			     "ip4=192.0.3.0 udp : within | "
			     "ip6 udp : within | "
			     "ip6=2001:db8:0:ff::1 udp : over | "
			     "ip6=2001:db8:0:100::1 udp : within"},
	{"per source/0", "= any limit 1/h burst 1 per source/0,128 | "
			 "ip4 udp : within | "
			 "ip4=9.9.9.9 udp : over | "
			 "ip6 udp : within | "
			 "ip6=2001:db8::2 udp : within | "
			 "ip6=2001:db8::2 udp : over"},
	{"per dest", "= any limit 1/h burst 1 per dest | "
		     "ip4 udp : within | "
		     "ip4=9.9.9.9 udp : over | "
		     "ip4=192.0.2.1>9.9.9.9 udp : within | "
		     "ip6 udp : within | "
		     "ip6=::1>2001:db8:1::2 udp : over"},
	{"per dest/16", "= any limit 1/h burst 1 per dest/16 | "
			"ip4 udp : within | "
			"ip4=1.1.1.1>198.51.0.0 udp : over | "
			"ip4=1.1.1.1>198.52.0.0 udp : within"},
	{"per source+dport", "= any limit 1/h burst 1 per source+dport | "
			     "ip4 udp=1>53 : within | "
			     "ip4 udp=2>53 : over | "
			     "ip4 tcp=2>53 : over | "
			     "ip4 udp=1>54 : within | "
			     "ip4=192.0.2.2 udp=1>53 : within"},
	{"per source+dport without ports", "= any limit 1/h burst 1 per source+dport | "
					   "ip4 frag=8 udp=1>53 : within | "
					   "ip4 icmp : over | "
					   "ip4 udp=1>53 : within"},
	{"per rule", "= any limit 1/h burst 2 per rule | "
		     "ip4 udp : within | "
		     "ip6 tcp : within | "
		     "ip4=9.9.9.9 icmp : over"},
	{"per source+dest", "= any limit 1/h burst 1 per source+dest | "
			    "ip4 udp : within | "
			    "ip4 tcp=5>5 : over | "
			    "ip4=192.0.2.1>9.9.9.9 udp : within | "
			    "ip4=192.0.2.2 udp : within"},
	{"per flow", "= any limit 1/h burst 1 per flow | "
		     "ip4 udp=1>2 : within | "
		     "ip4 udp=1>2 : over | "
		     "ip4 tcp=1>2 : within | "
		     "ip4 udp=2>2 : within | "
		     "ip4 udp=1>3 : within | "
		     "ip4=192.0.2.2 udp=1>2 : within | "
		     "ip4=192.0.2.1>9.9.9.9 udp=1>2 : within"},
	{"limits of two prefixes do not share",
	 "= 192.0.2.1 limit 1/h burst 1 per dest; any limit 1/h burst 1 per dest | "
	 "ip4 udp : within | "
	 "ip4=9.9.9.9 udp : within | "
	 "ip4 udp : over | "
	 "ip4=9.9.9.9 udp : over"},

	/* shadow */
	{"over count", "= any limit 1/h burst 2 over count | "
		       "2 * ip4 udp : within | "
		       "3 * ip4 udp : shadow | "
		       "ip4=9.9.9.9 udp : within | "
		       "# any limit 1/h : 3 0 3"},
	{"over count beside a limit",
	 "= any limit 1/h burst 3; any limit 1/h burst 1 per dest over count | "
	 "ip4 udp : within | "
	 "2 * ip4 udp : shadow | "
	 "2 * ip4 udp : over | "
	 "# any limit 1/h : 3 2 0 | "
	 "# any limit 1/h per dest : 1 0 2"},
	{"over count is not charged for what is dropped",
	 "= any limit 1/h burst 2 over count; any limit 1/h burst 1 per dest | "
	 "ip4 udp : within | "
	 "5 * ip4 udp : over | "
	 "ip4=192.0.2.1>9.9.9.9 udp : within | "
	 "ip4=192.0.2.1>9.9.9.8 udp : shadow | "
	 "# any limit 1/h : 2 0 1 | "
	 "# any limit 1/h per dest : 3 5 0"},
	{"over count of the device",
	 "= any limit 1/h burst 2; device limit 1/h burst 1 over count | "
	 "ip4 udp : within | "
	 "ip4 udp : shadow | "
	 "ip4 udp : over"},
	{"two that only count",
	 "= any limit 1/h burst 1 over count; any limit 1/h burst 2 per rule over count | "
	 "ip4 udp : within | "
	 "2 * ip4 udp : shadow | "
	 "# any limit 1/h : 1 0 2 | "
	 "# any limit 1/h per rule : 2 0 1"},

	/* expiry */
	{"expires to the tick", "= any deny for 1h | "
				"@ any deny -1ns | "
				"ip4 udp : denied | "
				"@ any deny +0 | "
				"ip4 udp : unmatched"},
	{"a plain verdict expires", "= 192.0.2.1 allow for 1h; any deny | "
				    "@ 192.0.2.1 allow -1ns | "
				    "ip4 udp : allowed | "
				    "@ 192.0.2.1 allow +0 | "
				    "ip4 udp : denied"},
	{"an expired one of a group", "= any udp allow for 1h; any deny | "
				      "@ any udp allow -1ns | "
				      "ip4 udp : allowed | "
				      "@ any udp allow +0 | "
				      "ip4 udp : denied"},
	{"a limit expires", "= any limit 1/h burst 1 for 1h; device limit 1/s burst 9 | "
			    "@ any limit 1/h -1ns | "
			    "ip4 udp : within | "
			    "ip4 udp : over | "
			    "@ any limit 1/h +0 | "
			    "8 * ip4 udp : within | "
			    "ip4 udp : over"},
	{"an expired prefix hands on to the shorter",
	 "= 192.0.2.1 deny for 1h; 192.0.2.0/24 udp limit 1/h burst 1; any allow | "
	 "@ 192.0.2.1 deny +0 | "
	 "ip4 udp : within | "
	 "ip4 udp : over | "
	 "ip4 tcp : allowed"},
	{"for ever", "= any deny | "
		     "+ 9d | "
		     "ip4 udp : denied"},

	/* one policy after another */
	{"the same again keeps the state", "= any limit 1/h burst 2 | "
					   "2 * ip4 udp : within | "
					   "= any limit 1/h burst 2 | "
					   "ip4 udp : over | "
					   "# any limit 1/h : 2 1 0"},
	{"other rules come and go",
	 "= any limit 1/h burst 2; 9.9.9.9 deny | "
	 "ip4 udp : within | "
	 "= any limit 1/h burst 2; 8.0.0.0/8 deny; 7.7.7.7 tcp limit 9/s; device udp limit 9/s burst 1 | "
	 "ip4 udp : within | "
	 "ip4 udp : over | "
	 "# any limit 1/h : 2 0 0 | "
	 "# device udp limit 9/s : 1 1 0"},
	{"per rule keeps the state", "= any limit 1/h burst 2 per rule; 9.9.9.9 deny | "
				     "ip4 udp : within | "
				     "= any limit 1/h burst 2 per rule | "
				     "ip4 udp : within | "
				     "ip4 udp : over"},
	{"a larger burst acts at once", "= any limit 1/h burst 2 | "
					"2 * ip4 udp : within | "
					"ip4 udp : over | "
					"= any limit 1/h burst 5 | "
					"3 * ip4 udp : within | "
					"ip4 udp : over"},
	{"a smaller burst acts at once", "= any limit 1/h burst 5 | "
					 "ip4 udp : within | "
					 "= any limit 1/h burst 2 | "
					 "ip4 udp : within | "
					 "ip4 udp : over"},
	{"a smaller burst is owed no longer", "= any limit 1/s burst 9000 | "
					      "99 * ip4 udp : within | "
					      "= any limit 1/s burst 2 | "
					      "ip4 udp : over | "
					      "+ 4s | "
					      "ip4 udp : within"},
	{"a faster rate acts at once", "= any limit 1/h burst 9 | "
				       "9 * ip4 udp : within | "
				       "ip4 udp : over | "
				       "= any limit 1/s burst 9 | "
				       "ip4 udp : over | "
				       "+ 18s | "
				       "ip4 udp : within"},
	{"a faster rate acts at once on two limits",
	 "= any limit 1/h burst 9; any limit 9/s burst 9999 per rule | "
	 "9 * ip4 udp : within | "
	 "ip4 udp : over | "
	 "= any limit 1/s burst 9; any limit 9/s burst 9999 per rule | "
	 "ip4 udp : over | "
	 "+ 18s | "
	 "ip4 udp : within"},
	{"a slower rate acts at once", "= any limit 9/s burst 1 | "
				       "ip4 udp : within | "
				       "ip4 udp : over | "
				       "+ 9s | "
				       "= any limit 1/h burst 1 | "
				       "ip4 udp : within | "
				       "+ 59m | "
				       "ip4 udp : over | "
				       "+ 1m | "
				       "ip4 udp : within"},
	{"another algorithm begins anew", "= any limit 1/h burst 2 | "
					  "2 * ip4 udp : within | "
					  "= any limit leaky-bucket 1/h queue 1 | "
					  "ip4 udp : within | "
					  "ip4 udp : over"},
	{"gone and come back begins anew", "= any limit 1/h burst 1 | "
					   "ip4 udp : within | "
					   "= | "
					   "ip4 udp : unmatched | "
					   "= any limit 1/h burst 1 | "
					   "ip4 udp : within | "
					   "# any limit 1/h : 1 0 0"},
	{"gone and come back begins anew, per rule", "= any limit 1/h burst 1 per rule | "
						     "ip4 udp : within | "
						     "= any udp deny | "
						     "ip4 udp : denied | "
						     "= any limit 1/h burst 1 per rule | "
						     "ip4 udp : within | "
						     "ip4 udp : over"},
	{"prefixes of the policy before are gone", "= 192.0.2.1 deny | "
						   "ip4 udp : denied | "
						   "= 192.0.2.2 deny | "
						   "ip4 udp : unmatched | "
						   "ip4=192.0.2.2 udp : denied | "
						   "= any tcp deny | "
						   "ip4=192.0.2.2 udp : unmatched | "
						   "= 192.0.2.1 allow | "
						   "ip4 udp : allowed"},

	/* counters */
	{"of allow and deny", "= 192.0.2.1 allow; 192.0.2.0/24 deny; any udp deny | "
			      "2 * ip4 udp : allowed | "
			      "3 * ip4=192.0.2.2 udp : denied | "
			      "ip6 udp : denied | "
			      "# 192.0.2.1 allow : 2 0 0 | "
			      "# 192.0.2.0/24 deny : 0 3 0 | "
			      "# any udp deny : 0 1 0"},
	{"of every limit that a packet passed",
	 "= any limit 1/h burst 9; any udp limit 1/h burst 9; device limit 1/h burst 9 | "
	 "2 * ip4 udp : within | "
	 "3 * ip4 tcp : within | "
	 "# any limit 1/h : 5 0 0 | "
	 "# any udp limit 1/h : 2 0 0 | "
	 "# device limit 1/h : 5 0 0"},
	{"of the one that refused", "= any limit 1/h burst 9; device limit 1/h burst 1 | "
				    "ip4 udp : within | "
				    "2 * ip4 udp : over | "
				    "# any limit 1/h : 1 0 0 | "
				    "# device limit 1/h : 1 2 0"},
	{"from allow to deny", "= 192.0.2.1 allow | "
			       "ip4 udp : allowed | "
			       "= 192.0.2.1 deny | "
			       "2 * ip4 udp : denied | "
			       "# 192.0.2.1 deny : 1 2 0"},
};

SCENARIOS(rows)
