// SPDX-License-Identifier: GPL-2.0-only
/* Warnings of lint, by tables: each kind with rows that it is for and rows that only look like it.
 */
#include <string.h>

#include "policy/lint/lint.h"
#include "policy_helpers.h"
#include "random.h"

/* Keeps the lint for forged sources quiet. */
#define GUARD   "rule device new-source limit 9/s\n"
#define HIDDEN  "are not held to the limit"
#define INSTEAD "are held to its limit instead of"
#define DEAD    "every packet that matches"
#define FORGED  "a flood of forged sources passes"

#define ALARM   "alarm a when over 99/s for 1s until under 9/s for 9s\n"

static const struct policy_context on_egress_by_source = {.mtu = 1500, .tc = true, .leaving = true};
static const struct policy_context by_dest = {.mtu = 1500, .by_dest = true};
static const struct policy_source one_file = {.name = "policy"};

static const struct lint_row {
	const char *name, *policy;
	uint32_t line; /* of the only warning; 0: none is expected */
	const char *says;
	const struct policy_context *ctx; /* NULL: on_xdp */
} rows[] = {
	/* ports in a key */
	{"ports of ICMP", "rule any icmp limit 9/s per dport\n" GUARD, 1,
	 "counts by ports, which its protocol does not have"},
	{"ports of ICMP, beside the source", "rule 10.0.0.0/8 icmp limit 9/s per source+dport", 1,
	 "leave them out of the key"},
	{"ports of a protocol by its number", "rule 10.0.0.0/8 proto 89 limit 9/s per sport", 1,
	 "counts by ports"},
	{"ports of every protocol", "rule 10.0.0.0/8 limit 9/s per dport"},
	{"ports of all but ICMP", "rule 10.0.0.0/8 not icmp limit 9/s per dport"},
	{"ports of UDP", "rule 10.0.0.0/8 udp limit 9/s per dport"},
	{"flows of ICMP", "rule 10.0.0.0/8 icmp limit 9/s per flow"},
	{"a payload that fragments hide", "rule any udp payload 0 aa limit 9/s per rule", 1,
	 "add for example \"rule any fragment limit 50/second per rule\""},
	{"fragments of another protocol",
	 "rule any udp payload 0 aa limit 9/s per rule\nrule any tcp fragment deny", 1,
	 "ends before the payload"},
	{"fragments held", "rule any udp payload 0 aa limit 9/s per rule\nrule any fragment deny"},
	{"a payload that is denied", "rule any udp payload 0 aa deny"},
	{"a burst of one", "rule 10.0.0.0/8 limit 10/s burst 1", 1,
	 "its burst 1 holds one packet, so of packets that come in pairs one in two is dropped even "
	 "below the rate: leave burst out for 5"},
	{"a burst of three", "rule 10.0.0.0/8 limit 1k/s burst 3", 1,
	 "holds 3 packets, so of 4 that come together one is dropped even below the rate: leave "
	 "burst out for 100"},
	{"a burst in bytes", "rule 10.0.0.0/8 limit 1mbit burst 4kbyte", 1,
	 "its burst 4kbyte holds 2 packets"},
	{"a burst in shadow", "rule 10.0.0.0/8 limit 10/s burst 1 over count"},
	{"a burst of five", "rule 10.0.0.0/8 limit 1k/s burst 5"},
	{"a burst of the default", "rule 10.0.0.0/8 limit 1/d burst 1"},
	{"a burst of a merged packet", "rule 10.0.0.0/8 limit 1mbit burst 73728byte", 0, NULL,
	 &on_egress_by_source},
	{"a burst of a warm-up", "rule 10.0.0.0/8 limit warm-up 9/s ramp 9s burst 2 cold 2", 1,
	 "its burst 2 holds 2 packets"},
	/* parts of a limit that are of no use */
	{"strangers have less than a packet a second", "rule device limit 9/s share", 1,
	 "its part for strangers, 10 percent, is less than one packet a second, too few to divide: "
	 "write a higher rate, or remove share"},
	{"strangers have a packet a second", "rule device limit 10/s share"},
	{"strangers have a small part", "rule device limit 99/s share 98/1/1", 1,
	 "strangers, 1 percent, is less than one packet"},
	{"strangers have less than a packet a second, in bits", "rule device limit 121kbit share",
	 1, "is less than one packet a second"},
	{"strangers have a packet a second, in bits", "rule device limit 122kbit share"},
	{"strangers have 60 packets a minute", "rule device limit 600/min share"},
	{"a low limit without classes", "rule device limit 9/s share per source"},
	{"a low limit by destination", "rule device limit 9/s share per dest", 0, NULL, &on_egress},
	{"share, nothing is established", "rule device not established limit 1k/s share 50/30/20",
	 1,
	 "its match leaves out the established, whose part of the share is always empty: write "
	 "share without parts"},
	{"share, nothing is known", "rule device new-source limit 1k/s share 50/30/20", 1,
	 "leaves out known sources, whose"},
	{"share, strangers alone",
	 "rule device new-source not established limit 1k/s share 50/30/20", 1,
	 "leaves out the established and known sources, whose"},
	{"share, the established alone", "rule device established limit 1k/s share 50/30/20", 1,
	 "leaves out known sources and strangers, whose"},
	{"share, the known alone",
	 "rule device not new-source not established limit 1k/s share 50/30/20", 1,
	 "leaves out the established and strangers, whose"},
	{"share without strangers", "rule device not new-source limit 1k/s share 50/30/20", 1,
	 "leaves out strangers, whose"},
	{"share of strangers alone", "rule device new-source not established limit 1k/s share"},
	{"share per source of new sources", "rule device new-source limit 1k/s share per source"},
	{"two shares", "rule device limit 9k/s share\nrule any udp limit 1k/s share"},
	{"share in place of a limit per source",
	 "rule any limit 1k/s share\nrule any udp limit 9k/s share per source"},
	{"share holds forged sources",
	 "rule any limit 9/s\nrule device limit 9k/s share per source/24,56"},
	{"share per source, hidden by a higher one",
	 "rule any limit 1k/s share per source\nrule 10.0.0.0/8 limit 9k/s share per source", 2,
	 INSTEAD " the one on line 1,"},
	/* sources that become known by packets of another limit */
	{"unknown by any packet",
	 "rule device udp dport 53 new-source limit 5k/s\nrule device new-source not established "
	 "limit 10k/s",
	 1, "by other packets sources become known at the rate of line 2, which is higher"},
	{"unknown by any packet of UDP, the other way",
	 "rule device udp new-source limit 10k/s\nrule device udp dport 53 new-source limit 5k/s",
	 2, "at the rate of line 1, which is higher"},
	{"unknown, held to less",
	 "rule device udp dport 53 new-source limit 5k/s\nrule device new-source limit 5k/s", 1,
	 "all its packets are held to the lower limit on line 2 too"},
	{"unknown, held to less but for a burst",
	 "rule device udp dport 53 new-source limit 5k/s\nrule device new-source limit 5k/s burst "
	 "6k"},
	{"unknown by other packets alone",
	 "rule device udp dport 53 new-source limit 5k/s\nrule device udp not dport 53 new-source "
	 "limit 10k/s\nrule device not udp new-source limit 10k/s"},
	{"unknown, while an alarm is on",
	 ALARM "rule device udp dport 53 new-source limit 5k/s while a\nrule device new-source "
	       "limit 10k/s"},
	{"unknown, beside a count",
	 "rule device udp dport 53 new-source limit 5k/s\nrule device new-source limit 10k/s over "
	 "count"},
	{"unknown, of each port",
	 "rule device udp new-source limit 5k/s per dport\nrule device new-source limit 10k/s"},
	{"unknown, beside a limit of all packets",
	 "rule device udp dport 53 new-source limit 5k/s\nrule device limit 10k/s"},
	{"unknown, in other units",
	 "rule device udp dport 53 new-source limit 5k/s\nrule device new-source limit 10mbit"},
	{"unknown, beside one that ends",
	 "rule device udp dport 53 new-source limit 5k/s\nrule device new-source limit 10k/s for "
	 "1h"},
	{"every length", "rule any length 0-65535 deny", 1, "length leaves out no packet"},
	{"all but some lengths", "rule any length 21-65535 deny"},
	{"every ttl", "rule any tcp ttl 0-255 allow", 1, "ttl leaves out no packet"},
	{"all but one ttl", "rule any ttl 1-255 deny"},
	/* a limit that hides one of a shorter prefix */
	{"another unit", GUARD "rule any limit 1mbit\nrule 10.0.0.0/8 limit 9/s", 3,
	 HIDDEN " on line 2,"},
	{"another unit, lines the other way",
	 GUARD "rule 10.0.0.0/8 limit 9/s\nrule any limit 1mbit", 2, HIDDEN " on line 3,"},
	{"another key", GUARD "rule any limit 9/s per dest\nrule 10.0.0.0/8 limit 9/s", 3,
	 HIDDEN " on line 2,"},
	{"several",
	 GUARD "rule any limit 9/s per dest\nrule any udp limit 1mbit\nrule ::/0 limit 9/s", 4,
	 HIDDEN "s on lines 2, 3,"},
	{"two prefixes away",
	 GUARD "rule any limit 1mbit\nrule 10.0.0.0/8 udp deny\nrule 10.1.0.0/16 limit 9/s", 4,
	 HIDDEN " on line 2,"},
	{"in shadow", GUARD "rule any limit 9/s\nrule 10.0.0.0/8 limit 9/s over count", 3,
	 HIDDEN " on line 2,"},
	{"of the packets of one match",
	 GUARD "rule any limit 1mbit\nrule 10.0.0.0/8 udp dport 53 limit 9/s", 3,
	 HIDDEN " on line 2,"},
	{"what a deny leaves",
	 GUARD "rule any limit 1mbit\nrule 10.0.0.0/8 limit 9/s\nrule 10.0.0.0/8 udp deny", 3,
	 HIDDEN " on line 2,"},
	{"what an allow leaves for an hour",
	 GUARD "rule any limit 1mbit\nrule 10.0.0.0/8 limit 9/s\nrule 10.0.0.0/8 allow for 1h", 3,
	 HIDDEN " on line 2,"},
	{"the same limit, higher", GUARD "rule any limit 9/s\nrule 10.0.0.0/8 limit 99/s", 3,
	 INSTEAD " the one on line 2, not to both"},
	{"another key by parts",
	 GUARD "rule any limit 9/s per dest+dport\nrule 10.0.0.0/8 limit 9/s per dest+sport", 3,
	 HIDDEN " on line 2,"},
	{"the same key by parts, higher",
	 GUARD "rule any limit 9/s per dest+dport\nrule 10.0.0.0/8 limit 99/s per dport+dest", 3,
	 INSTEAD " the one on line 2, not to both"},
	{"higher for a while", GUARD "rule any limit 9/s\nrule 10.0.0.0/8 limit 99/s for 10m", 3,
	 INSTEAD " the one on line 2,"},
	{"higher in other units", GUARD "rule any limit 9mbit\nrule 10.0.0.0/8 limit 2mbyte/s", 3,
	 INSTEAD},
	{"higher in another period", GUARD "rule any limit 9/s\nrule 10.0.0.0/8 limit 600/min", 3,
	 INSTEAD},
	{"higher for all together", GUARD "rule any limit 9/s\nrule 10.0.0.0/8 limit 99/s per rule",
	 3, INSTEAD},
	{"more at once", GUARD "rule any limit 9/s burst 9\nrule 10.0.0.0/8 limit 9/s burst 10", 3,
	 INSTEAD},
	{"a window in place of a bucket",
	 GUARD "rule any limit 10/s\nrule 10.0.0.0/8 limit fixed-window 600/min", 3, INSTEAD},
	{"without the ban", GUARD "rule any limit 9/s over ban 10m\nrule 10.0.0.0/8 limit 5/s", 3,
	 INSTEAD},
	{"of fewer packets, higher",
	 GUARD "rule any tcp dport 80 limit 5/s\nrule 10.0.0.0/8 limit 40m/s", 3, INSTEAD},
	{"of SYN only, higher",
	 GUARD "rule any tcp syn limit 20/s\nrule 10.0.0.0/8 tcp limit 500/s", 3,
	 INSTEAD " the one on line 2,"},
	{"two lower ones",
	 GUARD "rule any tcp limit 20/s\nrule any limit 30/s\nrule 10.0.0.0/8 limit 500/s", 4,
	 INSTEAD " those on lines 2, 3, not to all of them"},
	{"higher where the strict one does not match",
	 GUARD "rule any limit 9/s\nrule 10.0.0.0/8 udp limit 5/s\nrule 10.0.0.0/8 limit 99/s", 4,
	 INSTEAD},
	{"higher, and a strict one", GUARD "rule any limit 9/s\nrule 10.0.0.0/8 udp limit 99/s\n"
					   "rule 10.0.0.0/8 limit 9/s"},
	{"higher for one address",
	 GUARD "rule any limit 9/s over ban 1m\nrule 10.0.0.1 limit 99/s\n"
	       "rule 2001:db8::1 limit 99/s"},
	{"higher, of what is denied",
	 GUARD "rule any udp limit 9/s\nrule 10.0.0.0/8 limit 99/s\nrule 10.0.0.0/8 udp deny"},
	{"equal", GUARD "rule any limit 9/s over ban 1m\nrule 10.0.0.0/8 limit 9/s over ban 1m"},
	{"equal in other words", GUARD
	 "rule any limit 8kbit burst 80kbit\nrule 10.0.0.0/8 limit 60kbyte/min burst 10kbyte"},
	{"stricter", GUARD "rule any limit 9/s burst 9\nrule 10.0.0.0/8 limit 8/s burst 8"},
	{"stricter for a while", GUARD "rule any limit 9/s\nrule 10.0.0.0/8 limit 5/s for 10m"},
	{"of fewer packets, as strict", GUARD "rule any limit 9/s\nrule 10.0.0.0/8 udp limit 9/s"},
	{"a strict one that ends first",
	 GUARD "rule any limit 9/s\nrule 10.0.0.0/8 limit 1mbit\nrule 10.0.0.0/8 limit 9/s for 1m",
	 3, HIDDEN " on line 2,"},
	{"a strict one that ends last",
	 GUARD "rule any limit 9/s\nrule 10.0.0.0/8 limit 1mbit for 1m\n"
	       "rule 10.0.0.0/8 limit 9/s for 1m"},
	{"both limits again",
	 GUARD "rule any limit 9/s\nrule any limit 1mbit\nrule 10.0.0.0/8 limit 8/s\n"
	       "rule 10.0.0.0/8 limit 1mbit"},
	{"bits for bytes",
	 GUARD "rule any limit 9mbyte/s\nrule 10.0.0.0/8 limit 72mbit burst 900kbyte"},
	{"another length of the key",
	 GUARD "rule any limit 9/s per source/24\nrule 10.0.0.0/8 limit 9/s"},
	{"all of the prefix together",
	 GUARD "rule any limit 9/s\nrule 10.0.0.0/8 limit 9/s per rule"},
	{"one address by itself", GUARD "rule any limit 9/s per rule\nrule 10.0.0.1 limit 99/s"},
	{"other packets", GUARD "rule any tcp limit 1mbit\nrule 10.0.0.0/8 udp limit 9/s"},
	{"other ports",
	 GUARD "rule any dport 1-52 limit 1mbit\nrule 10.0.0.0/8 dport 53 limit 9/s"},
	{"what has no ports",
	 GUARD "rule any icmp limit 1mbit\nrule 10.0.0.0/8 dport 53 limit 9/s"},
	{"matches that cross",
	 GUARD "rule any sport 53 limit 1mbit\nrule 10.0.0.0/8 dport 53 limit 9/s"},
	{"other addresses of the other side",
	 GUARD "rule any dst 192.0.2.1 limit 1mbit\nrule 10.0.0.0/8 dst 192.0.2.2 limit 9/s"},
	{"only an allow", GUARD "rule any limit 9/s\nrule 10.0.0.1 allow"},
	{"only a deny", GUARD "rule any limit 9/s\nrule 10.0.0.0/8 udp deny"},
	{"a limit that drops nothing",
	 GUARD "rule any limit 1mbit over count\nrule 10.0.0.0/8 limit 9/s"},
	{"what is allowed anyway",
	 GUARD "rule any udp allow\nrule any limit 1mbit\nrule 10.0.0.0/8 udp limit 9/s"},
	{"what the prefix allows itself", GUARD
	 "rule any udp dport 53 limit 1mbit\nrule 10.0.0.0/8 limit 9/s\nrule 10.0.0.0/8 udp allow"},
	{"hidden by a prefix between already",
	 GUARD "rule any limit 1mbit\nrule 10.0.0.0/8 deny\nrule 10.1.0.0/16 limit 9/s"},
	{"side by side", GUARD "rule 10.0.0.0/8 limit 1mbit\nrule 11.0.0.0/8 limit 9/s"},
	{"of what is established, higher",
	 GUARD "rule any limit 9/s\nrule 10.0.0.0/8 tcp established limit 99/s", 3,
	 INSTEAD " the one on line 2,"},
	{"of what is established, of another unit",
	 GUARD "rule any tcp limit 1mbit\nrule 10.0.0.0/8 tcp established limit 9/s", 3,
	 HIDDEN " on line 2,"},
	{"established and not",
	 GUARD "rule any established limit 1mbit\nrule 10.0.0.0/8 not established limit 9/s"},
	{"established and SYN",
	 GUARD "rule any established limit 1mbit\nrule 10.0.0.0/8 syn limit 9/s"},
	{"established and GRE",
	 GUARD "rule any gre limit 1mbit\nrule 10.0.0.0/8 established limit 9/s"},
	{"one that spares what is established",
	 GUARD "rule any limit 9/s\nrule 10.0.0.0/8 limit 9/s over drop unless established", 3,
	 INSTEAD " the one on line 2,"},
	{"both spare what is established",
	 GUARD "rule any limit 9/s over drop unless established\n"
	       "rule 10.0.0.0/8 limit 9/s over drop unless established"},
	{"one that spares none of its packets",
	 GUARD "rule any not established limit 9/s\n"
	       "rule 10.0.0.0/8 limit 9/s over drop unless established"},
	{"one that answers",
	 GUARD "rule any syn limit 9/s\nrule 10.0.0.0/8 syn limit 9/s over challenge"},
	{"of the device", GUARD "rule device limit 1gbit\nrule 10.0.0.0/8 limit 9/s"},
	/* a rule without effect */
	{"limit of what is allowed", GUARD "rule any udp allow\nrule any udp dport 53 limit 9/s", 3,
	 "line 2 allows " DEAD},
	{"deny of what is allowed", GUARD "rule 10.0.0.0/8 allow\nrule 10.0.0.0/8 udp deny", 3,
	 "line 2 allows " DEAD},
	{"limit of what is denied", GUARD "rule 10.0.0.0/8 limit 9/s\nrule 10.0.0.0/8 deny", 2,
	 "line 3 denies " DEAD},
	{"two that take all together",
	 GUARD
	 "rule any dport 0-99 allow\nrule any dport 100-65535 deny\nrule any dport 53-443 limit 9/s",
	 4, "other rules allow or deny " DEAD},
	{"of a device", "rule device udp allow\nrule device udp limit 9/s", 2,
	 "line 1 allows " DEAD},
	{"a device behind any", "rule any deny\nrule device limit 9/s", 2, "line 1 denies " DEAD},
	{"limit of an address that is denied",
	 GUARD "rule any src 10.0.0.0/8 deny\nrule any src 10.1.0.0/16 limit 9/s per rule", 3,
	 "line 2 denies " DEAD},
	{"limit of IPv6 only",
	 GUARD "rule any dst ::/0 deny\nrule any dst 2001:db8::1 limit 9/s per rule", 3,
	 "line 2 denies " DEAD},
	{"a part is allowed", GUARD "rule any udp dport 53 allow\nrule any udp limit 9/s per rule"},
	{"all but fragments", GUARD "rule any udp dport 0-65535 allow\nrule any udp limit 9/s"},
	{"one family", GUARD "rule any dst ::/0 deny\nrule any limit 9/s"},
	{"one address", GUARD "rule any src 192.0.2.1 allow\nrule any limit 9/s"},
	{"for an hour", GUARD "rule any deny for 1h\nrule any limit 9/s"},
	{"another prefix", GUARD "rule 10.0.0.0/8 allow\nrule any limit 9/s"},
	{"a SYN of what is not established",
	 GUARD "rule any not established deny\nrule any syn limit 9/s", 3, "line 2 denies " DEAD},
	{"GRE of what is not established",
	 GUARD "rule any not established deny\nrule any gre limit 9/s", 3, "line 2 denies " DEAD},
	{"established and not leave nothing",
	 GUARD "rule 10.0.0.0/8 established allow\nrule 10.0.0.0/8 not established deny\n"
	       "rule 10.0.0.0/8 udp limit 9/s",
	 4, "other rules allow or deny " DEAD},
	{"TCP that may be established",
	 GUARD "rule any not established deny\nrule any tcp limit 9/s"},
	{"known sources", "rule any new-source deny\nrule any limit 9/s per rule"},
	{"a device beside any",
	 "rule any deny\nrule 10.0.0.0/8 udp limit 9/s\nrule device limit 9/s"},
	{"a device before any", "rule device udp deny\nrule any udp limit 9/s per rule"},
	/* accounts */
	{"an account with two rates",
	 "rule 10.0.0.1 limit 9/s per account 1\nrule 10.0.0.2 limit 8/s per account 1", 2,
	 "account 1 has another rate or burst"},
	{"an account with two bursts",
	 "rule 10.0.0.1 limit 99/s per account 1\nrule 10.0.0.2 limit 99/s burst 7 per account 1",
	 2, "account 1 has another rate or burst"},
	{"two accounts, and packets and bytes",
	 "rule 10.0.0.1 limit 9/s per account 1\nrule 10.0.0.2 limit 8/s per account 2\n"
	 "rule 10.0.0.3 limit 9mbit per account 1"},
	/* forged sources */
	{"limits per source alone", "rule any udp limit 9/s\nrule any limit 99/s", 1, FORGED},
	{"per flow", "rule 10.0.0.1 deny\nrule any limit 99/s per flow", 2, FORGED},
	{"all of IPv4", "rule 0.0.0.0/0 limit 99/s", 1, FORGED},
	{"a device's limit in shadow", "rule any limit 9/s\nrule device limit 99/s over count", 1,
	 FORGED},
	{"a device's limit per source", "rule any limit 9/s\nrule device limit 9/s per source", 1,
	 FORGED},
	{"a limit of some packets together", "rule any limit 9/s\nrule any udp limit 99/s per rule",
	 1, FORGED},
	{"with new-source", GUARD "rule any limit 9/s"},
	{"a device's limit of some packets", "rule any limit 9/s\nrule device udp limit 99/s", 1,
	 FORGED},
	{"a device's limits that have all packets together",
	 "rule any limit 9/s\nrule device udp dport 53 new-source limit 9/s\nrule device udp not "
	 "dport 53 limit 9/s\nrule device not udp new-source not established limit 9/s\nrule device "
	 "fragment limit 9/s"},
	{"a device's limits that leave out fragments, which have no ports",
	 "rule any limit 9/s\nrule device udp dport 53 new-source limit 9/s\nrule device udp not "
	 "dport 53 limit 9/s\nrule device not udp new-source limit 9/s",
	 1, FORGED},
	{"a device's limits of which one ends",
	 "rule any limit 9/s\nrule device udp limit 9/s\nrule device not udp limit 9/s for 1h", 1,
	 FORGED},
	{"new sources of one network",
	 "rule any limit 9/s\nrule 10.0.0.0/8 new-source limit 5/s per rule", 1, FORGED},
	{"new sources of one port",
	 "rule any limit 9/s\nrule any udp dport 9 new-source limit 5/s per rule", 1, FORGED},
	{"for a while", "rule any limit 9/s\nrule device new-source limit 5/s for 1m", 1, FORGED},
	{"of one family", "rule ::/0 limit 9/s\nrule 0.0.0.0/0 new-source limit 9/s per rule", 1,
	 FORGED},
	{"a device's limit of the same packets",
	 "rule any udp dport 53 limit 9/s\nrule device udp limit 99/s"},
	{"a device's limit of all", "rule any limit 9/s\nrule device limit 99mbit"},
	{"for the same while",
	 "rule any limit 9/s for 1m\nrule device new-source limit 5/s for 1m"},
	{"the same family", "rule ::/0 limit 9/s\nrule ::/0 new-source limit 9/s per rule"},
	{"the family of a protocol", "rule any icmp6 limit 9/s\nrule ::/0 limit 9/s per rule"},
	{"limit of what is denied anyway", "rule any deny\nrule any tcp dport 22 limit 5/s", 2,
	 "line 1 denies " DEAD},
	{"with a limit of all", "rule any limit 9/s\nrule any limit 99/s per rule"},
	{"per service", "rule any limit 9/s per source+sport\nrule any limit 99/s per dest+dport",
	 1, FORGED},
	{"per destination of one service",
	 "rule any udp dport 53 limit 9/s\nrule any udp dport 53 limit 99/s per dest+dport"},
	{"per destination of all services but one",
	 "rule any udp not dport 53 limit 9/s\nrule any udp not dport 53 limit 99/s per dest+dport",
	 1, FORGED},
	{"per destination and protocol", "rule any limit 9/s\nrule any limit 99/s per proto+dest"},
	{"in shadow only", "rule any limit 9/s over count"},
	{"of what is established", "rule any established limit 9/s"},
	{"but for what is established", "rule any limit 9/s over drop unless established", 1,
	 FORGED},
	{"a device's limit of what is not established",
	 "rule any limit 9/s\nrule device not established limit 9/s"},
	{"a device's limit that spares",
	 "rule any limit 9/s\nrule device limit 99/s over drop unless established"},
	{"a device's limit of what is established",
	 "rule any limit 9/s\nrule device established limit 99/s", 1, FORGED},
	{"a challenge of each", "rule any syn limit 9/s over challenge", 1,
	 "a flood of forged sources is never answered"},
	{"of one network", "rule 10.0.0.0/8 limit 9/s"},
	/* the other matches, and not */
	{"within a list", "rule any udp dport 1,3,5-9 deny\nrule any udp dport 6-7 limit 5/s", 2,
	 "line 1 denies " DEAD},
	{"partly in a list", "rule any udp dport 1,3,5-9 deny\nrule any udp dport 9-10 limit 5/s "
			     "per rule"},
	{"of what is not denied", "rule any not udp deny\nrule any udp limit 5/s per rule"},
	{"of what is denied by not", "rule any not udp deny\nrule any tcp limit 5/s per rule", 2,
	 "line 1 denies " DEAD},
	{"of a source that is not denied",
	 "rule any not src 192.0.2.0/24 deny\nrule any tcp limit 5/s per rule"},
	{"of other sources than the first", "rule 10.0.0.0/8 not src 10.0.0.0/9 deny"},
	{"payload that is denied with others",
	 "rule any udp payload 0 ff deny\nrule any udp payload 0 ff dport 53 limit 5/s\n"
	 "rule device fragment deny",
	 2, "line 1 denies " DEAD},
	{"payload beside another",
	 "rule any udp payload 0 ff deny\n"
	 "rule any udp payload 0 fe limit 5/s per rule\nrule device fragment deny"},
	{"held by a limit of a list",
	 "rule any udp dport 1-9 limit 9/s\nrule device udp dport 1-5,7-20 limit 99/s", 1, FORGED},
	{"held by a limit of a list and one of what it leaves out",
	 "rule any udp dport 1-9 limit 9/s\n"
	 "rule device udp dport 1-5,7-20 limit 99/s\nrule device udp dport 6 limit 99/s"},
	{"held by a limit of more ports", "rule any udp dport 7-9 limit 9/s\n"
					  "rule device udp dport 1-5,7-20 limit 99/s"},
	{"held by a limit of all others", "rule any udp length 100-200 limit 9/s\n"
					  "rule device not tcp not length 0-99 limit 99/s"},
	{"held by a limit of what is known",
	 "rule any limit 9/s\n"
	 "rule device not new-source limit 99/s",
	 1, FORGED},
	{"of SYNs, held by a limit of other segments",
	 "rule any syn limit 9/s\n"
	 "rule device tcp not syn limit 99/s",
	 1, FORGED},
	{"what the machine sends", "rule any limit 9/s per source", 0, NULL, &on_egress_by_source},
	{"per destination", "rule any limit 9/s", 0, NULL, &by_dest},
	/* the lookup address is the destination */
	{"hidden by destination", "rule any limit 1mbit\nrule 10.0.0.0/8 limit 9/s", 2, HIDDEN,
	 &by_dest},
	{"by destination of a source that is allowed",
	 "rule any src 10.0.0.0/8 allow\nrule any src 10.1.0.0/16 limit 9/s", 2, "allows " DEAD,
	 &by_dest},
	/* sets */
	{"a set without a rule", "rule 10.0.0.0/8 deny\nset bad", 2, "no rule names the set bad"},
	{"a set as prefix", "set bad\nrule @bad deny"},
	{"a set as src", "set bad\nrule any src @bad deny"},
	{"a set as not dst", "set bad\nrule any not dst @bad deny"},
	{"a set denies all of another rule", "set bad\nrule @bad deny\nrule @bad udp limit 9/s", 3,
	 "line 2 denies " DEAD},
	{"of two sets no rule is dead",
	 "set bad\nset worse\nrule @bad deny\nrule @worse udp allow"},
	{"a match of a set that is denied",
	 "set bad\nrule any src @bad deny\nrule any src @bad udp limit 9/s per rule", 3,
	 "line 2 denies " DEAD},
	{"a match of another set",
	 "set bad\nset worse\nrule any src @bad deny\nrule any src @worse udp limit 9/s per rule"},
	{"a match of a set and not of it",
	 "set bad\nrule any src @bad deny\nrule any not src @bad udp limit 9/s per rule"},
	{"both leave nothing",
	 "set bad\nrule any src @bad deny\nrule any not src @bad allow\n"
	 "rule any udp limit 9/s per rule",
	 4, "other rules allow or deny"},
	{"hides a limit of any", GUARD "set slow\nrule any limit 1mbit\nrule @slow limit 9/s", 4,
	 HIDDEN " on line 3,"},
	{"the prefix behind it hides that, too",
	 GUARD "set slow\nrule any limit 1mbit\nrule @slow allow\nrule 10.0.0.0/8 limit 9/s", 5,
	 HIDDEN " on line 3,"},
	{"any decides less than the device", "set good\nrule any deny\nrule @good limit 9/s\n"
					     "rule device limit 99/s"},
	/* alarms */
	{"an alarm without a rule", ALARM "rule any deny"},
	{"a set that an alarm counts",
	 "set bad\nalarm a when src @bad over 99/s for 1s until under 9/s for 9s"},
	{"what is denied while an alarm is on", ALARM "rule any deny while a\nrule any udp allow"},
	{"what is allowed while an alarm is on",
	 ALARM "rule any allow while a\nrule any udp deny\nrule any udp limit 9/s per rule while a",
	 4, DEAD},
	{"what is denied by the same alarm",
	 ALARM "rule any deny while a\nrule any udp limit 9/s per rule while a", 3,
	 "the rule on line 2 denies " DEAD},
	{"what is denied by its contrary",
	 ALARM "rule any deny while a\nrule any udp limit 9/s per rule while not a"},
	{"what is denied by both",
	 ALARM "rule any deny while a\nrule any allow while not a\nrule any udp limit 9/s per rule",
	 4, "other rules allow or deny " DEAD},
	{"what is denied by two alarms",
	 ALARM "alarm b when udp over 99/s for 1s until under 9/s for 9s\nrule any deny while a\n"
	       "rule any allow while not b\nrule any udp limit 9/s per rule"},
	{"hides a limit of an alarm",
	 GUARD ALARM "rule any limit 1mbit while a\nrule 10.0.0.0/8 limit 9/s", 4,
	 HIDDEN " on line 3,"},
	{"an alarm hides a limit",
	 GUARD ALARM "rule any limit 1mbit\nrule 10.0.0.0/8 limit 9/s while a", 4,
	 HIDDEN " on line 3,"},
	{"alarms that exclude each other hide nothing",
	 GUARD ALARM "rule any limit 1mbit while a\nrule 10.0.0.0/8 limit 9/s while not a"},
	{"held back only while an alarm is on",
	 GUARD ALARM
	 "rule any limit 1mbit\nrule 10.0.0.0/8 limit 9/s\nrule 10.0.0.0/8 limit 1mbit while a",
	 4, HIDDEN " on line 3,"},
	{"held back all the time", GUARD ALARM
	 "rule any limit 1mbit\nrule 10.0.0.0/8 limit 9/s\n"
	 "rule 10.0.0.0/8 limit 1mbit while a\nrule 10.0.0.0/8 limit 1mbit while not a"},
	{"forged sources while an alarm is on",
	 ALARM "rule any limit 9/s\nrule device new-source limit 9/s while a"},
	{"forged sources while it is not",
	 ALARM "rule any limit 9/s\nrule device new-source limit 9/s while not a", 2, FORGED},
	{"forged sources of a limit while an alarm is on", ALARM "rule any limit 9/s while a", 2,
	 FORGED},
	{"no rules", ""},
};

