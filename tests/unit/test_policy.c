// SPDX-License-Identifier: GPL-2.0-only
/* The policy language and the model: every production with its defaults, every refusal with its
 * column, the round trip through print, and the order, put, find and remove of rules.
 */
#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "policy.h"
#include "units.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

static const struct policy_context xdp = {.mtu = 1500};
static const struct policy_context tc = {.mtu = 1500, .tc = true};
static const struct policy_context egress = {.mtu = 1500, .tc = true, .by_dest = true};
static const struct policy_context jumbo = {.mtu = 9000};

/* What a line says, in canonical words; NULL context is xdp. All go through the round trip. */
static const struct print_row {
	const char *name, *line, *printed;
	const struct policy_context *ctx;
} prints[] = {
	/* prefixes and actions */
	{"any allow", "rule any allow", "rule any allow", NULL},
	{"any deny", "  rule\tany  deny  # why", "rule any deny", NULL},
	{"comment close to a word", "rule any deny#why", "rule any deny", NULL},
	{"LF", "rule any deny\n", "rule any deny", NULL},
	{"CRLF", "rule any deny\r\n", "rule any deny", NULL},
	{"IPv4", "rule 203.0.113.7 deny", "rule 203.0.113.7 deny", NULL},
	{"IPv4 in full", "rule 203.0.113.7/32 deny", "rule 203.0.113.7 deny", NULL},
	{"IPv4 net", "rule 203.0.113.0/24 deny", "rule 203.0.113.0/24 deny", NULL},
	{"all IPv4", "rule 0.0.0.0/0 deny", "rule 0.0.0.0/0 deny", NULL},
	{"IPv6", "rule 2001:DB8::1 deny", "rule 2001:db8::1 deny", NULL},
	{"IPv6 net", "rule 2001:db8::/32 deny", "rule 2001:db8::/32 deny", NULL},
	{"device allow with a match", "rule device tcp allow", "rule device tcp allow", NULL},
	{"device deny with a match", "rule device fragment deny", "rule device fragment deny",
	 NULL},
	{"for", "rule any deny for 1h", "rule any deny for 1h", NULL},
	{"for in two words", "rule any deny for 10 minutes", "rule any deny for 10m", NULL},
	{"for below a second", "rule any deny for 1ms", "rule any deny for 1s", NULL},
	{"for rounds up", "rule any deny for 1500ms", "rule any deny for 2s", NULL},
	{"for, longest", "rule any deny for 4611686018427387904ns", "rule any deny for 4611686018s",
	 NULL},
	/* matches */
	{"tcp", "rule any tcp deny", "rule any tcp deny", NULL},
	{"udp", "rule any udp deny", "rule any udp deny", NULL},
	{"icmp", "rule any icmp deny", "rule any icmp deny", NULL},
	{"icmp6", "rule any icmp6 deny", "rule any icmp6 deny", NULL},
	{"sctp", "rule any sctp deny", "rule any sctp deny", NULL},
	{"gre", "rule any gre deny", "rule any gre deny", NULL},
	{"esp", "rule any esp deny", "rule any esp deny", NULL},
	{"proto with a name", "rule any proto 6 deny", "rule any tcp deny", NULL},
	{"proto 0", "rule any proto 0 deny", "rule any proto 0 deny", NULL},
	{"proto 255", "rule any proto 255 deny", "rule any proto 255 deny", NULL},
	{"sport", "rule any sport 53 deny", "rule any sport 53 deny", NULL},
	{"sport range", "rule any sport 0-65535 deny", "rule any sport 0-65535 deny", NULL},
	{"dport range of one", "rule any dport 80-80 deny", "rule any dport 80 deny", NULL},
	{"ports of proto 132", "rule any proto 132 dport 5 deny", "rule any sctp dport 5 deny",
	 NULL},
	{"src", "rule any src 10.0.0.0/8 deny", "rule any src 10.0.0.0/8 deny", NULL},
	{"dst", "rule 10.0.0.1 dst 192.0.2.1 deny", "rule 10.0.0.1 dst 192.0.2.1 deny", NULL},
	{"src inside the prefix", "rule 10.0.0.0/8 src 10.1.0.0/16 deny",
	 "rule 10.0.0.0/8 src 10.1.0.0/16 deny", NULL},
	{"src around the prefix", "rule 10.1.0.0/16 src 10.0.0.0/8 deny",
	 "rule 10.1.0.0/16 src 10.0.0.0/8 deny", NULL},
	{"src beside a destination prefix", "rule 10.0.0.0/8 src 192.0.2.1 deny",
	 "rule 10.0.0.0/8 src 192.0.2.1 deny", &egress},
	{"icmp6 on IPv6", "rule 2001:db8::/32 icmp6 deny", "rule 2001:db8::/32 icmp6 deny", NULL},
	{"icmp on IPv4", "rule 10.0.0.0/8 icmp deny", "rule 10.0.0.0/8 icmp deny", NULL},
	{"all matches, any order",
	 "rule any new-source fragment syn dst 10.0.0.2 src 10.0.0.1 dport 80 sport 1-2 tcp deny",
	 "rule any tcp sport 1-2 dport 80 src 10.0.0.1 dst 10.0.0.2 syn fragment new-source deny",
	 NULL},
	/* token-bucket */
	{"default burst", "rule any limit 1000/second", "rule any limit 1000/second burst 100",
	 NULL},
	{"default burst, floor", "rule any limit 99/second", "rule any limit 99/second burst 9",
	 NULL},
	{"default burst, least", "rule any limit 9/second", "rule any limit 9/second burst 1",
	 NULL},
	{"default burst, bits", "rule any limit 10mbit", "rule any limit 10mbit burst 1mbit", NULL},
	{"default burst, one MTU in bits", "rule any limit 1kbit",
	 "rule any limit 1kbit burst 12176bit", NULL},
	{"default burst, one MTU in bytes", "rule any limit 1byte/s",
	 "rule any limit 1byte/second burst 1522byte", NULL},
	{"default burst, jumbo", "rule any limit 1byte/s",
	 "rule any limit 1byte/second burst 9022byte", &jumbo},
	{"token-bucket by name", "rule any limit token-bucket 5/s burst 7",
	 "rule any limit 5/second burst 7", NULL},
	{"as users of nft write it", "rule any limit 1024 kbytes/second burst 512 kbytes",
	 "rule any limit 1000kibyte/second burst 500kibyte", NULL},
	{"nft packets", "rule any limit 10/second burst 5 packets per flow",
	 "rule any limit 10/second burst 5 per flow", NULL},
	{"period in two words", "rule any limit 10/5 minutes", "rule any limit 10/5m burst 1",
	 NULL},
	{"pps apart", "rule any limit 10 pps burst 5 per rule",
	 "rule any limit 10/second burst 5 per rule", NULL},
	{"burst in bytes of a rate in bits", "rule any limit 10mbit burst 64kibyte",
	 "rule any limit 10mbit burst 512kibit", NULL},
	{"burst in bits of a rate in bytes", "rule any limit 1mbyte/s burst 80kbit",
	 "rule any limit 1mbyte/second burst 10kbyte", NULL},
	{"burst that just holds a packet", "rule any limit 1mbyte/s burst 1514byte",
	 "rule any limit 1mbyte/second burst 1514byte", NULL},
	{"burst of one day", "rule any limit 1/s burst 86400",
	 "rule any limit 1/second burst 86400", NULL},
	{"one packet a day", "rule any limit 1/day", "rule any limit 1/day burst 1", NULL},
	{"fastest in packets", "rule any limit 100m/s burst 1",
	 "rule any limit 100000000/second burst 1", NULL},
	{"fastest in bits", "rule any limit 400gbit burst 1mbit",
	 "rule any limit 400gbit burst 1mbit", NULL},
	{"fastest in bytes", "rule any limit 50gbyte/s burst 1mbyte",
	 "rule any limit 50gbyte/second burst 1mbyte", NULL},
	{"most packets", "rule any limit fixed-window 281474976710656/100d",
	 "rule any limit fixed-window 281474976710656/100d", NULL},
	/* leaky-bucket */
	{"default queue", "rule any limit leaky-bucket 10/s",
	 "rule any limit leaky-bucket 10/second queue 1", NULL},
	{"default queue in bytes", "rule any limit leaky-bucket 10mbyte/s",
	 "rule any limit leaky-bucket 10mbyte/second queue 1522byte", NULL},
	{"queue as amount", "rule any limit leaky-bucket 10/s queue 20",
	 "rule any limit leaky-bucket 10/second queue 20", NULL},
	{"queue as duration", "rule any limit leaky-bucket 10mbit queue 20ms",
	 "rule any limit leaky-bucket 10mbit queue 200kbit", NULL},
	{"queue as duration, at least one packet", "rule any limit leaky-bucket 10/s queue 20 ms",
	 "rule any limit leaky-bucket 10/second queue 1", NULL},
	{"queue in minutes", "rule any limit leaky-bucket 10/s queue 5 minutes",
	 "rule any limit leaky-bucket 10/second queue 3000", NULL},
	/* windows, log, warm-up */
	{"fixed-window", "rule any limit fixed-window 100/10s",
	 "rule any limit fixed-window 100/10s", NULL},
	{"fixed-window of one packet", "rule any limit fixed-window 1514byte/s",
	 "rule any limit fixed-window 1514byte/second", NULL},
	{"sliding-window", "rule any limit sliding-window 100/min",
	 "rule any limit sliding-window 100/minute slots 10", NULL},
	{"slots 2", "rule any limit sliding-window 100/min slots 2",
	 "rule any limit sliding-window 100/minute slots 2", NULL},
	{"slots 16", "rule any limit sliding-window 1mbyte/min slots 16",
	 "rule any limit sliding-window 1mbyte/minute slots 16", NULL},
	{"sliding-log", "rule any limit sliding-log 1024/s",
	 "rule any limit sliding-log 1024/second", NULL},
	{"warm-up", "rule any limit warm-up 100/s ramp 30s",
	 "rule any limit warm-up 100/second ramp 30s cold 3", NULL},
	{"cold before ramp", "rule any limit warm-up 100/s cold 100 ramp 1 min",
	 "rule any limit warm-up 100/second ramp 1m cold 100", NULL},
	/* keys */
	{"per source is the default", "rule any limit 10/s per source",
	 "rule any limit 10/second burst 1", NULL},
	{"per source by destination", "rule any limit 10/s per source",
	 "rule any limit 10/second burst 1 per source", &egress},
	{"per dest", "rule any limit 10/s per dest", "rule any limit 10/second burst 1 per dest",
	 NULL},
	{"per dest by destination", "rule any limit 10/s per dest",
	 "rule any limit 10/second burst 1", &egress},
	{"default by destination", "rule any limit 10/s", "rule any limit 10/second burst 1",
	 &egress},
	{"per rule is the device's default", "rule device limit 10/s per rule",
	 "rule device limit 10/second burst 1", &egress},
	{"device per source", "rule device limit 10/s per source",
	 "rule device limit 10/second burst 1 per source", NULL},
	{"per source/24", "rule any limit 10/s per source/24",
	 "rule any limit 10/second burst 1 per source/24,64", NULL},
	{"per source/24,56", "rule any limit 10/s per source/24,56",
	 "rule any limit 10/second burst 1 per source/24,56", NULL},
	{"per source/32,64", "rule any limit 10/s per source/32,64",
	 "rule any limit 10/second burst 1", NULL},
	{"per dest/0,0", "rule any limit 10/s per dest/0,0",
	 "rule any limit 10/second burst 1 per dest/0,0", NULL},
	{"per source+dport", "rule any limit 10/s per source+dport",
	 "rule any limit 10/second burst 1 per source+dport", NULL},
	{"per source+dest", "rule any limit 10/s per source+dest",
	 "rule any limit 10/second burst 1 per source+dest", NULL},
	{"per flow", "rule any limit 10/s per flow", "rule any limit 10/second burst 1 per flow",
	 NULL},
	/* overs, fleet, for */
	{"over drop", "rule any limit 10/s over drop", "rule any limit 10/second burst 1", NULL},
	{"over ban", "rule any limit 10/s over ban 10 minutes",
	 "rule any limit 10/second burst 1 over ban 10m", NULL},
	{"over ban source", "rule any limit 10/s over ban 250ms source fleet",
	 "rule any limit 10/second burst 1 over ban 250ms source fleet", NULL},
	{"over count", "rule any limit 10/s over count",
	 "rule any limit 10/second burst 1 over count", NULL},
	{"over mark", "rule any limit 10/s over mark 4294967295",
	 "rule any limit 10/second burst 1 over mark 4294967295", &tc},
	{"over mark 0", "rule any limit 10/s over mark 0",
	 "rule any limit 10/second burst 1 over mark 0", &egress},
	{"all, any order", "rule any limit 10/s for 1d fleet over count per flow burst 3",
	 "rule any limit 10/second burst 3 per flow over count fleet for 1d", NULL},
};

