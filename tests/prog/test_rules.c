// SPDX-License-Identifier: GPL-2.0-only
/* rlctl-policy(5): which rule decides, and what neighbour discovery meets. Each row is a scenario
 * (scenario.h) on fresh states.
 */
#include "scenario.h"

static const struct scenario rows[] = {
	/* which prefix */
	{"no policy", "ip4 udp : unmatched | "
		      "ip6 tcp : unmatched | "
		      "type=0x806 : non-ip"},
	{"longest prefix", "= 192.0.2.0/24 deny; 192.0.2.1 allow | "
			   "ip4 udp : allowed | "
			   "ip4=192.0.2.2 udp : denied | "
			   "ip4=192.0.3.1 udp : unmatched"},
	{"longest prefix, IPv6",
	 "= 2001:db8::/32 allow; 2001:db8::/64 deny; 2001:db8::1 limit 9/s | "
	 "ip6 udp : within | "
	 "ip6=2001:db8::2 udp : denied | "
	 "ip6=2001:db8:1::1 udp : allowed | "
	 "ip6=2001:db9::1 udp : unmatched"},
	{"shorter where nothing matches",
	 "= 192.0.2.1 tcp deny; 192.0.2.0/24 udp allow; 192.0.0.0/16 icmp limit 9/s; any deny | "
	 "ip4 tcp : denied | "
	 "ip4 udp : allowed | "
	 "ip4 icmp : within | "
	 "ip4 gre : denied | "
	 "ip4=192.0.2.9 tcp : denied | "
	 "ip4=10.0.0.1 udp : denied"},
	{"shorter where nothing matches, to nothing",
	 "= 192.0.2.1 tcp deny; 192.0.2.0/24 tcp deny | "
	 "ip4 udp : unmatched"},
	{"a match of the longer prefix shields from the shorter",
	 "= 192.0.2.1 udp limit 9/s; 192.0.2.0/24 deny; any deny | "
	 "ip4 udp : within | "
	 "ip4 tcp : denied"},
	{"plain verdicts between groups",
	 "= 192.0.2.1 tcp deny; 192.0.2.0/31 deny; 192.0.2.0/24 udp allow | "
	 "ip4 udp : denied"},
	{"any is of both families", "= any udp deny | "
				    "ip4 udp : denied | "
				    "ip6 udp : denied | "
				    "ip4 tcp : unmatched"},
	{"all of IPv4", "= 0.0.0.0/0 deny | "
			"ip4 udp : denied | "
			"ip6 udp : unmatched"},
	{"all of IPv6", "= ::/0 deny | "
			"ip6 udp : denied | "
			"ip4 udp : unmatched"},
	{"around the mapped range", "= ::/80 deny | "
				    "ip4 udp : unmatched | "
				    "ip6=::1 udp : denied | "
				    "ip6=::192.0.2.1 udp : denied"},
	{"both, to any", "= 0.0.0.0/0 tcp deny; ::/0 udp deny; any icmp deny | "
			 "ip4 tcp : denied | "
			 "ip6 tcp : unmatched | "
			 "ip4 udp : unmatched | "
			 "ip6 udp : denied | "
			 "ip4 icmp : denied"},
	{"src and dst matches are of a family",
	 "= any src 0.0.0.0/0 tcp deny; any dst ::/0 udp deny | "
	 "ip4 tcp : denied | "
	 "ip6 tcp : unmatched | "
	 "ip6 udp : denied | "
	 "ip4 udp : unmatched"},
	{"src inside the prefix", "= 192.0.2.0/24 src 192.0.2.0/31 deny | "
				  "ip4 udp : denied | "
				  "ip4=192.0.2.2 udp : unmatched"},
	{"dst of a length between bytes", "= any dst 198.51.96.0/19 deny | "
					  "ip4 udp : denied | "
					  "ip4=192.0.2.1>198.51.128.1 udp : unmatched | "
					  "ip4=192.0.2.1>198.51.95.1 udp : unmatched"},
	{"dst of an IPv6 length between bytes", "= any dst 2001:db8:0:8000::/49 deny | "
						"ip6=::1>2001:db8:0:ffff::1 udp : denied | "
						"ip6=::1>2001:db8:0:7fff::1 udp : unmatched"},

	/* which of a prefix */
	{"allow before deny", "= any deny; any udp allow | "
			      "ip4 udp : allowed | "
			      "ip4 tcp : denied"},
	{"allow before limit", "= any limit 1/h burst 1; any udp allow | "
			       "3 * ip4 udp : allowed | "
			       "ip4 tcp : within | "
			       "ip4 tcp : over"},
	{"deny before limit", "= any limit 1/h burst 9; any udp deny | "
			      "ip4 udp : denied | "
			      "ip4 tcp : within | "
			      "# any limit 1/h : 1 0 0 | "
			      "# any udp deny : 0 1 0"},
	{"all conditions of a match", "= any tcp dport 2000 dst 198.51.100.1 syn deny | "
				      "ip4 syn : denied | "
				      "ip4 tcp : unmatched | "
				      "ip4 syn=1000>2001 : unmatched | "
				      "ip4=1.2.3.4>1.2.3.5 syn : unmatched"},
	{"eight rules",
	 "= any proto 1 deny; any proto 2 deny; any proto 3 deny; any proto 4 deny; any proto 5 deny; any proto 6 deny; any proto 7 deny; any proto 8 deny | "
	 "ip4 icmp : denied | "
	 "ip4 proto=8 : denied | "
	 "ip4 proto=9 : unmatched"},

	/* device */
	{"device alone", "= device udp deny | "
			 "ip4 udp : denied | "
			 "ip4 tcp : unmatched"},
	{"device after any", "= any limit 1/h burst 9; device limit 1/h burst 2 | "
			     "2 * ip4 udp : within | "
			     "ip4 udp : over | "
			     "# device limit 1/h : 2 1 0 | "
			     "# any limit 1/h : 2 0 0"},
	{"device deny after limits", "= any limit 1/h burst 2; device udp deny | "
				     "3 * ip4 udp : denied | "
				     "2 * ip4 tcp : within | "
				     "ip4 tcp : over"},
	{"an allowed packet meets no device rule", "= 192.0.2.1 allow; device udp deny | "
						   "ip4 udp : allowed | "
						   "ip4=192.0.2.2 udp : denied"},
	{"a denied packet costs the device nothing", "= any udp deny; device limit 1/h burst 1 | "
						     "3 * ip4 udp : denied | "
						     "ip4 tcp : within | "
						     "ip4 tcp : over"},
	{"device allow of what no prefix knows", "= device udp allow; device limit 1/h burst 1 | "
						 "3 * ip4 udp : allowed | "
						 "ip4 tcp : within | "
						 "ip4 tcp : over"},
	{"device allow spares the device's limits alone",
	 "= any limit 1/h burst 2; device udp allow; device limit 1/h burst 1 | "
	 "2 * ip4 udp : within | "
	 "ip4 udp : over | "
	 "ip4=192.0.2.2 tcp : within | "
	 "ip4=192.0.2.3 tcp : over"},
	{"a device limit is shared by all", "= device limit 1/h burst 3 | "
					    "ip4 udp : within | "
					    "ip6 udp : within | "
					    "ip4=10.0.0.1 tcp : within | "
					    "ip4=10.0.0.2 tcp : over | "
					    "type=0x806 : non-ip"},
	{"device per source", "= device limit 1/h burst 1 per source | "
			      "ip4 udp : within | "
			      "ip4 udp : over | "
			      "ip6 udp : within"},

	/* neighbour discovery; addresses that count by themselves */
	{"neighbour discovery passes limits",
	 "= any icmp6 limit 1/h burst 1; any limit 1/h burst 1; device limit 1/h burst 1 | "
	 "9 * ip6=fe80::1>ff02::1:ff00:2 ns=fe80::2 : allowed | "
	 "ip6=fe80::1 udp : within | "
	 "ip6=fe80::1 udp : over | "
	 "ip6 icmp6 : over | "
	 "9 * ip6=fe80::1>ff02::1:ff00:2 ns=fe80::2 : allowed"},
	{"neighbour discovery of who stands refused",
	 "= any limit 1/h burst 1 | "
	 "ip6=fe80::1 udp : within | "
	 "9 * ip6=fe80::1 udp : over | "
	 "ip6=fe80::1>ff02::1:ff00:2 ns=fe80::2 : allowed | "
	 "ip6=fe80::1 icmp6 : over"},
	{"neighbour discovery passes bans and denials",
	 "= any limit 1/h burst 1 over ban 1h source; fe80::/10 deny; any icmp6 deny | "
	 "ip6=fe80::1>ff02::1:ff00:2 ns=fe80::2 : allowed | "
	 "ip6=fe80::1 udp : denied | "
	 "ip6 icmp6 : denied"},
	{"neighbour discovery is not of a longer prefix, another protocol or family",
	 "= fe80::/64 icmp6 deny; fe80::1 icmp6 deny; fe80::/9 icmp6 deny; fe80::/10 udp deny; ::/0 icmp6 deny | "
	 "ip6=fe80::1>ff02::1:ff00:2 ns=fe80::2 : allowed | "
	 "ip6=fe80::1 icmp6 : denied"},
	{"neighbour discovery denied by name", "= fe80::/10 icmp6 deny | "
					       "ip6=fe80::1>ff02::1:ff00:2 ns=fe80::2 : denied | "
					       "ip6=::>ff02::1:ff00:2 ns=fe80::2 : unmatched | "
					       "= any icmp6 deny | "
					       "ip6=fe80::1>ff02::1:ff00:2 ns=fe80::2 : allowed"},
	{"neighbour discovery limited by name, each neighbour for itself",
	 "= fe80::/10 proto 58 limit 1/h burst 2 | "
	 "2 * ip6=fe80::1>ff02::1:ff00:2 ns=fe80::2 : within | "
	 "ip6=fe80::1>ff02::1:ff00:2 ns=fe80::2 : over | "
	 "ip6=fe80::9>ff02::1:ff00:2 ns=fe80::2 : within | "
	 "# fe80::/10 icmp6 limit 1/h : 3 1 0"},
	{"neighbours count one by one", "= any limit 1/h burst 1 | "
					"ip6=fe80::1 udp : within | "
					"2 * ip6=fe80::1 udp : over | "
					"ip6=fe80::2 udp : within | "
					"ip6=febf::1 udp : within | "
					"ip6=febf::2 udp : within | "
					"ip6=febf::2 udp : over"},
	{"beside fe80::/10 networks count", "= any limit 1/h burst 1 | "
					    "ip6=fec0::1 udp : within | "
					    "ip6=fec0::2 udp : over | "
					    "ip6=fe7f::1 udp : within | "
					    "ip6=fe7f::2 udp : over"},
	{"behind a NAT64 addresses count one by one", "= any limit 1/h burst 1 | "
						      "ip6=64:ff9b::192.0.2.1 udp : within | "
						      "ip6=64:ff9b::192.0.2.1 udp : over | "
						      "ip6=64:ff9b::192.0.2.2 udp : within"},
	{"beside 64:ff9b::/96 networks count", "= any limit 1/h burst 1 | "
					       "ip6=64:ff9b:1::1 udp : within | "
					       "ip6=64:ff9b:1::2 udp : over | "
					       "ip6=64:ff9b::1:0:1 udp : within | "
					       "ip6=64:ff9b::2:0:1 udp : over"},
	{"neighbours by a length that is written",
	 "= any limit 1/h burst 1 per source/32,56; device limit 1/h burst 3 per source/24,128 | "
	 "ip6=fe80::1 udp : within | "
	 "ip6=fe80::2 udp : over"},
	{"neighbours by source/24, whose other length is the usual one",
	 "= any limit 1/h burst 1 per source/24 | "
	 "ip6=fe80::1 udp : within | "
	 "ip6=fe80::1 udp : over | "
	 "ip6=fe80::2 udp : within | "
	 "ip6=2001:db8::1 udp : within | "
	 "ip6=2001:db8::2 udp : over"},
	{"neighbours per destination and per port",
	 "= any limit 1/h burst 1 per dest; any limit 1/h burst 1 per source+dport | "
	 "ip6=fe80::1>fe80::9 udp : within | "
	 "ip6=fe80::2>fe80::8 udp : within | "
	 "ip6=fe80::1>fe80::9 udp=1>7 : over | "
	 "ip6=fe80::1>fe80::7 udp : over | "
	 "ip6=fe80::1>fe80::7 udp=1>7 : within"},
	{"a ban of a neighbour is no other's", "= any tcp limit 1/h burst 1 over ban 1h source | "
					       "ip6=fe80::1 tcp : within | "
					       "ip6=fe80::1 tcp : over | "
					       "ip6=fe80::1 udp : banned | "
					       "ip6=fe80::2 udp : unmatched | "
					       "ip6=fe80::1>ff02::1:ff00:2 ns=fe80::2 : allowed"},
	{"a new neighbour is new", "= device new-source limit 1/h burst 2 | "
				   "ip6=fe80::1 udp : within | "
				   "ip6=fe80::1 udp : unmatched | "
				   "ip6=fe80::2 udp : within | "
				   "ip6=fe80::3 udp : over | "
				   "ip6=fe80::2 udp : unmatched"},
};