struct said {
	const struct lint_row *row;
	size_t count;
};

static void said_add(const struct rule *rule, const char *text, void *arg)
{
	struct said *said = arg;
	const struct lint_row *row = said->row;

	said->count++;
	if (!row->says || !rule || rule->line != row->line || !strstr(text, row->says))
		fail_msg("%s\nline %u: said: %s", row->policy, rule ? rule->line : 0, text);
}

ROWS(row_test, rows, row)
{
	const struct policy_context *ctx = row->ctx ? row->ctx : &on_xdp;
	CLEARED_POLICY struct policy policy = must_parse_lines(row->policy, ctx);
	struct said said = {.row = row};

	assert_int_equal(policy_lint(&policy, ctx, &one_file, said_add, &said), 0);
	assert_int_equal(said.count, row->says != NULL);
}

static void count_warning(const struct rule *rule, const char *text, void *arg)
{
	size_t *counts = arg;

	counts[rule == NULL]++;
	assert_true(strlen(text) > 10);
}

/* After the first warnings, only that there are more. */
TEST(many_test)
{
	char text[8192] = GUARD "rule any limit 1mbit\n";
	size_t counts[2] = {0};
	CLEARED_POLICY struct policy policy;

	for (unsigned int i = 0; i < 100; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text),
			 "rule 10.0.0.%u limit 9/s\n", i);
	policy = must_parse_lines(text, &on_xdp);
	assert_int_equal(policy_lint(&policy, &on_xdp, &one_file, count_warning, counts), 0);
	assert_int_equal(counts[0], LINT_WARNINGS_MAX);
	assert_int_equal(counts[1], 1);
}