/* Every refusal of the parser. */
static const struct refusal_row {
	const char *name, *line;
	uint32_t column;
	const char *text;
	const struct policy_context *ctx;
} refusals[] = {
	{"no statement", "limit any", 1, "\"limit\" is not a statement", NULL},
	{"no statement after blanks", "   ruler any", 4, "\"ruler\" is not a statement", NULL},
	{"no prefix", "rule", 5, "\"rule\" must be followed by a prefix", NULL},
	{"no prefix, trailing blanks", "rule  ", 7, "must be followed by a prefix", NULL},
	{"no prefix, comment", "rule # any", 6, "must be followed by a prefix", NULL},
	{"bad prefix", "rule all allow", 6, "\"all\" is not a prefix: write any, device", NULL},
	{"overlong prefix",
	 "rule "
	 "1.2.3.4/000000000000000000000000000000000000000000000000000000000000000000000000000008",
	 6, "...\" is not a prefix", NULL},
	{"host bits", "rule 10.0.0.1/8 deny", 6, "write 10.0.0.0/8", NULL},
	{"mapped", "rule ::ffff:1.2.3.4 deny", 6, "is IPv4 inside IPv6: write 1.2.3.4", NULL},
	{"all IPv6", "rule ::/0 deny", 6, "2000::/3 for all global IPv6", NULL},
	{"all IPv6 as match", "rule any src ::/0 deny", 14, "would hold IPv4 as well", NULL},
	{"prefix length", "rule 10.0.0.0/33 deny", 6, "/0 to /32", NULL},
	{"no action", "rule any", 9, "\"any\" must be followed by a match", NULL},
	{"no action after match", "rule any tcp", 13, "\"tcp\" must be followed by a match", NULL},
	{"unknown action", "rule any drop", 10, "\"drop\" is not a match (tcp", NULL},
	{"case of words", "rule any DENY", 10, "\"DENY\" is not a match", NULL},
	{"control characters", "rule any \033[2J\"\\\177", 10, "\"\\x1b[2J\\x22\\x5c\\x7f\" is",
	 NULL},
	{"not ASCII", "rule any \303\251", 10, "\"\\xc3\\xa9\" is not", NULL},
	{"newline inside", "rule any\nrule any deny", 6, "\"any\\x0arule\" is not a prefix", NULL},
	{"long words are cut", "rule any aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", 10,
	 "\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa...\" is not", NULL},
	/* matches */
	{"no protocol", "rule any proto", 15, "must be followed by a number from 0 to 255", NULL},
	{"bad protocol", "rule any proto ipip deny", 16, "\"ipip\" is not a number from 0 to 255",
	 NULL},
	{"proto before a name", "rule any proto udp deny", 16, "\"udp\" is not a number", NULL},
	{"protocol too large", "rule any proto 256 deny", 16, "write 0 to 255", NULL},
	{"protocol twice", "rule any tcp udp deny", 14, "\"udp\" repeats", NULL},
	{"protocol twice, by number", "rule any tcp proto 6 deny", 14, "\"proto\" repeats", NULL},
	{"match twice", "rule any syn syn deny", 14, "\"syn\" repeats", NULL},
	{"no port", "rule any dport", 15, "must be followed by a port", NULL},
	{"bad port", "rule any dport 80abc deny", 16, "\"80abc\" is not a port", NULL},
	{"port list", "rule any dport 80,81 deny", 16, "\"80,81\" is not a port", NULL},
	{"half a range", "rule any dport 80- deny", 16, "\"80-\" is not a port", NULL},
	{"port too large", "rule any sport 65536 deny", 16, "ports are 0 to 65535", NULL},
	{"last port too large", "rule any sport 1-65536 deny", 16, "ports are 0 to 65535", NULL},
	{"first port too large", "rule any sport 65536-2 deny", 16, "ports are 0 to 65535", NULL},
	{"range downwards", "rule any sport 90-80 deny", 16, "write 80-90", NULL},
	{"no address", "rule any src", 13, "must be followed by an address", NULL},
	{"bad address", "rule any dst any deny", 14, "\"any\" is not an address", NULL},
	{"dport with icmp", "rule any icmp dport 80 deny", 15, "\"dport\" makes no sense", NULL},
	{"sport before gre", "rule any sport 80 gre deny", 10, "protocol 47 has no ports", NULL},
	{"sport with proto 99", "rule any proto 99 sport 1 deny", 19, "protocol 99 has no", NULL},
	{"syn with udp", "rule any udp syn deny", 14, "\"syn\" is a flag of tcp", NULL},
	{"IPv6 src of IPv4 prefix", "rule 10.0.0.0/8 src 2001:db8::1 deny", 21,
	 "\"2001:db8::1\" is IPv6 but", NULL},
	{"IPv4 dst of IPv6 prefix", "rule 2001:db8::/32 dst 10.0.0.1 deny", 24, "is IPv4 but",
	 NULL},
	{"IPv6 dst by destination", "rule 10.0.0.0/8 dst 2001:db8::1 deny", 21, "is IPv6 but",
	 &egress},
	{"src and dst of two families", "rule any src 10.0.0.1 dst 2001:db8::1 deny", 27,
	 "write both in one family", NULL},
	{"icmp of IPv6", "rule 2001:db8::/32 icmp deny", 20, "\"icmp\" never goes with an IPv6",
	 NULL},
	{"icmp6 of IPv4", "rule 10.0.0.0/8 icmp6 deny", 17, "write icmp", NULL},
	{"icmp6 of IPv4 dst", "rule any icmp6 dst 10.0.0.1 deny", 10, "never goes with", NULL},
	{"src outside the prefix", "rule 10.0.0.0/8 src 11.0.0.1 deny", 21,
	 "the prefix is the source address", NULL},
	{"dst outside the prefix", "rule 10.0.0.0/8 dst 11.0.0.1 deny", 21,
	 "the prefix is the destination address", &egress},
	/* actions */
	{"device allow", "rule device allow", 13, "write \"rule any allow\"", NULL},
	{"device deny", "rule device deny", 13, "write \"rule any deny\"", NULL},
	{"limit word behind deny", "rule any deny burst 5", 15,
	 "\"burst\" cannot stand behind deny", NULL},
	{"match behind allow", "rule any allow tcp", 16, "matches stand before it", NULL},
	{"match behind limit", "rule any limit 10/s tcp", 21, "\"tcp\" is not a word of a limit",
	 NULL},
	{"option twice", "rule any limit 10/s burst 5 burst 6", 29, "\"burst\" repeats", NULL},
	{"for twice", "rule any deny for 1s for 1s", 22, "\"for\" repeats", NULL},
	{"burst of a window", "rule any limit fixed-window 10/s burst 5", 34,
	 "does not go with fixed-window: leave it out or write limit token-bucket", NULL},
	{"queue of a token bucket", "rule any limit 10/s queue 5", 21, "limit leaky-bucket", NULL},
	{"slots of a log", "rule any limit sliding-log 10/s slots 5", 33, "sliding-window", NULL},
	{"ramp of a token bucket", "rule any limit 10/s ramp 5s", 21, "limit warm-up", NULL},
	{"cold of a token bucket", "rule any limit 10/s cold 5", 21, "limit warm-up", NULL},
	/* rates */
	{"no rate", "rule any limit", 15, "\"limit\" must be followed by a rate", NULL},
	{"no rate behind an algorithm", "rule any limit warm-up", 23, "\"warm-up\" must be", NULL},
	{"bad rate behind an algorithm", "rule any limit warm-up fast", 24,
	 "\"fast\" is not a rate", NULL},
	{"bad algorithm", "rule any limit bucket 10/s", 16, "\"bucket\" is not an algorithm or",
	 NULL},
	{"bad rate", "rule any limit 10/fortnight", 16, "\"10/fortnight\" is not a rate", NULL},
	{"no period", "rule any limit 1000 burst 5", 16, "write 1000/second", NULL},
	{"no period, unit apart", "rule any limit 10 kbytes", 16, "write 10kbytes/second", NULL},
	{"digits are never joined", "rule any limit 10 00/s", 16, "\"10\" has no period", NULL},
	{"bps", "rule any limit 10bps", 16, "write 10bit/second or 10byte/second", NULL},
	{"mbps apart", "rule any limit 10 mbps", 16, "write 10mbit/second or 10mbyte/second", NULL},
	{"bps with a period", "rule any limit 10Mbps/s", 16, "10Mbit/second", NULL},
	{"zero rate", "rule any limit 0/s", 16, "\"0/s\" is out of range", NULL},
	{"rate overflows", "rule any limit 99999999999999999999/s", 16, "is out of range: a rate",
	 NULL},
	{"too many packets", "rule any limit 281474976710657/100d", 16, "at most 2^48", NULL},
	{"too fast in packets", "rule any limit 100000001/s", 16, "write at most 100m/second",
	 NULL},
	{"too fast in bits", "rule any limit 400000001kbit", 16, "write at most 400gbit", NULL},
	{"too fast in bytes", "rule any limit 50000000001byte/s", 16, "write at most 400gbit",
	 NULL},
	{"too slow", "rule any limit 1/25h", 16, "write at least 1/day", NULL},
	{"too slow for one packet", "rule any limit 1byte/60d", 16, "more than 9 years", NULL},
	{"burst takes too long", "rule any limit 1byte/60d burst 1515byte", 32, "more than 9 years",
	 NULL},
	/* sizes */
	{"no burst", "rule any limit 10/s burst", 26, "\"burst\" must be followed by an amount",
	 NULL},
	{"bad burst", "rule any limit 10/s burst many", 27, "\"many\" is not an amount", NULL},
	{"burst in bps", "rule any limit 10mbit burst 10kbps", 29, "write 10kbit or 10kbyte", NULL},
	{"burst overflows", "rule any limit 10/s burst 99999999999999999999", 27, "less than 2^64",
	 NULL},
	{"zero burst", "rule any limit 10/s burst 0", 27, "write at least 1", NULL},
	{"burst below the MTU", "rule any limit 1mbyte/s burst 1513byte", 31,
	 "\"1513byte\" holds no full packet of this device: write at least 1514byte", NULL},
	{"burst below a jumbo MTU", "rule any limit 10mbit burst 64kbit", 29,
	 "write at least 72112bit", &jumbo},
	{"burst in two words", "rule any limit 1mbyte/s burst 1 kbyte", 31,
	 "\"1 kbyte\" holds no full packet", NULL},
	{"burst of packets, rate of bits", "rule any limit 10mbit burst 200", 29,
	 "counts packets but the rate counts bytes", NULL},
	{"burst of bytes, rate of packets", "rule any limit 10/s burst 64kibyte", 27,
	 "counts bytes but the rate counts packets", NULL},
	{"burst of more than a day", "rule any limit 1/s burst 86401", 26, "at most 86400", NULL},
	{"burst in bytes overflows bits", "rule any limit 1mbit burst 18446744073709551615byte", 28,
	 "more than a day", NULL},
	{"bad queue", "rule any limit leaky-bucket 10/s queue long", 40,
	 "\"long\" is not an amount or a duration", NULL},
	{"ambiguous queue", "rule any limit leaky-bucket 10/s queue 5m", 40,
	 "write 5min or 5mpackets", NULL},
	{"zero queue", "rule any limit leaky-bucket 10/s queue 0s", 40, "duration from 1ns", NULL},
	{"queue below the MTU", "rule any limit leaky-bucket 1mbit queue 1ms", 41,
	 "write at least 12112bit", NULL},
	{"queue of more than a day", "rule any limit leaky-bucket 1mbit queue 2d", 41,
	 "more than a day", NULL},
	{"fixed-window below the MTU", "rule any limit fixed-window 1kbyte/s", 29,
	 "a window of at least 1514byte", NULL},
	{"sliding-window below the MTU", "rule any limit sliding-window 12111bit/s", 31,
	 "a window of at least 12112bit", NULL},
	{"too many slots", "rule any limit sliding-window 10/s slots 17", 42, "write 2 to 16",
	 NULL},
	{"too few slots", "rule any limit sliding-window 10/s slots 1", 42, "write 2 to 16", NULL},
	{"bad slots", "rule any limit sliding-window 10/s slots x", 42, "number from 2 to 16",
	 NULL},
	{"slots below a nanosecond", "rule any limit sliding-window 1mbyte/5ns", 31, "too fast",
	 NULL},
	{"period below the slots", "rule any limit sliding-window 1/15ns slots 16", 31,
	 "write 16ns or more", NULL},
	{"log of bytes", "rule any limit sliding-log 10mbit", 28, "counts packets only", NULL},
	{"log too long", "rule any limit sliding-log 1025/s", 28, "at most 1024", NULL},
	{"warm-up of bytes", "rule any limit warm-up 10mbit ramp 1s", 24, "counts packets only",
	 NULL},
	{"warm-up without ramp", "rule any limit warm-up 10/s", 28,
	 "\"10/s\" must be followed by a ramp", NULL},
	{"bad ramp", "rule any limit warm-up 10/s ramp 5", 34, "\"5\" is not a duration", NULL},
	{"cold 1", "rule any limit warm-up 10/s ramp 5s cold 1", 42, "write 2 to 100", NULL},
	{"cold 101", "rule any limit warm-up 10/s ramp 5s cold 101", 42, "write 2 to 100", NULL},
	/* keys, overs, for */
	{"no key", "rule any limit 10/s per", 24, "\"per\" must be followed by a key", NULL},
	{"bad key", "rule any limit 10/s per packet", 25, "\"packet\" is not a key", NULL},
	{"length of a flow", "rule any limit 10/s per flow/24", 25, "takes no length: write flow",
	 NULL},
	{"length too large", "rule any limit 10/s per source/33", 25, "has wrong lengths", NULL},
	{"IPv6 length too large", "rule any limit 10/s per dest/24,129", 25, "wrong lengths", NULL},
	{"empty length", "rule any limit 10/s per source/", 25, "\"source/\" has wrong lengths",
	 NULL},
	{"empty IPv6 length", "rule any limit 10/s per source/24,", 25, "has wrong lengths", NULL},
	{"no consequence", "rule any limit 10/s over", 25, "followed by a consequence", NULL},
	{"bad consequence", "rule any limit 10/s over kill", 26, "\"kill\" is not a consequence",
	 NULL},
	{"ban without duration", "rule any limit 10/s over ban source", 30, "not a duration", NULL},
	{"ban without anything", "rule any limit 10/s over ban", 29, "followed by a duration",
	 NULL},
	{"mark at xdp", "rule any limit 10/s over mark 1", 26, "\"mark\" needs the hook", NULL},
	{"mark too large", "rule any limit 10/s over mark 4294967296", 31, "write 0 to 4294967295",
	 &tc},
	{"mark without number", "rule any limit 10/s over mark", 30, "a number from 0", &tc},
	{"for without duration", "rule any deny for", 18, "\"for\" must be followed by a dur",
	 NULL},
	{"for ever", "rule any deny for 60000 days", 19, "\"60000 days\" is out of range", NULL},
	{"for zero", "rule any deny for 0s", 19, "a duration is from 1ns", NULL},
};

