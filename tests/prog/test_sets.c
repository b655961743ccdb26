// SPDX-License-Identifier: GPL-2.0-only
/* rlctl-policy(5), sets: which rules decide where sets have rules, and what `src @NAME` and `dst
 * @NAME` match. Each row is a scenario (scenario.h) on fresh states and empty sets.
 */
#include "scenario.h"

static const struct scenario rows[] = {
	/* one set */
	{"deny", "= set x; @x deny | "
		 "ip4 udp : unmatched | "
		 "add x: 192.0.2.1, 2001:db8::1 | "
		 "ip4 udp : denied | "
		 "ip6 udp : denied | "
		 "ip4=192.0.2.2 udp : unmatched | "
		 "ip6=2001:db8::2 udp : unmatched | "
		 "del x: 192.0.2.1 | "
		 "ip4 udp : unmatched | "
		 "ip6 udp : denied | "
		 "# @x deny : 0 3 0 | "
		 "matched x: 3"},
	{"allow", "= set x; @x allow; any deny | "
		  "ip4 udp : denied | "
		  "add x: 192.0.2.1, 2001:db8::1 | "
		  "ip4 udp : allowed | "
		  "ip6 udp : allowed | "
		  "ip6=2001:db8::2 udp : denied"},
	{"a limit counts by the source, not by the set", "= set x; @x limit 1/h burst 2 | "
							 "add x: 192.0.2.0/24, 2001:db8::/32 | "
							 "2 * ip4 udp : within | "
							 "ip4 udp : over | "
							 "2 * ip4=192.0.2.2 udp : within | "
							 "ip4=192.0.2.2 udp : over | "
							 "2 * ip6 udp : within | "
							 "ip6 udp : over | "
							 "2 * ip6=2001:db8:7::1 udp : within | "
							 "# @x limit 1/h : 8 3 0 | "
							 "matched x: 11"},
	{"a limit per rule is one for the set", "= set x; @x limit 1/h burst 2 per rule | "
						"add x: 192.0.2.0/24 | "
						"ip4 udp : within | "
						"ip4=192.0.2.2 udp : within | "
						"ip4=192.0.2.3 udp : over"},
	{"per set is that, too", "= set x; @x limit 1/h burst 2 per set | "
				 "add x: 192.0.2.0/24, 2001:db8::/32 | "
				 "ip4 udp : within | "
				 "ip6 udp : within | "
				 "ip4=192.0.2.3 udp : over"},
	{"a bucket for each member", "= set x; @x limit 1/h burst 2 per set member | "
				     "add x: 192.0.2.0/24, 198.51.100.7, 2001:db8::/32 | "
				     "ip4=192.0.2.1 udp : within | "
				     "ip4=192.0.2.254 udp : within | "
				     "ip4=192.0.2.3 udp : over | "
				     "2 * ip4=198.51.100.7 udp : within | "
				     "ip4=198.51.100.7 udp : over | "
				     "ip6=2001:db8::1 udp : within | "
				     "ip6=2001:db8:ffff::1 udp : within | "
				     "ip6=2001:db8:7:7::1 udp : over | "
				     "# @x limit 1/h per set member : 6 3 0"},
	{"the longest member", "= set x; @x limit 1/h burst 1 per set member | "
			       "add x: 10.0.0.0/8, 10.0.0.0/24, 10.0.0.0/25, 10.0.0.0 | "
			       "ip4=10.0.0.0 udp : within | "
			       "ip4=10.0.0.1 udp : within | "
			       "ip4=10.0.0.128 udp : within | "
			       "ip4=10.0.1.0 udp : within | "
			       "ip4=10.0.0.0 udp : over | "
			       "ip4=10.0.0.127 udp : over | "
			       "ip4=10.0.0.255 udp : over | "
			       "ip4=10.255.0.1 udp : over"},
	{"everybody as a member", "= set x; @x limit 1/h burst 1 per set member | "
				  "add x: 0.0.0.0/0, ::/0 | "
				  "ip4 udp : within | "
				  "ip4=203.0.113.1 udp : over | "
				  "ip6=fe80::1 udp : within | "
				  "ip6 udp : over"},
	{"a link-local network as a member", "= set x; @x limit 1/h burst 1 per set member | "
					     "add x: fe80::/64 | "
					     "ip6=fe80::1 udp : within | "
					     "ip6=fe80::2 udp : over"},
	{"members of two sets", "= set x; set y; @x limit 1/h burst 1 per set member; "
				"@y limit 1/h burst 2 per set member | "
				"add x: 10.0.0.0/24, 10.0.1.0/24 | "
				"add y: 10.0.0.0/16, 10.0.1.0/24 | "
				"ip4=10.0.0.1 udp : within | "
				"ip4=10.0.0.2 udp : over | "
				"ip4=10.0.1.1 udp : within | "
				"ip4=10.0.1.2 udp : over | "
				"2 * ip4=10.0.2.1 udp : within | "
				"ip4=10.0.2.2 udp : over | "
				"# @x limit 1/h per set member : 2 2 0"},
	{"a member beside a longer prefix",
	 "= set x; @x limit 1/h burst 1 per set member; 10.0.0.7 limit 1/h burst 2; "
	 "10.0.0.0/28 tcp deny | "
	 "add x: 10.0.0.0/24 | "
	 "2 * ip4=10.0.0.7 udp : within | "
	 "ip4=10.0.0.7 udp : over | "
	 "ip4=10.0.0.1 tcp : denied | "
	 "ip4=10.0.0.1 udp : within | "
	 "ip4=10.0.0.200 udp : over"},
	{"a member that leaves and comes back", "= set x; @x limit 1/h burst 1 per set member | "
						"add x: 10.0.0.0/24, 10.0.0.0/16 | "
						"ip4=10.0.0.1 udp : within | "
						"del x: 10.0.0.0/24 | "
						"ip4=10.0.0.1 udp : within | "
						"ip4=10.0.7.1 udp : over | "
						"add x: 10.0.0.0/24 | "
						"ip4=10.0.0.1 udp : over"},
	{"bytes of a member, and its device",
	 "= set x; @x limit 100byte/h burst 1600byte per set member; device limit 1/h burst 2 | "
	 "add x: 10.0.0.0/24 | "
	 "ip4=10.0.0.1 udp : within | "
	 "ip4=10.0.0.2 udp : within | "
	 "ip4=10.0.0.3 udp : over"},
	{"windows of a member", "= set x; @x limit fixed-window 2/h per set member | "
				"add x: 10.0.0.0/24, 10.0.1.0/24 | "
				"2 * ip4=10.0.0.1 udp : within | "
				"ip4=10.0.0.9 udp : over | "
				"ip4=10.0.1.9 udp : within"},
	{"a log of a member", "= set x; @x limit sliding-log 2/h per set member | "
			      "add x: 10.0.0.0/24, 10.0.1.0/24 | "
			      "ip4=10.0.0.1 udp : within | "
			      "ip4=10.0.0.2 udp : within | "
			      "ip4=10.0.0.9 udp : over | "
			      "ip4=10.0.1.9 udp : within"},
	{"a ban of a member", "= set x; @x limit 1/h burst 1 per set member over ban 10m | "
			      "add x: 10.0.0.0/24, 10.0.1.0/24 | "
			      "ip4=10.0.0.1 udp : within | "
			      "ip4=10.0.0.2 udp : over | "
			      "ip4=10.0.0.3 udp : banned | "
			      "ip4=10.0.1.3 udp : within"},
	{"matches of its rules", "= set x; @x udp dport 2000 deny; @x udp allow; any limit 9/h | "
				 "add x: 192.0.2.1 | "
				 "ip4 udp=7>2000 : allowed | "
				 "ip4 tcp : within"},
	{"deny where no allow matches", "= set x; @x udp deny; @x tcp allow | "
					"add x: 192.0.2.1 | "
					"ip4 udp : denied | "
					"ip4 tcp : allowed | "
					"ip4 icmp : unmatched"},
	{"all limits of a set", "= set x; @x limit 1/h burst 3; @x udp limit 1/h burst 2 | "
				"add x: 192.0.2.1 | "
				"2 * ip4 udp : within | "
				"ip4 udp : over | "
				"ip4 tcp : within | "
				"ip4 tcp : over"},
	{"nothing of it while it is empty", "= set x; @x deny; 192.0.2.1 allow; any deny | "
					    "ip4 udp : allowed | "
					    "ip4=192.0.2.2 udp : denied"},
	{"members of a set that no rule names", "= set x; set y; @y deny | "
						"add x: 192.0.2.1 | "
						"add y: 192.0.2.2 | "
						"ip4 udp : unmatched | "
						"ip4=192.0.2.2 udp : denied | "
						"matched x: 0 | "
						"matched y: 1"},
	{"a rule that expires", "= set x; @x deny for 10s | "
				"add x: 192.0.2.1 | "
				"ip4 udp : denied | "
				"@ @x deny -1ns | "
				"ip4 udp : denied | "
				"@ @x deny +0 | "
				"ip4 udp : unmatched"},

	/* lengths */
	{"lengths of IPv4",
	 "= set x; @x deny | "
	 "add x: 10.0.0.0/8, 172.16.0.0/12, 192.168.0.0/13, 198.51.100.0/24, 203.0.113.6/31, 192.0.2.1 | "
	 "ip4=10.255.255.255 udp : denied | "
	 "ip4=11.0.0.0 udp : unmatched | "
	 "ip4=9.255.255.255 udp : unmatched | "
	 "ip4=172.31.255.255 udp : denied | "
	 "ip4=172.32.0.0 udp : unmatched | "
	 "ip4=192.175.255.255 udp : denied | "
	 "ip4=192.176.0.0 udp : unmatched | "
	 "ip4=198.51.100.255 udp : denied | "
	 "ip4=198.51.101.0 udp : unmatched | "
	 "ip4=203.0.113.7 udp : denied | "
	 "ip4=203.0.113.8 udp : unmatched | "
	 "ip4=192.0.2.1 udp : denied | "
	 "ip4=192.0.2.0 udp : unmatched | "
	 "ip6=::1 udp : unmatched"},
	{"all of IPv4", "= set x; @x deny; any allow | "
			"add x: 0.0.0.0/0 | "
			"ip4=0.0.0.1 udp : denied | "
			"ip4=255.255.255.255 udp : denied | "
			"ip6 udp : allowed | "
			"del x: 0.0.0.0/0 | "
			"ip4 udp : allowed"},
	{"lengths of IPv6",
	 "= set x; @x deny | "
	 "add x: 4000::/3, 2002::/16, 2001:db0::/29, 2a00:1::/32, 2a00:2::/33, 2a00:3:4::/48, 2a00:3:5:6::/64 | "
	 "add x: 2a00:3:5:7::/65, 2a00:3:5:9::2/127, 2a00:3:5:a::1/128 | "
	 "ip6=5fff:ffff::1 udp : denied | "
	 "ip6=6000::1 udp : unmatched | "
	 "ip6=2002:ffff::1 udp : denied | "
	 "ip6=2003::1 udp : unmatched | "
	 "ip6=2001:db7:ffff::1 udp : denied | "
	 "ip6=2001:db8::1 udp : unmatched | "
	 "ip6=2a00:1:ffff::1 udp : denied | "
	 "ip6=2a00:2:7fff::1 udp : denied | "
	 "ip6=2a00:2:8000::1 udp : unmatched | "
	 "ip6=2a00:3:4:ffff::1 udp : denied | "
	 "ip6=2a00:3:5::1 udp : unmatched | "
	 "ip6=2a00:3:5:6:ffff:ffff:ffff:ffff udp : denied | "
	 "ip6=2a00:3:5:7:7fff:ffff:ffff:ffff udp : denied | "
	 "ip6=2a00:3:5:7:8000:: udp : unmatched | "
	 "ip6=2a00:3:5:9::3 udp : denied | "
	 "ip6=2a00:3:5:9::4 udp : unmatched | "
	 "ip6=2a00:3:5:a::1 udp : denied | "
	 "ip6=2a00:3:5:a::2 udp : unmatched | "
	 "ip4 udp : unmatched"},
	{"all of IPv6", "= set x; @x deny; any allow | "
			"add x: ::/0 | "
			"ip6=::1 udp : denied | "
			"ip6=ffff::1 udp : denied | "
			"ip4 udp : allowed"},
	{"members inside one another", "= set x; @x udp deny; any limit 9/h burst 9 | "
				       "add x: 192.0.0.0/8, 192.0.2.0/24, 192.0.2.1 | "
				       "ip4 udp : denied | "
				       "ip4 tcp : within | "
				       "del x: 192.0.2.1 | "
				       "ip4 udp : denied | "
				       "del x: 192.0.2.0/24 | "
				       "ip4 udp : denied | "
				       "del x: 192.0.0.0/8 | "
				       "ip4 udp : within"},

	/* sets and prefixes */
	{"the longer one decides", "= set x; @x deny; 192.0.2.1 allow; 192.0.0.0/16 allow | "
				   "add x: 192.0.2.0/24 | "
				   "ip4 udp : allowed | "
				   "ip4=192.0.2.2 udp : denied | "
				   "ip4=192.0.3.2 udp : allowed | "
				   "add x: 192.0.3.2 | "
				   "ip4=192.0.3.2 udp : denied"},
	{"a set between two prefixes, each without a match",
	 "= set x; 192.0.2.1 tcp deny; @x udp deny; 192.0.0.0/16 icmp deny; any gre deny; 192.0.2.0/28 esp deny | "
	 "add x: 192.0.2.0/24 | "
	 "ip4 tcp : denied | "
	 "ip4 udp : denied | "
	 "ip4 icmp : denied | "
	 "ip4 gre : denied | "
	 "ip4 esp : denied | "
	 "ip4 sctp : unmatched | "
	 "matched x: 6"},
	{"a plain verdict behind a set", "= set x; 192.0.2.0/24 deny; @x udp allow | "
					 "add x: 192.0.2.1 | "
					 "ip4 udp : allowed | "
					 "ip4 tcp : denied | "
					 "add x: 192.0.2.0/25 | "
					 "ip4=192.0.2.9 tcp : denied"},
	{"a plain verdict that has expired, beside a set",
	 "= set x; 192.0.2.0/24 deny for 10s; @x udp allow; any limit 9/h | "
	 "add x: 192.0.2.1 | "
	 "ip4 tcp : denied | "
	 "+ 10s | "
	 "ip4 tcp : within | "
	 "ip4 udp : allowed"},
	{"one length: allow, then deny, then all limits",
	 "= set x; set y; 192.0.2.0/24 udp dport 1 deny; 192.0.2.0/24 limit 1/h burst 2; @x udp dport 1 allow; @x udp dport 2 deny; @x udp limit 1/h burst 9; @y udp dport 2 allow; @y tcp deny; @y limit 1/h burst 3 | "
	 "add x: 192.0.2.0/24 | "
	 "add y: 192.0.2.0/24 | "
	 "ip4 udp=9>1 : allowed | "
	 "ip4 udp=9>2 : allowed | "
	 "ip4 tcp : denied | "
	 "2 * ip4 udp=9>3 : within | "
	 "ip4 udp=9>3 : over | "
	 "# @x udp limit 1/h : 2 0 0 | "
	 "# @y limit 1/h : 2 0 0 | "
	 "# 192.0.2.0/24 limit 1/h : 2 1 0 | "
	 "# @x udp dport 2 deny : 0 0 0 | "
	 "# 192.0.2.0/24 udp dport 1 deny : 0 0 0"},
	{"the same member in sets of other lengths",
	 "= set x; set y; @x udp deny; @y udp allow; @y tcp deny | "
	 "add x: 192.0.2.0/24 | "
	 "add y: 192.0.2.0/25 | "
	 "ip4 udp : allowed | "
	 "ip4=192.0.2.200 udp : denied | "
	 "ip4=192.0.2.200 tcp : unmatched | "
	 "ip4 tcp : denied"},
	{"a deny of one set, a limit of another", "= set x; set y; @x limit 9/h; @y deny | "
						  "add x: 192.0.2.1 | "
						  "add y: 192.0.2.1 | "
						  "ip4 udp : denied | "
						  "# @x limit 9/h : 0 0 0 | "
						  "# @y deny : 0 1 0"},
	{"any comes last", "= set x; @x udp deny; any tcp deny; 0.0.0.0/0 icmp deny | "
			   "add x: 192.0.2.1 | "
			   "ip4 udp : denied | "
			   "ip4 tcp : denied | "
			   "ip4 icmp : denied | "
			   "ip4 gre : unmatched"},
	{"members of length 0 beside the prefix", "= set x; 0.0.0.0/0 udp deny; @x udp allow | "
						  "ip4 udp : denied | "
						  "add x: 0.0.0.0/0 | "
						  "ip4 udp : allowed"},
	{"device besides", "= set x; @x limit 1/h burst 9; device limit 1/h burst 2 | "
			   "add x: 192.0.2.1 | "
			   "2 * ip4 udp : within | "
			   "ip4 udp : over | "
			   "# @x limit 1/h : 2 0 0"},
	{"an allowed member meets no device rule", "= set x; @x allow; device udp deny | "
						   "add x: 192.0.2.1 | "
						   "ip4 udp : allowed | "
						   "ip4=192.0.2.2 udp : denied"},
	{"device denies", "= set x; @x limit 1/h burst 1; device udp deny | "
			  "add x: 192.0.2.1 | "
			  "3 * ip4 udp : denied | "
			  "ip4 tcp : within"},

	/* src and dst */
	{"src", "= set x; any udp src @x deny | "
		"ip4 udp : unmatched | "
		"add x: 192.0.2.0/24, 2001:db8::/64 | "
		"ip4 udp : denied | "
		"ip4 tcp : unmatched | "
		"ip6 udp : denied | "
		"ip4=198.51.100.1>192.0.2.1 udp : unmatched | "
		"matched x: 3"},
	{"dst", "= set x; any udp dst @x deny | "
		"add x: 198.51.100.1, 2001:db8:1::/48 | "
		"ip4 udp : denied | "
		"ip6 udp : denied | "
		"ip4=198.51.100.1>192.0.2.1 udp : unmatched | "
		"matched x: 2"},
	{"not src", "= set x; any not src @x deny | "
		    "ip4 udp : denied | "
		    "ip6 udp : denied | "
		    "add x: 192.0.2.1 | "
		    "ip4 udp : unmatched | "
		    "ip6 udp : denied | "
		    "ip4=192.0.2.2 gre : denied | "
		    "ip4 frag=100 udp : unmatched | "
		    "ip4=192.0.2.2 frag=100 udp : denied"},
	{"not dst", "= set x; any not dst @x deny | "
		    "add x: 198.51.100.0/24 | "
		    "ip4 udp : unmatched | "
		    "ip4=198.51.100.1>192.0.2.1 udp : denied"},
	{"both, in a prefix and in a set",
	 "= set x; set y; 192.0.2.0/24 src @x dst @y deny; @x dst @y not src @y tcp deny | "
	 "add x: 192.0.2.1 | "
	 "add y: 198.51.100.1 | "
	 "ip4 udp : denied | "
	 "ip4=192.0.2.2 udp : unmatched | "
	 "ip4=192.0.2.1>198.51.100.2 udp : unmatched | "
	 "ip4 tcp : denied | "
	 "# @x dst @y not src @y tcp deny : 0 1 0 | "
	 "matched x: 3 | "
	 "matched y: 3"},
	{"one set as source and as destination counts once", "= set x; any src @x dst @x deny | "
							     "add x: 192.0.2.1, 198.51.100.1 | "
							     "ip4 udp : denied | "
							     "matched x: 1"},

	/* packets */
	{"later fragments, tags, extensions", "= set x; @x deny | "
					      "add x: 192.0.2.1, 2001:db8::1 | "
					      "ip4 frag=100 udp : denied | "
					      "ip6 frag=100 udp : denied | "
					      "8021q ip4 udp : denied | "
					      "8021ad 8021q ip6 udp : denied | "
					      "ip6 hop dst tcp : denied | "
					      "ip4 options=8 icmp : denied | "
					      "ip4 proto=99 : denied | "
					      "type=0x806 : non-ip"},
	{"a fragment has no ports", "= set x; @x udp dport 2000 deny; @x fragment limit 9/h | "
				    "add x: 192.0.2.1 | "
				    "ip4 udp=7>2000 : denied | "
				    "ip4 frag=100 udp=7>2000 : within"},

	/* time */
	{"expiry", "= set x; @x deny; any limit 99/h | "
		   "add x: 192.0.2.1 for 10s, 192.0.2.2, 192.0.2.0/24 for 20s | "
		   "+ 9999999999ns | "
		   "ip4 udp : denied | "
		   "ip4=192.0.2.2 udp : denied | "
		   "+ 135ms | "
		   "ip4 udp : denied | "
		   "+ 10s | "
		   "ip4 udp : within | "
		   "ip4=192.0.2.2 udp : denied | "
		   "ip4=192.0.2.3 udp : within"},
	{"what is added again lasts longer", "= set x; @x deny | "
					     "add x: 192.0.2.1 for 10s | "
					     "+ 9s | "
					     "add x: 192.0.2.1 for 10s | "
					     "+ 9s | "
					     "ip4 udp : denied | "
					     "add x: 192.0.2.1 for 1s | "
					     "+ 900ms | "
					     "ip4 udp : denied | "
					     "+ 1s | "
					     "ip4 udp : unmatched | "
					     "add x: 192.0.2.1 for 1s | "
					     "ip4 udp : denied"},

	/* changes */
	{"swap and flush", "= set x; set y; @x deny; @y allow | "
			   "add x: 192.0.2.1, 192.0.2.2 | "
			   "add y: 192.0.2.9 | "
			   "swap x: 192.0.2.2, 192.0.2.3 | "
			   "ip4 udp : unmatched | "
			   "ip4=192.0.2.2 udp : denied | "
			   "ip4=192.0.2.3 udp : denied | "
			   "swap x: 192.0.2.1 | "
			   "ip4 udp : denied | "
			   "ip4=192.0.2.2 udp : unmatched | "
			   "swap x: | "
			   "ip4 udp : unmatched | "
			   "add x: 192.0.2.1 | "
			   "ip4 udp : denied | "
			   "ip4=192.0.2.9 udp : allowed"},
	{"another policy keeps the members", "= set x; @x deny | "
					     "add x: 192.0.2.1, 2001:db8::/32 | "
					     "= set y; set x; @x udp allow; @x deny; any deny | "
					     "ip4 udp : allowed | "
					     "ip6 udp : allowed | "
					     "ip4=192.0.2.2 udp : denied | "
					     "= set x; any udp src @x deny | "
					     "ip4 udp : denied"},
	{"what is removed leaves no members", "= set x; @x deny | "
					      "add x: 192.0.2.1 | "
					      "= set y; @y deny | "
					      "ip4 udp : unmatched | "
					      "= set y; set x; @y deny; @x deny | "
					      "ip4 udp : unmatched | "
					      "matched x: 0"},
	{"another capacity keeps the members", "= set x max 10; @x deny | "
					       "add x: 192.0.2.1, 2001:db8::1 | "
					       "= set x max 4000000; @x deny | "
					       "ip4 udp : denied | "
					       "ip6 udp : denied | "
					       "= set x max 1; @x deny | "
					       "ip4 udp : denied | "
					       "ip6 udp : denied"},

	/* what is kept of an address */
	{"a refused source that is allowed", "= set x; @x allow; any limit 1/d burst 1 | "
					     "ip4 udp : within | "
					     "9 * ip4 udp : over | "
					     "add x: 192.0.2.1 | "
					     "9 * ip4 udp : allowed | "
					     "del x: 192.0.2.1 | "
					     "ip4 udp : over"},
	{"a refused network with an allowed address", "= set x; @x allow; any limit 1/d burst 1 | "
						      "ip6 udp : within | "
						      "9 * ip6 udp : over | "
						      "add x: 2001:db8::7 | "
						      "9 * ip6 udp : over | "
						      "3 * ip6=2001:db8::7 udp : allowed | "
						      "ip6 udp : over"},
	{"allowed by a match", "= set x; any src @x allow; any limit 1/d burst 1 | "
			       "ip4 udp : within | "
			       "9 * ip4 udp : over | "
			       "add x: 192.0.2.1 | "
			       "ip4 udp : allowed"},
	{"a device that refuses all", "= set x; @x allow; device limit 1/d burst 1 | "
				      "ip4 udp : within | "
				      "9 * ip4 udp : over | "
				      "add x: 192.0.2.1 | "
				      "9 * ip4 udp : allowed | "
				      "9 * ip4=192.0.2.2 udp : over"},
	{"a shared limit that refuses all",
	 "= set x; @x limit 1/h burst 9; any limit 1/d burst 1 per rule | "
	 "ip4=10.0.0.1 udp : within | "
	 "9 * ip4=10.0.0.2 udp : over | "
	 "add x: 192.0.2.1 | "
	 "9 * ip4 udp : within | "
	 "ip4 udp : over"},
	{"a prefix that is known", "= set x; @x deny; 192.0.0.0/16 limit 9/h burst 9 | "
				   "3 * ip4 udp : within | "
				   "add x: 192.0.2.1 | "
				   "2 * ip4 udp : denied | "
				   "add x: 192.0.0.0/12 | "
				   "del x: 192.0.2.1 | "
				   "2 * ip4 udp : within | "
				   "ip4=192.1.0.0 udp : denied"},
	{"no prefix that is known", "= set x; @x deny; 10.0.0.0/8 allow | "
				    "2 * ip4 udp : unmatched | "
				    "add x: 192.0.2.1 for 10s | "
				    "2 * ip4 udp : denied | "
				    "+ 11s | "
				    "2 * ip4 udp : unmatched"},
	{"a member that was refused", "= set x; @x limit 1/d burst 1; any limit 24/d burst 2 | "
				      "add x: 192.0.2.1 for 10s | "
				      "ip4 udp : within | "
				      "9 * ip4 udp : over | "
				      "+ 11s | "
				      "2 * ip4 udp : within | "
				      "9 * ip4 udp : over"},

	/* beside other things */
	{"a ban by a member's limit", "= set x; @x limit 1/h burst 1 over ban 10s | "
				      "add x: 192.0.2.1 | "
				      "ip4 udp : within | "
				      "ip4 udp : over | "
				      "ip4 udp : banned | "
				      "del x: 192.0.2.1 | "
				      "ip4 udp : unmatched"},
	{"a source that is banned",
	 "= set x; any limit 1/h burst 1 over ban 10s source; @x allow | "
	 "ip4 udp : within | "
	 "ip4 udp : over | "
	 "ip4 udp : banned | "
	 "add x: 192.0.2.1 | "
	 "ip4 udp : allowed"},
	{"banned before denied", "= set x; any limit 1/h burst 1 over ban 10s source; @x deny | "
				 "ip4 udp : within | "
				 "ip4 udp : over | "
				 "add x: 192.0.2.1 | "
				 "ip4 udp : banned | "
				 "+ 10s | "
				 "ip4 udp : denied"},
	{"new sources of a set",
	 "= set x; @x new-source limit 1/h burst 1 per rule; @x limit 1/h burst 9 | "
	 "add x: 192.0.2.0/24 | "
	 "2 * ip4 udp : within | "
	 "ip4=192.0.2.2 udp : over | "
	 "ip4 udp : within"},
	{"shadow", "= set x; @x limit 1/h burst 1 over count | "
		   "add x: 192.0.2.1 | "
		   "ip4 udp : within | "
		   "3 * ip4 udp : shadow | "
		   "# @x limit 1/h : 1 0 3"},
	{"what is established", "= set x; @x udp established allow; @x udp deny | "
				"add x: 192.0.2.1 | "
				"! established | "
				"ip4 udp : allowed | "
				"! not established | "
				"ip4 udp : denied"},
	{"dropped unless established",
	 "= set x; @x tcp limit 1/h burst 1 over drop unless established | "
	 "add x: 192.0.2.1 | "
	 "! established | "
	 "ip4 tcp : within | "
	 "ip4 tcp : established | "
	 "! not established | "
	 "ip4 tcp : over"},
	{"a set with an index",
	 "= set x; @x udp dport 1 deny; @x udp dport 2 deny; @x udp dport 3 deny; @x udp dport 4 deny; @x udp dport 5 deny; @x udp dport 6 deny; @x udp dport 7 deny; @x udp dport 8 deny; @x udp dport 9 deny; @x udp dport 10-20 limit 1/h burst 1; @x tcp allow; 192.0.0.0/16 udp limit 1/h burst 3 | "
	 "add x: 192.0.2.1 | "
	 "ip4 udp=7>1 : denied | "
	 "ip4 udp=7>9 : denied | "
	 "ip4 udp=7>12 : within | "
	 "ip4 udp=7>12 : over | "
	 "ip4 tcp : allowed | "
	 "ip4 udp=7>21 : within | "
	 "ip4 gre : unmatched | "
	 "# @x udp dport 9 deny : 0 1 0 | "
	 "add x: 192.0.0.0/16 | "
	 "ip4=192.0.2.2 udp=7>13 : within | "
	 "ip4=192.0.2.2 udp=7>13 : over | "
	 "ip4=192.0.2.2 udp=7>1 : denied"},
};

/* Where an instance goes by destination, a member is who receives. */
static const struct scenario by_dest[] = {
	{"a bucket for each member that receives", "= set x; @x limit 1/h burst 1 per set member | "
						   "add x: 10.0.0.0/24, 10.0.1.0/24 | "
						   "ip4=192.0.2.1>10.0.0.1 udp : within | "
						   "ip4=192.0.2.2>10.0.0.2 udp : over | "
						   "ip4=192.0.2.1>10.0.1.1 udp : within | "
						   "ip4=10.0.0.1>192.0.2.1 udp : unmatched"},
};

SCENARIOS(rows, .program_uses = RL_USE_PROGRAM & ~(RL_USE_CHALLENGE | RL_USE_TRUNCATE))
SCENARIOS(by_dest, .hook = RL_HOOK_EGRESS, .by_dest = true,
	  .program_uses = RL_USE_PROGRAM & ~(RL_USE_CHALLENGE | RL_USE_TRUNCATE))
