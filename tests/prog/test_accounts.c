// SPDX-License-Identifier: GPL-2.0-only
/* rlctl-policy(5), `per account N`: rules of several prefixes, sets and families share a bucket.
 * Each row is a scenario (scenario.h) on fresh states.
 */
#include "scenario.h"

static const struct scenario rows[] = {
	{"two prefixes, both families",
	 "= 10.0.0.0/24 limit 1/h burst 2 per account 17; 10.0.9.0/24 limit 1/h burst 2 per account 17; "
	 "2001:db8::/32 limit 1/h burst 2 per account 17; 10.0.8.0/24 limit 1/h burst 2 per account 18 | "
	 "ip4=10.0.0.1 udp : within | "
	 "ip6=2001:db8:7::1 udp : within | "
	 "ip4=10.0.9.1 udp : over | "
	 "ip4=10.0.0.1 udp : over | "
	 "2 * ip4=10.0.8.1 udp : within | "
	 "ip4=10.0.8.2 udp : over | "
	 "# 10.0.0.0/24 limit 1/h per account 17 : 1 1 0 | "
	 "# 2001:db8::/32 limit 1/h per account 17 : 1 0 0 | "
	 "# 10.0.9.0/24 limit 1/h per account 17 : 0 1 0"},
	{"it refills for all of them", "= 10.0.0.0/24 limit 1/s burst 1 per account 1; "
				       "10.0.9.0/24 limit 1/s burst 1 per account 1 | "
				       "ip4=10.0.0.1 udp : within | "
				       "ip4=10.0.9.1 udp : over | "
				       "+ 1s | "
				       "ip4=10.0.9.1 udp : within | "
				       "ip4=10.0.0.1 udp : over"},
	{"packets and bytes are two buckets",
	 "= 10.0.0.0/24 limit 1/h burst 1 per account 1; "
	 "10.0.9.0/24 limit 100byte/h burst 1600byte per account 1 | "
	 "ip4=10.0.0.1 udp : within | "
	 "5 * ip4=10.0.9.1 udp : within | "
	 "ip4=10.0.0.1 udp : over"},
	{"both for each packet", "= 10.0.0.0/24 limit 1/h burst 1 per account 1; "
				 "10.0.0.0/24 limit 100kbyte/h burst 1600kbyte per account 1 | "
				 "ip4=10.0.0.1 udp : within | "
				 "ip4=10.0.0.1 udp : over"},
	{"a set and a prefix", "= set x; @x limit 1/h burst 1 per account 3; "
			       "10.0.9.0/24 limit 1/h burst 1 per account 3 | "
			       "add x: 192.0.2.0/24, 2001:db8::1 | "
			       "ip4=192.0.2.9 udp : within | "
			       "ip6=2001:db8::1 udp : over | "
			       "ip4=10.0.9.1 udp : over"},
	{"accounts beside other limits of a prefix",
	 "= 10.0.0.0/24 udp limit 1/h burst 1 per account 1; "
	 "10.0.0.0/24 limit 1/h burst 3 per rule; 10.0.0.0/24 tcp limit 1/h burst 1 per account 2; "
	 "10.0.9.0/24 limit 1/h burst 1 per account 1 | "
	 "ip4=10.0.0.1 udp : within | "
	 "ip4=10.0.9.1 udp : over | "
	 "ip4=10.0.0.1 tcp : within | "
	 "ip4=10.0.0.1 icmp : within | "
	 "ip4=10.0.0.1 icmp : over"},
	{"another policy keeps it", "= 10.0.0.0/24 limit 1/h burst 1 per account 1 | "
				    "ip4=10.0.0.1 udp : within | "
				    "= 10.0.9.0/24 limit 1/h burst 1 per account 1 | "
				    "ip4=10.0.0.1 udp : unmatched | "
				    "ip4=10.0.9.1 udp : over"},
	{"a ban is for the account", "= 10.0.0.0/24 limit 1/h burst 1 per account 1 over ban 10m; "
				     "10.0.9.0/24 limit 1/h burst 1 per account 1 over ban 10m | "
				     "ip4=10.0.0.1 udp : within | "
				     "ip4=10.0.0.1 udp : over | "
				     "ip4=10.0.9.1 udp : banned"},
	{"shadow", "= 10.0.0.0/24 limit 1/h burst 1 per account 1 over count; "
		   "10.0.9.0/24 limit 1/h burst 1 per account 1 | "
		   "ip4=10.0.9.1 udp : within | "
		   "ip4=10.0.0.1 udp : shadow | "
		   "ip4=10.0.9.1 udp : over"},
	{"the largest number, and its neighbour",
	 "= 10.0.0.0/24 limit 1/h burst 1 per account 268435455; "
	 "10.0.9.0/24 limit 1/h burst 1 per account 268435454 | "
	 "ip4=10.0.0.1 udp : within | "
	 "ip4=10.0.9.1 udp : within | "
	 "ip4=10.0.0.1 udp : over"},
};

SCENARIOS(rows, .program_uses = RL_USE_PROGRAM & ~(RL_USE_CHALLENGE | RL_USE_TRUNCATE))
SCENARIOS(rows, .program_uses = RL_USE_PROGRAM & ~(RL_USE_CHALLENGE | RL_USE_TRUNCATE),
	  .table = RL_TABLE_LRU)