static void assert_same_rule(const struct rule *a, const struct rule *b)
{
	uint64_t most = DURATION_MAX_NS / NS_PER_SECOND;
	uint64_t left = a->for_ns / NS_PER_SECOND + !!(a->for_ns % NS_PER_SECOND);

	assert_int_equal(a->kind, b->kind);
	assert_int_equal(a->action, b->action);
	assert_int_equal(a->len, b->len);
	assert_memory_equal(a->addr, b->addr, sizeof(a->addr));
	assert_memory_equal(&a->match, &b->match, sizeof(a->match));
	assert_memory_equal(&a->limit, &b->limit, sizeof(a->limit));
	assert_true((left < most ? left : most) * NS_PER_SECOND == b->for_ns);
	assert_int_equal(rule_compare(a, b), 0);
}

static struct rule must_parse(const char *line, const struct policy_context *ctx)
{
	struct policy_error err = {0};
	struct rule rule;
	bool found = false;

	if (statement_parse(line, ctx, &rule, &found, &err))
		fail_msg("%s\n%u: %s", line, err.column, err.text);
	assert_true(found);
	return rule;
}

/* Parses, prints, parses again and prints again; `printed` gets the text. */
static void round_trip(const char *line, const struct policy_context *ctx,
		       char printed[RULE_TEXT_MAX])
{
	struct rule first = must_parse(line, ctx), second;
	char again[RULE_TEXT_MAX];
	int len = rule_print(printed, RULE_TEXT_MAX, &first, ctx);

	assert_int_equal(len, strlen(printed));
	second = must_parse(printed, ctx);
	assert_same_rule(&first, &second);
	rule_print(again, sizeof(again), &second, ctx);
	assert_string_equal(printed, again);
}