/* Any policy can be asked about, and a second question has the same answer. */
TEST(random_test)
{
	char line[RULE_TEXT_MAX];

	random_start(20260722);
	for (unsigned int i = 0; i < 3000; i++) {
		CLEARED_POLICY struct policy policy = {0};
		size_t first[2] = {0}, second[2] = {0};

		for (size_t n = 1 + random_below(12); n; n--) {
			struct rule rule;

			random_rule(line, &on_xdp);
			rule = must_parse(line, &on_xdp);
			rule.line = n;
			assert_int_equal(policy_put(&policy, &rule), 0);
		}
		assert_int_equal(policy_lint(&policy, &on_xdp, &one_file, count_warning, first), 0);
		assert_int_equal(policy_lint(&policy, &on_xdp, &one_file, count_warning, second),
				 0);
		assert_memory_equal(first, second, sizeof(first));
	}
}

/* As many rules as a prefix may have: all are looked at, in bounded time. */
TEST(group_test)
{
	size_t counts[2] = {0};
	CLEARED_POLICY struct policy policy = {0};
	char line[RULE_TEXT_MAX];

	for (unsigned int i = 0; i < 1024; i++) {
		struct rule rule;

		snprintf(line, sizeof(line), "rule any udp dport %u not length 99-%u %s", i / 2 + 1,
			 99 + i / 2, i % 2 ? "limit 9/s per rule" : "deny");
		rule = must_parse(line, &on_xdp);
		rule.line = i + 1;
		assert_int_equal(policy_append(&policy, &rule), 0);
	}
	assert_int_equal(policy_sort(&policy, NULL), 0);
	assert_int_equal(policy_lint(&policy, &on_xdp, &one_file, count_warning, counts), 0);
	assert_int_equal(counts[0], LINT_WARNINGS_MAX);
}

TEST(sum_test)
{
	struct policy policy =
		must_parse_lines("rule any limit 9/s\nrule any limit 1mbit over count\n"
				 "rule 10.0.0.0/8 deny\nrule 10.0.0.0/8 udp allow\n"
				 "rule 10.0.0.0/9 limit 9/s over mark 5\nrule device udp deny\n",
				 &on_tc);
	struct policy_sum sum;

	policy_sum(&policy, &sum);
	assert_int_equal(sum.rules, 6);
	assert_int_equal(sum.prefixes, 4);
	assert_int_equal(sum.shadow, 2);
	policy_clear(&policy);
	policy_sum(&policy, &sum);
	assert_int_equal(sum.rules + sum.prefixes + sum.shadow, 0);
}