#define NS "ip6=fe80::1>ff02::1:ff00:2 ns=fe80::2 : "
#define RS "ip6=fe80::1>ff02::2 rs : "

/* With types: a rule that can match no message of neighbour discovery does not name it. */
static const struct scenario typed[] = {
	{"neighbour discovery is not of another type",
	 "= any icmp6 deny; fe80::/10 icmp6 icmp-type echo-request deny | " NS "allowed | " RS
	 "allowed | ip6=fe80::1 ping=1 : denied"},
	{"nor of a type beside it, nor of its types with another code",
	 "= any icmp6 deny; fe80::/10 icmp6 icmp-type 132 deny; fe80::/10 icmp6 icmp-type 138 deny; "
	 "fe80::/10 icmp6 icmp-type 135 code 1 deny | " NS "allowed | " RS "allowed"},
	{"neighbour discovery denied by its first type",
	 "= fe80::/10 icmp6 icmp-type 133 deny | " RS "denied | " NS "unmatched"},
	{"neighbour discovery denied by its last type",
	 "= fe80::/10 icmp6 icmp-type 137 deny; any icmp6 deny | " RS "denied | "
	 "ip6=fe80::1>2001:db8::1 redirect : denied"},
	{"a flood of one type is limited",
	 "= fe80::/10 icmp6 icmp-type nd-neighbor-solicit code 0 limit 1/h burst 2 per rule | 2 * " NS
	 "within | " NS "over"},
	{"beside a rule on another type, one that names it counts",
	 "= fe80::/10 icmp6 icmp-type 128 deny; fe80::/10 icmp6 limit 1/h burst 1 | " NS
	 "within | " NS "over"},
	{"what another type is not, neighbour discovery is",
	 "= fe80::/10 icmp6 not icmp-type echo-request limit 1/h burst 1 per rule | " NS
	 "within | " NS "over | " RS "over"},
	{"a type but one",
	 "= fe80::/10 icmp6 not icmp-type 133 deny | " NS "denied | " RS "unmatched"},
};

SCENARIOS(rows)
SCENARIOS(typed, .program_uses = RL_USE_EXTRAS)