static void print_test(void **state)
{
	const struct print_row *row = *state;
	char printed[RULE_TEXT_MAX];

	round_trip(row->line, row->ctx ? row->ctx : &xdp, printed);
	assert_string_equal(printed, row->printed);
}

static void refusal_test(void **state)
{
	const struct refusal_row *row = *state;
	struct policy_error err = {.line = 77};
	struct rule rule, untouched;
	bool found = true;

	memset(&rule, 0xa5, sizeof(rule));
	untouched = rule;
	assert_int_equal(
		statement_parse(row->line, row->ctx ? row->ctx : &xdp, &rule, &found, &err),
		-EINVAL);
	if (!strstr(err.text, row->text))
		fail_msg("said: %s", err.text);
	assert_int_equal(err.column, row->column);
	assert_int_equal(err.line, 77);
	assert_memory_equal(&rule, &untouched, sizeof(rule));
	for (const char *c = err.text; *c; c++)
		assert_in_range(*c, ' ', '~');
}

static void empty_test(void **state)
{
	static const char *const lines[] = {"", "\n", "\r\n", " \t ", "# rule", "  # rule any"};
	struct policy_error err;
	struct rule rule;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		bool found = true;

		assert_int_equal(statement_parse(lines[i], &xdp, &rule, &found, &err), 0);
		assert_false(found);
	}
}

static void long_line_test(void **state)
{
	char line[4096 + 2] = "rule any deny #";
	struct policy_error err;
	struct rule rule;
	bool found;

	(void)state;
	memset(line + 15, 'x', sizeof(line) - 15);
	line[4096] = '\0';
	assert_int_equal(statement_parse(line, &xdp, &rule, &found, &err), 0);
	line[4096] = 'x';
	line[4097] = '\0';
	assert_int_equal(statement_parse(line, &xdp, &rule, &found, &err), -EINVAL);
	assert_int_equal(err.column, 4097);
	assert_non_null(strstr(err.text, "longer than 4096 bytes"));
}

/* The joined word is short, however far apart its two halves stand. */
static void far_apart_test(void **state)
{
	char line[4096];
	struct rule rule;

	(void)state;
	snprintf(line, sizeof(line), "rule any limit 10%3000skbytes/second burst 9%900skbytes", "",
		 "");
	rule = must_parse(line, &xdp);
	assert_int_equal(rule.limit.amount, 10000);
	assert_int_equal(rule.limit.size, 9000);
	assert_int_equal(rule.limit.unit, RL_BYTES);
}

static void defaults_test(void **state)
{
	struct rule rule = must_parse("rule 10.0.0.0/8 limit 1000/second", &xdp);

	(void)state;
	assert_int_equal(rule.kind, PREFIX_ADDR);
	assert_int_equal(rule.len, 104);
	assert_int_equal(rule.action, RL_ACTION_LIMIT);
	assert_int_equal(rule.limit.algorithm, RL_TOKEN_BUCKET);
	assert_int_equal(rule.limit.amount, 1000);
	assert_int_equal(rule.limit.period_ns, NS_PER_SECOND);
	assert_int_equal(rule.limit.size, 100);
	assert_int_equal(rule.limit.key, RL_KEY_SOURCE);
	assert_int_equal(rule.limit.over, RL_OVER_DROP);
	assert_int_equal(rule.line, 0);
	assert_int_equal(rule.for_ns, 0);
}

static void key_test(void **state)
{
	static const struct {
		const char *line;
		uint8_t key, len4, len6;
		const struct policy_context *ctx;
	} rows[] = {
		{"rule any limit 1/s", RL_KEY_SOURCE, 32, 64, &xdp},
		{"rule any limit 1/s", RL_KEY_DEST, 32, 64, &egress},
		{"rule device limit 1/s", RL_KEY_RULE, 0, 0, &egress},
		{"rule any limit 1/s per source/24", RL_KEY_SOURCE, 24, 64, &xdp},
		{"rule any limit 1/s per dest/24,56", RL_KEY_DEST, 24, 56, &xdp},
		{"rule any limit 1/s per source+dport", RL_KEY_SOURCE_DPORT, 32, 64, &xdp},
		{"rule any limit 1/s per source+dest", RL_KEY_SOURCE_DEST, 32, 128, &xdp},
		{"rule any limit 1/s per flow", RL_KEY_FLOW, 32, 128, &xdp},
		{"rule any limit 1/s per rule", RL_KEY_RULE, 0, 0, &xdp},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct rule rule = must_parse(rows[i].line, rows[i].ctx);

		assert_int_equal(rule.limit.key, rows[i].key);
		assert_int_equal(rule.limit.key_len4, rows[i].len4);
		assert_int_equal(rule.limit.key_len6, rows[i].len6);
	}
}

/* ---- whole texts ---- */

static unsigned int replaced_count;
static uint32_t replaced_lines[8][2];

static void replaced_note(const struct rule *earlier, const struct rule *later)
{
	replaced_lines[replaced_count][0] = earlier->line;
	replaced_lines[replaced_count++][1] = later->line;
}

static void text_test(void **state)
{
	static const char text[] = "# a policy\r\n"
				   "rule any limit 10/s\r\n"
				   "\r\n"
				   "rule 10.0.0.0/8 deny\r\n"
				   "rule device limit 1gbit\n"
				   "rule any limit 20/s burst 7\n"
				   "rule 10.0.0.0/8 allow\n"
				   "rule any limit 1mbit\n"
				   "rule any limit 30/s";
	static const struct {
		uint32_t line;
		uint8_t kind, action;
	} expected[] = {
		{5, PREFIX_DEVICE, RL_ACTION_LIMIT},
		{9, PREFIX_ANY, RL_ACTION_LIMIT},
		{8, PREFIX_ANY, RL_ACTION_LIMIT},
		{7, PREFIX_ADDR, RL_ACTION_ALLOW},
	};
	struct policy policy = {0};
	struct policy_error err;

	(void)state;
	replaced_count = 0;
	assert_int_equal(policy_parse(text, strlen(text), &xdp, replaced_note, &policy, &err), 0);
	assert_int_equal(policy.count, ARRAY_SIZE(expected));
	for (size_t i = 0; i < ARRAY_SIZE(expected); i++) {
		assert_int_equal(policy.rules[i].line, expected[i].line);
		assert_int_equal(policy.rules[i].kind, expected[i].kind);
		assert_int_equal(policy.rules[i].action, expected[i].action);
	}
	assert_int_equal(replaced_count, 3);
	assert_int_equal(replaced_lines[0][0], 2);
	assert_int_equal(replaced_lines[0][1], 6);
	assert_int_equal(replaced_lines[1][0], 6);
	assert_int_equal(replaced_lines[1][1], 9);
	assert_int_equal(replaced_lines[2][0], 4);
	assert_int_equal(replaced_lines[2][1], 7);
	policy_clear(&policy);
	assert_null(policy.rules);
}

static void text_refused_test(void **state)
{
	static const struct {
		const char *text;
		size_t size;
		uint32_t line, column;
		const char *said;
	} rows[] = {
		{"rule any deny\n\nrule any\n", 24, 3, 9, "must be followed by"},
		{"rule any deny\r\nrule any\r\n", 25, 2, 9, "must be followed by"},
		{"rule any deny\nrule \0any deny\n", 29, 2, 6, "NUL"},
		{"rule any deny\n#\0\n", 17, 2, 2, "NUL"},
		{"rule any\rdeny\n", 14, 1, 6, "\\x0d"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct policy policy = {0};
		struct policy_error err = {0};

		assert_int_equal(
			policy_parse(rows[i].text, rows[i].size, &xdp, NULL, &policy, &err),
			-EINVAL);
		assert_null(policy.rules);
		assert_int_equal(err.line, rows[i].line);
		assert_int_equal(err.column, rows[i].column);
		assert_non_null(strstr(err.text, rows[i].said));
	}
}

static void text_empty_test(void **state)
{
	struct policy policy = {0};
	struct policy_error err;

	(void)state;
	assert_int_equal(policy_parse(NULL, 0, &xdp, NULL, &policy, &err), 0);
	assert_int_equal(policy.count, 0);
	policy_clear(&policy);
}

/* A line per rule, at random places and with every tenth twice. */
static void million_test(void **state)
{
	const uint32_t lines = 1000000;
	char *text = malloc((size_t)lines * 64);
	struct policy policy = {0};
	struct policy_error err = {0};
	size_t size = 0;

	(void)state;
	assert_non_null(text);
	for (uint32_t i = 0; i < lines; i++) {
		uint32_t n = (i % 10 ? i : i / 2) * 2654435761u;

		size += sprintf(text + size, "rule %u.%u.%u.%u limit %u/second burst 20\n", n >> 24,
				n >> 16 & 255, n >> 8 & 255, n & 255, i + 1);
	}
	if (policy_parse(text, size, &xdp, NULL, &policy, &err))
		fail_msg("%u:%u: %s", err.line, err.column, err.text);
	assert_in_range(policy.count, lines / 2, lines);
	for (size_t i = 1; i < policy.count; i++)
		assert_true(rule_compare(&policy.rules[i - 1], &policy.rules[i]) < 0);
	policy_clear(&policy);
	free(text);
}

/* ---- the model ---- */

static void identity_test(void **state)
{
	static const struct {
		const char *a, *b;
		bool same;
	} rows[] = {
		{"rule any allow", "rule any deny", true},
		{"rule any allow", "rule any allow for 1h", true},
		{"rule any allow", "rule any limit 1/s", false},
		{"rule any allow", "rule any tcp allow", false},
		{"rule any tcp dport 1 deny", "rule any tcp dport 2 deny", false},
		{"rule any src 10.0.0.1 deny", "rule any src 10.0.0.2 deny", false},
		{"rule any dst 10.0.0.1 deny", "rule any dst 10.0.0.2 deny", false},
		{"rule any deny", "rule 0.0.0.0/0 deny", false},
		{"rule 10.0.0.0/8 deny", "rule 10.0.0.0/9 deny", false},
		{"rule any limit 1/s", "rule any limit fixed-window 2/s over count", true},
		{"rule any limit 1/s", "rule any limit 1mbit", false},
		{"rule any limit 1mbyte/s", "rule any limit 1mbit", true},
		{"rule any limit 1/s", "rule any limit 1/s per flow", false},
		{"rule any limit 1/s", "rule any limit 1/s per source/24", false},
		{"rule any limit 1/s", "rule any limit 1/s per source/32,48", false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct rule a = must_parse(rows[i].a, &xdp), b = must_parse(rows[i].b, &xdp);

		assert_int_equal(!rule_compare(&a, &b), rows[i].same);
		assert_int_equal(rule_compare(&a, &b) < 0, rule_compare(&b, &a) > 0);
	}
}

/* Each line is before the next. */
static void order_test(void **state)
{
	static const char *const lines[] = {
		"rule device tcp deny",
		"rule device limit 1/s",
		"rule any deny",
		"rule any tcp allow",
		"rule any tcp dport 22 deny",
		"rule any tcp dport 80 allow",
		"rule any tcp dport 256 deny",
		"rule any limit 1/s",
		"rule any limit 1mbit",
		"rule any limit 1/s per flow",
		"rule any tcp limit 1/s",
		"rule 0.0.0.0/0 deny",
		"rule 10.0.0.0/8 deny",
		"rule 10.0.0.0/9 deny",
		"rule 10.0.0.0 limit 1/s",
		"rule 10.0.0.1 deny",
		"rule 2001:db8::/32 deny",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
		for (size_t j = 0; j < ARRAY_SIZE(lines); j++) {
			struct rule a = must_parse(lines[i], &xdp), b = must_parse(lines[j], &xdp);
			int order = rule_compare(&a, &b);

			assert_int_equal((order > 0) - (order < 0), (i > j) - (i < j));
		}
}

static void put(struct policy *policy, const char *line)
{
	struct rule rule = must_parse(line, &xdp);

	assert_int_equal(policy_put(policy, &rule), 0);
}

static size_t remove_selected(struct policy *policy, const char *words)
{
	struct policy_error err;
	struct rule selector;

	assert_int_equal(selector_parse(words, &xdp, &selector, &err), 0);
	return policy_remove(policy, &selector);
}

static void put_find_test(void **state)
{
	struct policy policy = {0};
	struct rule wanted = must_parse("rule any limit 9/s", &xdp);
	char line[64];

	(void)state;
	assert_null(policy_find(&policy, &wanted));
	for (unsigned int i = 0; i < 1000; i++) {
		snprintf(line, sizeof(line), "rule 10.0.%u.%u deny", i * 7 % 10, i * 37 % 100);
		put(&policy, line);
	}
	put(&policy, "rule any limit 5/s");
	put(&policy, "rule any limit 6/s");
	for (size_t i = 1; i < policy.count; i++)
		assert_true(rule_compare(&policy.rules[i - 1], &policy.rules[i]) < 0);
	assert_non_null(policy_find(&policy, &wanted));
	assert_int_equal(policy_find(&policy, &wanted)->limit.amount, 6);
	wanted = must_parse("rule any limit 9/s per flow", &xdp);
	assert_null(policy_find(&policy, &wanted));
	policy_clear(&policy);
}

static void remove_test(void **state)
{
	static const struct {
		const char *words;
		size_t removed;
	} rows[] = {
		{"10.0.0.2", 0},
		{"any tcp", 0},
		{"any udp", 1},
		{"any deny", 0},
		{"any allow", 1},
		{"any limit 99/s", 1},
		{"any limit 99/s", 0},
		{"any limit 99gbit over count", 1},
		{"any", 2},
		{"10.0.0.1", 2},
		{"device", 1},
	};
	struct policy policy = {0};

	(void)state;
	put(&policy, "rule any allow");
	put(&policy, "rule any udp deny");
	put(&policy, "rule any limit 1/s");
	put(&policy, "rule any limit 1/s per flow");
	put(&policy, "rule any limit 1/s per rule");
	put(&policy, "rule any limit 1mbit");
	put(&policy, "rule 10.0.0.1 deny");
	put(&policy, "rule 10.0.0.1 limit 1/s");
	put(&policy, "rule device limit 1/s");
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_int_equal(remove_selected(&policy, rows[i].words), rows[i].removed);
	assert_int_equal(policy.count, 0);
	policy_clear(&policy);
}

static void selector_test(void **state)
{
	static const struct {
		const char *words;
		uint32_t column;
		const char *said;
	} rows[] = {
		{"", 1, "there must be a prefix"},
		{" # any", 2, "there must be a prefix"},
		{"rule any", 1, "\"rule\" is not a prefix"},
		{"any for 1h", 5, "\"for\" is not a match"},
		{"any limit", 10, "must be followed by a rate"},
	};
	struct policy_error err;
	struct rule rule;
	char text[RULE_TEXT_MAX];

	(void)state;
	assert_int_equal(selector_parse("10.0.0.0/8 tcp", &xdp, &rule, &err), 0);
	assert_int_equal(rule.action, RL_ACTION_COUNT);
	rule_print(text, sizeof(text), &rule, &xdp);
	assert_string_equal(text, "rule 10.0.0.0/8 tcp");
	assert_int_equal(selector_parse("any deny for 1h", &xdp, &rule, &err), 0);
	assert_int_equal(rule.action, RL_ACTION_DENY);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_int_equal(selector_parse(rows[i].words, &xdp, &rule, &err), -EINVAL);
		assert_non_null(strstr(err.text, rows[i].said));
		assert_int_equal(err.column, rows[i].column);
	}
}

static void short_buffer_test(void **state)
{
	struct rule rule = must_parse("rule any limit 10/s per flow", &xdp);
	char text[8] = "xxxxxxx";

	(void)state;
	assert_int_equal(rule_print(text, sizeof(text), &rule, &xdp), 41);
	assert_string_equal(text, "rule an");
	assert_int_equal(rule_print(NULL, 0, &rule, &xdp), 41);
}

/* ---- random rules from the grammar ---- */

static uint64_t random_state;

/* xorshift64* (Vigna 2016): the same rules on every run. */
static uint64_t random_below(uint64_t bound)
{
	random_state ^= random_state >> 12;
	random_state ^= random_state << 25;
	random_state ^= random_state >> 27;
	return (random_state * 2685821657736338717ull >> 16) % bound;
}

#define PICK(words) ((words)[random_below(ARRAY_SIZE(words))])

__attribute__((format(printf, 2, 3))) static void say(char *line, const char *format, ...)
{
	size_t used = strlen(line);
	va_list args;

	va_start(args, format);
	vsnprintf(line + used, RULE_TEXT_MAX - used, format, args);
	va_end(args);
}

static void say_address(char *line, bool ipv4)
{
	unsigned int len = random_below(ipv4 ? 33 : 113);
	char text[PREFIX_TEXT_MAX];
	uint8_t addr[16] = {0};

	if (ipv4)
		addr[10] = addr[11] = 0xff;
	else
		addr[0] = 0x20;
	len = ipv4 ? len + 96 : len + 16;
	for (unsigned int bit = ipv4 ? 96 : 8; bit < len; bit++)
		addr[bit / 8] |= random_below(2) << (7 - bit % 8);
	prefix_print(text, sizeof(text), addr, len);
	say(line, " %s", text);
}

static void say_matches(char *line, bool ipv4, const struct policy_context *ctx)
{
	static const char *const with_ports[] = {"", " tcp", " udp", " sctp", " proto 17"};
	static const char *const others[] = {" gre", " esp", " proto 0", " proto 89", " proto 255"};
	const char *protocol = random_below(4) ? PICK(with_ports) : PICK(others);
	bool ports = protocol[0] == '\0' || !strcmp(protocol, " tcp") ||
		     !strcmp(protocol, " udp") || !strcmp(protocol, " sctp");
	uint64_t port = random_below(65536);

	if (ports && !random_below(3))
		say(line, " sport %" PRIu64 "-%" PRIu64, port, port + random_below(65536 - port));
	say(line, "%s", protocol);
	if (ports && !random_below(3))
		say(line, " dport %" PRIu64, port);
	if (!random_below(4)) {
		say(line, ctx->by_dest ? " src" : " dst");
		say_address(line, ipv4);
	}
	if ((!protocol[0] || !strcmp(protocol, " tcp")) && !random_below(3))
		say(line, " syn");
	if (!random_below(5))
		say(line, " fragment");
	if (!random_below(5))
		say(line, " new-source");
}

static void say_packet_rate(char *line, uint64_t most)
{
	static const char *const periods[] = {"second", "s",     "min", "10s",  "5 minutes",
					      "ms",     "100ms", "h",   "1day", "20us"};
	const char *period = PICK(periods);

	say(line, " %" PRIu64 "/%s", 1 + random_below(most), period);
}

static void say_byte_rate(char *line)
{
	static const char *const units[] = {"kbit",         " mbit",     "kbyte/s",
					    "kibit/second", " mibyte/s", "mbits/minute",
					    "kbytes/10ms",  "mbyte/hour"};

	say(line, " %" PRIu64 "%s", 1 + random_below(1000), PICK(units));
}

static void say_algorithm(char *line)
{
	static const char *const byte_sizes[] = {"kbyte", "kibyte", " kibit", "00 bytes", "00bits"};

	switch (random_below(9)) {
	case 0:
		say(line, " token-bucket");
		say_packet_rate(line, 1000);
		return;
	case 1:
		say(line, " %" PRIu64 "/second burst %" PRIu64, 1000 + random_below(1000),
		    1 + random_below(100000));
		return;
	case 2:
		say_byte_rate(line);
		say(line, " burst %" PRIu64 "%s", 122 + random_below(900), PICK(byte_sizes));
		return;
	case 3:
		say(line, " leaky-bucket %" PRIu64 "mbit queue %" PRIu64 "ms",
		    1 + random_below(1000), 13 + random_below(1000));
		return;
	case 4:
		say(line, " leaky-bucket");
		say_packet_rate(line, 1000);
		return;
	case 5:
		say(line, " fixed-window %" PRIu64 "kibyte/10s", 2 + random_below(9999));
		return;
	case 6:
		say(line, " sliding-window");
		say_packet_rate(line, 2000);
		say(line, " slots %" PRIu64, 2 + random_below(15));
		return;
	case 7:
		say(line, " sliding-log");
		say_packet_rate(line, 1024);
		return;
	default:
		say(line, " warm-up");
		say_packet_rate(line, 1000);
		say(line, " ramp %" PRIu64 "ms cold %" PRIu64, 1 + random_below(99999),
		    2 + random_below(99));
	}
}

static void say_consequences(char *line, const struct policy_context *ctx)
{
	static const char *const keys[] = {
		"",          " per source",      " per dest", " per source+dport",
		" per flow", " per source+dest", " per rule"};
	static const char *const overs[] = {"", " over drop", " over count", " over ban 90s",
					    " over ban 10 minutes source"};

	if (random_below(3))
		say(line, "%s", PICK(keys));
	else
		say(line, " per %s/%" PRIu64 ",%" PRIu64, random_below(2) ? "source" : "dest",
		    random_below(33), random_below(129));
	if (ctx->tc && !random_below(3))
		say(line, " over mark %" PRIu64, random_below(1ull << 32));
	else
		say(line, "%s", PICK(overs));
	if (!random_below(4))
		say(line, " fleet");
}

static void say_rule(char *line, const struct policy_context *ctx)
{
	bool ipv4 = random_below(2);
	unsigned int action = random_below(4);
	bool device = action > 1 && !random_below(5);

	strcpy(line, device ? "rule device" : "rule");
	if (!device && !random_below(4))
		say(line, " any");
	else if (!device)
		say_address(line, ipv4);
	say_matches(line, ipv4, ctx);
	if (action > 1) {
		say(line, " limit");
		say_algorithm(line);
		say_consequences(line, ctx);
	} else {
		say(line, action ? " allow" : " deny");
	}
	if (!random_below(4))
		say(line, " for %" PRIu64 "ms", 1 + random_below(1ull << 40));
}

static void random_test(void **state)
{
	static const struct policy_context *const contexts[] = {&xdp, &tc, &egress};
	char line[RULE_TEXT_MAX], printed[RULE_TEXT_MAX];

	(void)state;
	random_state = 20240607;
	for (unsigned int i = 0; i < 400000; i++) {
		const struct policy_context *ctx = PICK(contexts);

		say_rule(line, ctx);
		round_trip(line, ctx, printed);
	}
}

/* Lines cut, doubled or overwritten at random: never accepted half, always a column inside. */
static void damage_test(void **state)
{
	static const char bytes[] = " \t#/-+,.:0159mskrx\033\377\"\\";
	char line[RULE_TEXT_MAX];

	(void)state;
	random_state = 7;
	for (unsigned int i = 0; i < 300000; i++) {
		struct policy_error err = {0};
		struct rule rule;
		bool found;

		say_rule(line, &tc);
		for (unsigned int n = 1 + random_below(3); n; n--)
			line[random_below(strlen(line))] = bytes[random_below(sizeof(bytes) - 1)];
		if (!random_below(4))
			line[1 + random_below(strlen(line) - 1)] = '\0';
		if (!statement_parse(line, &tc, &rule, &found, &err))
			continue;
		assert_in_range(err.column, 1, strlen(line) + 1);
		for (const char *c = err.text; *c; c++)
			assert_in_range(*c, ' ', '~');
	}
}

static const struct CMUnitTest singles[] = {
	cmocka_unit_test(far_apart_test),    cmocka_unit_test(empty_test),
	cmocka_unit_test(long_line_test),    cmocka_unit_test(defaults_test),
	cmocka_unit_test(key_test),          cmocka_unit_test(text_test),
	cmocka_unit_test(text_refused_test), cmocka_unit_test(text_empty_test),
	cmocka_unit_test(million_test),      cmocka_unit_test(identity_test),
	cmocka_unit_test(order_test),        cmocka_unit_test(put_find_test),
	cmocka_unit_test(remove_test),       cmocka_unit_test(selector_test),
	cmocka_unit_test(short_buffer_test), cmocka_unit_test(random_test),
	cmocka_unit_test(damage_test),
};

static struct CMUnitTest tests[ARRAY_SIZE(prints) + ARRAY_SIZE(refusals) + ARRAY_SIZE(singles)];

int main(void)
{
	struct CMUnitTest *next = tests;

	for (size_t i = 0; i < ARRAY_SIZE(prints); i++)
		*next++ = (struct CMUnitTest){prints[i].name, print_test, NULL, NULL,
					      (void *)&prints[i]};
	for (size_t i = 0; i < ARRAY_SIZE(refusals); i++)
		*next++ = (struct CMUnitTest){refusals[i].name, refusal_test, NULL, NULL,
					      (void *)&refusals[i]};
	memcpy(next, singles, sizeof(singles));
	return cmocka_run_group_tests(tests, NULL, NULL);
}
