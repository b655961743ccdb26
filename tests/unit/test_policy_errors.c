// SPDX-License-Identifier: GPL-2.0-only
/* Every refusal of the parser: its words and its column, for single statements, selectors, whole
 * texts and for lines that are damaged at random.
 */
#include <errno.h>
#include <string.h>

#include "policy_helpers.h"
#include "turns.h"

/* Every refusal of the parser. */
#define ZEROS_50 "00000000000000000000000000000000000000000000000000"

static const struct refusal_row {
	const char *name, *line;
	uint32_t column;
	const char *text;
	const struct policy_context *ctx;
} refusals[] = {
	{"no statement", "limit any", 1, "\"limit\" is not a statement"},
	{"no statement after blanks", "   ruler any", 4, "\"ruler\" is not a statement"},
	{"byte-order mark", "\xef\xbb\xbfrule any deny", 1, "byte-order mark: save"},
	{"byte-order mark alone", "\xef\xbb\xbf", 1, "byte-order mark: save"},
	{"byte-order mark before a comment", "\xef\xbb\xbf# ours", 1, "byte-order mark: save"},
	{"another character first", "\xef\xbb\xberule", 1, "is not a statement"},
	{"no prefix", "rule", 5, "\"rule\" must be followed by a prefix"},
	{"no prefix, trailing blanks", "rule  ", 7, "must be followed by a prefix"},
	{"an include that nothing follows", " include x", 2, "is only possible in a policy file"},
	{"no prefix, comment", "rule # any", 6, "must be followed by a prefix"},
	{"bad prefix", "rule every allow", 6, "\"every\" is not a prefix: write any, device"},
	{"prefix of other tools", "rule all allow", 6, "unknown prefix \"all\": did you mean any?"},
	{"case of a prefix", "rule Device tcp allow", 6, "did you mean device?"},
	{"octet too large", "rule 300.1.1.1 deny", 6,
	 "\"300.1.1.1\" is not an IPv4 address: 300 is more than 255"},
	{"last octet too large", "rule any src 1.2.3.256/24 deny", 14, "256 is more than 255"},
	{"octet far too large", "rule 1.2.3.99999999999999999999 deny", 6, "is not a prefix"},
	{"no octet too large", "rule 1.2.3/300 deny", 6, "is not a prefix"},
	{"overlong prefix",
	 "rule "
	 "1.2.3.4/" ZEROS_50 ZEROS_50 ZEROS_50 ZEROS_50 "8",
	 6, "...\" is not a prefix"},
	{"host bits", "rule 10.0.0.1/8 deny", 6, "write 10.0.0.0/8"},
	{"mapped", "rule ::ffff:1.2.3.4 deny", 6, "is an IPv4-mapped IPv6 address: write 1.2.3.4"},
	{"mapped, all of it", "rule ::ffff:0:0/96 deny", 6, "write 0.0.0.0/0"},
	{"mapped as match", "rule any src ::ffff:10.0.0.0/104 deny", 14, "write 10.0.0.0/8"},
	{"mapped address, short length", "rule ::ffff:0:0/95 deny", 6, "write ::fffe:0:0/95"},
	{"prefix length", "rule 10.0.0.0/33 deny", 6, "/0 to /32"},
	{"no action", "rule any", 9, "\"any\" must be followed by a match"},
	{"no action after match", "rule any tcp", 13, "\"tcp\" must be followed by a match"},
	{"unknown action", "rule any dropping", 10,
	 "\"dropping\" is not a match or an action: write a match (tcp"},
	{"drop", "rule any drop", 10, "unknown action \"drop\": did you mean deny?"},
	{"block", "rule any udp block", 14, "did you mean deny?"},
	{"reject", "rule any REJECT", 10, "unknown action \"REJECT\": did you mean deny?"},
	{"accept", "rule any accept", 10, "did you mean allow?"},
	{"pass", "rule any pass", 10, "did you mean allow?"},
	{"port", "rule any tcp port 80 deny", 14, "unknown match \"port\": did you mean dport?"},
	{"service as match", "rule any http deny", 10,
	 "unknown match \"http\": did you mean tcp dport http?"},
	{"service as match of a protocol", "rule any udp ntp deny", 14, "did you mean dport ntp?"},
	{"case of words", "rule any DENY", 10, "unknown action \"DENY\": did you mean deny?"},
	{"control characters", "rule any \033[2J\"\\\177", 10, "\"\\x1b[2J\\\"\\\\\\x7f\" is"},
	{"not ASCII", "rule any \303\251", 10, "\"\\xc3\\xa9\" is not"},
	{"newline inside", "rule any\nrule any deny", 6, "\"any\\x0arule\" is not a prefix"},
	{"long words are cut", "rule any aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", 10,
	 "\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa...\" is not"},
	{"the longest message is whole",
	 "rule any limit "
	 "\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1",
	 16, "10mbit or 64kibyte/second"},
	/* matches */
	{"no protocol", "rule any proto", 15, "must be followed by a protocol"},
	{"bad protocol", "rule any proto ipip deny", 16,
	 "\"ipip\" is not a protocol: write a number from 0 to 255, or tcp"},
	{"proto before a match", "rule any proto syn deny", 16, "\"syn\" is not a protocol"},
	{"protocol twice, behind proto", "rule any proto udp udp deny", 20, "\"udp\" repeats"},
	{"protocol too large", "rule any proto 256 deny", 16, "a protocol from 0 to 255"},
	{"protocol twice", "rule any tcp udp deny", 14, "\"udp\" repeats"},
	{"protocol twice, by number", "rule any tcp proto 6 deny", 14, "\"proto\" repeats"},
	{"match twice", "rule any syn syn deny", 14, "\"syn\" repeats"},
	{"no port", "rule any dport", 15, "must be followed by a port"},
	{"bad port", "rule any dport 80abc deny", 16, "\"80abc\" is not a port"},
	{"port list that ends in a comma", "rule any dport 80, deny", 16, "or a list of them"},
	{"port list with a hole", "rule any dport 80,,81 deny", 16, "or a list of them"},
	{"port list with a range too high", "rule any dport 80,81-65536 deny", 19, "out of range"},
	{"port list with a range that descends", "rule any dport 80,82-81 deny", 19, "write 81-82"},
	{"port list of seventeen",
	 "rule any dport 1,3,5,7,9,11,13,15,17,19,21,23,25,27,29,31,33 deny", 16,
	 "has more than 16 ports and ranges"},
	{"port list with a service of another protocol", "rule any udp dport 80,http deny", 23,
	 "is a service of tcp"},
	{"no service", "rule any dport htp deny", 16,
	 "\"htp\" is not a port, a range of ports, a service"},
	{"case of a service", "rule any dport HTTP deny", 16, "a service, or"},
	{"range of services", "rule any dport domain-http deny", 16, "a service, or"},
	{"service of another protocol", "rule any udp dport http deny", 20,
	 "\"http\" is a service of tcp, not of udp: write tcp, or the number 80"},
	{"service before another protocol", "rule any sport ntp dport 5 tcp deny", 16,
	 "is a service of udp, not of tcp"},
	{"service of two ports", "rule any dport torn deny", 16,
	 "is port 601 of tcp and port 514 of udp: add one of these protocols"},
	{"service with icmp", "rule any icmp dport http deny", 15, "\"dport\" does not apply"},
	{"half a range", "rule any dport 80- deny", 16, "\"80-\" is not a port"},
	{"port too large", "rule any sport 65536 deny", 16, "write ports from 0 to 65535"},
	{"last port too large", "rule any sport 1-65536 deny", 16, "write ports from 0 to 65535"},
	{"first port too large", "rule any sport 65536-2 deny", 16, "write ports from 0 to 65535"},
	{"range downwards", "rule any sport 90-80 deny", 16, "write 80-90"},
	{"no address", "rule any src", 13, "must be followed by an address"},
	{"bad address", "rule any dst any deny", 14, "\"any\" is not an address"},
	{"dport with icmp", "rule any icmp dport 80 deny", 15, "\"dport\" does not apply"},
	{"sport before gre", "rule any sport 80 gre deny", 10, "protocol 47, which has no ports"},
	{"sport with proto 99", "rule any proto 99 sport 1 deny", 19, "protocol 99, which has no"},
	{"syn with udp", "rule any udp syn deny", 14, "\"syn\" is a TCP flag"},
	{"IPv6 src of IPv4 prefix", "rule 10.0.0.0/8 src 2001:db8::1 deny", 21,
	 "\"2001:db8::1\" is IPv6, but"},
	{"IPv4 dst of IPv6 prefix", "rule 2001:db8::/32 dst 10.0.0.1 deny", 24, "is IPv4, but"},
	{"IPv6 dst by destination", "rule 10.0.0.0/8 dst 2001:db8::1 deny", 21, "is IPv6, but",
	 &on_egress},
	{"src and dst of two families", "rule any src 10.0.0.1 dst 2001:db8::1 deny", 27,
	 "use one address family"},
	{"icmp of IPv6", "rule 2001:db8::/32 icmp deny", 20, "\"icmp\" never matches an IPv6"},
	{"icmp6 of IPv4", "rule 10.0.0.0/8 icmp6 deny", 17, "write icmp"},
	{"icmp6 of IPv4 dst", "rule any icmp6 dst 10.0.0.1 deny", 10, "never matches an IPv4"},
	{"IPv4 src of all IPv6", "rule ::/0 src 1.2.3.4 deny", 15, "\"1.2.3.4\" is IPv4, but"},
	{"IPv4 src of all IPv6 by destination", "rule ::/0 src 1.2.3.4 deny", 15, "is IPv4, but",
	 &on_egress},
	{"all IPv6 dst of IPv4 prefix", "rule 0.0.0.0/0 dst ::/0 deny", 20, "is IPv6, but"},
	{"all IPv6 dst of IPv4 src", "rule any src 10.0.0.1 dst ::/0 deny", 27, "is IPv6, but"},
	{"icmp of all IPv6", "rule ::/0 icmp deny", 11, "write icmp6"},
	{"icmp of all IPv6 src", "rule any src ::/0 proto icmp deny", 19, "write icmp6"},
	{"icmp6 of all IPv4", "rule 0.0.0.0/0 proto 58 deny", 16, "write icmp"},
	{"src outside the prefix", "rule 10.0.0.0/8 src 11.0.0.1 deny", 21,
	 "which is a source address as well"},
	{"dst outside the prefix", "rule 10.0.0.0/8 dst 11.0.0.1 deny", 21,
	 "which is a destination address as well", &on_egress},
	/* actions */
	{"device allow", "rule device allow", 13,
	 "needs a match if the prefix is device: add one, or write \"rule any allow\""},
	{"device deny", "rule device deny", 13, "write \"rule any deny\""},
	{"limit word behind deny", "rule any deny burst 5", 15,
	 "\"burst\" is not allowed after deny"},
	{"match behind allow", "rule any allow tcp", 16, "write matches before allow"},
	{"match behind limit", "rule any limit 10/s tcp", 21, "\"tcp\" is not an option of limit"},
	{"option twice", "rule any limit 10/s burst 5 burst 6", 29, "\"burst\" repeats"},
	{"for twice", "rule any deny for 1s for 1s", 22, "\"for\" repeats"},
	{"burst of a window", "rule any limit fixed-window 10/s burst 5", 34,
	 "does not apply to fixed-window: remove it, or write limit token-bucket"},
	{"queue of a token bucket", "rule any limit 10/s queue 5", 21, "limit leaky-bucket"},
	{"slots of a log", "rule any limit sliding-log 10/s slots 5", 33, "sliding-window"},
	{"ramp of a token bucket", "rule any limit 10/s ramp 5s", 21, "limit warm-up"},
	{"cold of a token bucket", "rule any limit 10/s cold 5", 21, "limit warm-up"},
	/* rates */
	{"no rate", "rule any limit", 15, "\"limit\" must be followed by a rate"},
	{"no rate behind an algorithm", "rule any limit warm-up", 23, "\"warm-up\" must be"},
	{"bad rate behind an algorithm", "rule any limit warm-up fast", 24,
	 "\"fast\" is not a rate"},
	{"bad algorithm", "rule any limit bucket 10/s", 16, "\"bucket\" is not an algorithm or"},
	{"bad rate", "rule any limit 10/fortnight", 16, "\"10/fortnight\" is not a rate"},
	{"no period", "rule any limit 1000 burst 5", 16, "write 1000/second"},
	{"no period, unit apart", "rule any limit 10 kbytes", 16, "write 10kbytes/second"},
	{"period without a unit, unit apart", "rule any limit 471 packets/2 per source", 16,
	 "\"471 packets/2\" is not a rate"},
	{"no unit of time, unit apart", "rule any limit 471 packets/2 apples", 16,
	 "\"471 packets/2\" is not a rate"},
	{"digits are never joined", "rule any limit 10 00/s", 16, "\"10\" has no period"},
	{"bps", "rule any limit 10bps", 16, "write 10bit/second or 10byte/second"},
	{"mbps apart", "rule any limit 10 mbps", 16, "write 10mbit/second or 10mbyte/second"},
	{"bps with a period", "rule any limit 10Mbps/s", 16, "10Mbit/second"},
	{"kpps", "rule any limit 10kpps", 16,
	 "\"10kpps\" combines a multiplier with pps: write 10k/second"},
	{"mpps apart", "rule any limit 1 Mpps burst 5", 16, "write 1M/second"},
	{"kpps with a period", "rule any limit 10kpps/s", 16, "write 10k/second"},
	{"bps and a bad period", "rule any limit 10mbps/x", 16, "is not a rate"},
	{"no period, overflow", "rule any limit 99999999999999999999 per flow", 16, "out of range"},
	{"no period, nothing else", "rule any limit 1000", 16, "write 1000/second"},
	{"zero rate", "rule any limit 0/second", 16,
	 "\"0/second\" lets nothing pass: write \"rule any deny\""},
	{"zero rate of a device", "rule device limit 00kbit", 19, "write \"rule any deny\""},
	{"zero rate with matches", "rule 10.0.0.0/8 udp limit 0 packets/s", 27,
	 "write \"rule 10.0.0.0/8 udp deny\""},
	{"zero rate of a device with matches", "rule device udp limit 0", 23,
	 "write \"rule device udp deny\""},
	{"zero period", "rule any limit 5/0s", 16, "is out of range"},
	{"rate overflows", "rule any limit 99999999999999999999/s", 16,
	 "is out of range: write an amount"},
	{"too many packets", "rule any limit 281474976710657/100d", 16, "at most 2^48"},
	{"too fast in packets", "rule any limit 100000001/s", 16, "write at most 100m/second"},
	{"too fast in bits", "rule any limit 400000001kbit", 16, "write at most 400gbit"},
	{"too fast in bytes", "rule any limit 50000000001byte/s", 16, "write at most 400gbit"},
	{"too slow", "rule any limit 1/25h", 16, "write at least 1/day"},
	{"too slow for one packet", "rule any limit 1byte/60d", 16, "more than 9 years"},
	{"burst takes too long", "rule any limit 1byte/60d burst 1515byte", 32,
	 "more than 9 years"},
	/* sizes */
	{"no burst", "rule any limit 10/s burst", 26, "\"burst\" must be followed by an amount"},
	{"bad burst", "rule any limit 10/s burst many", 27, "\"many\" is not an amount"},
	{"burst in bps", "rule any limit 10mbit burst 10kbps", 29, "write 10kbit or 10kbyte"},
	{"burst in kpps", "rule any limit 10/s burst 1kpps", 27, "write 1k"},
	{"burst overflows", "rule any limit 10/s burst 99999999999999999999", 27, "less than 2^64"},
	{"zero burst", "rule any limit 10/s burst 0", 27, "write at least 1"},
	{"burst below the MTU", "rule any limit 1mbyte/s burst 1513byte", 31,
	 "\"1513byte\" is less than one full packet of this device: write at least 1514byte"},
	{"burst below a jumbo MTU", "rule any limit 10mbit burst 64kbit", 29,
	 "write at least 72112bit", &on_jumbo},
	{"burst in two words", "rule any limit 1mbyte/s burst 1 kbyte", 31,
	 "\"1 kbyte\" is less than one full packet"},
	{"burst of packets, rate of bits", "rule any limit 10mbit burst 200", 29,
	 "is in packets, but the rate is in bytes or bits"},
	{"burst of bytes, rate of packets", "rule any limit 10/s burst 64kibyte", 27,
	 "is in bytes or bits, but the rate is in packets"},
	{"burst in bytes below the MTU", "rule any limit 10mbit burst 1kbyte", 29,
	 "write at least 1514byte"},
	{"burst of more than a day", "rule any limit 1/s burst 86401", 26, "at most 86400"},
	{"burst in bytes overflows bits", "rule any limit 1mbit burst 18446744073709551615byte", 28,
	 "more than a day"},
	/* share, keep */
	{"share of two parts", "rule any limit 1k/s share 60/40", 27,
	 "\"60/40\" is not three parts: write percentages for the established, the known and "
	 "strangers, for example 60/30/10"},
	{"share of four parts", "rule any limit 1k/s share 60/20/10/10", 27, "is not three parts"},
	{"share, an empty part", "rule any limit 1k/s share 60//40", 27, "is not three parts",
	 NULL},
	{"share, a slash too many", "rule any limit 1k/s share 60/30/10/", 27,
	 "is not three parts"},
	{"share of one part", "rule any limit 1k/s share 60", 27, "is not three parts"},
	{"share, nothing for strangers", "rule any limit 1k/s share 60/40/0", 27,
	 "has a part that is out of range: write three from 1 to 98 that sum to 100"},
	{"share of more than 100", "rule any limit 1k/s share 60/30/20", 27,
	 "\"60/30/20\" sums to 110: write parts that sum to 100, for example 60/30/10"},
	{"share of less than 100", "rule any limit 1k/s share 1/1/1", 27, "sums to 3"},
	{"share without a class", "rule any limit 1k/s share established", 27,
	 "\"established\" is not an option of limit"},
	{"share twice", "rule any limit 1k/s share share", 27, "\"share\" repeats"},
	{"share of a window", "rule any limit fixed-window 1k/s share", 34,
	 "does not apply to fixed-window: remove it, or write limit token-bucket"},
	{"share of a leaky bucket", "rule any limit leaky-bucket 1k/s share", 34,
	 "write limit token-bucket"},
	{"share after deny", "rule any deny share", 15, "\"share\" is not allowed after deny"},
	{"parts, per source", "rule any limit 1k/s share 60/30/10 per source", 27,
	 "names parts of classes of senders, but with per source each address has the same part: "
	 "write share per source, or leave out per"},
	{"parts, per dest", "rule any limit 1k/s per dest share 50/30/20", 36,
	 "write share per dest, or leave out per"},
	{"share per flow", "rule any limit 1k/s share per flow", 31,
	 "\"flow\" cannot be combined with share: write share per source or share per dest"},
	{"share per source and port", "rule any limit 1k/s share per source+dport", 31,
	 "write share per source or share per dest"},
	{"share per two networks", "rule any limit 1k/s share per source/24+dest", 31,
	 "write share per source or share per dest"},
	{"share among classes by destination", "rule any limit 1k/s share", 21,
	 "goes by destination: attach at hook xdp or ingress without --by dest, or write share "
	 "per dest",
	 &on_egress},
	{"share, fleet", "rule any limit 1k/s share fleet", 27,
	 "\"fleet\" cannot be combined with share: remove one of the two"},
	{"share, over ban", "rule any limit 1k/s over ban 1h source share", 26,
	 "\"ban\" cannot be combined with share: write over drop or over count"},
	{"share, over mark", "rule any limit 1k/s share over mark 5", 32,
	 "write over drop or over count", &on_tc},
	{"share, over challenge", "rule any syn limit 1k/s share over challenge", 36,
	 "write over drop or over count"},
	{"share, over truncate", "rule any udp limit 1k/s share per source over truncate", 47,
	 "write over drop or over count"},
	{"share, unless", "rule any limit 1k/s share over drop unless established", 37,
	 "\"unless\" cannot be combined with share: a part is for the established already, so "
	 "write over drop"},
	{"share and keep", "rule any limit 1k/s keep 20 for known share", 21,
	 "\"keep\" cannot be combined with share: write one of them"},
	{"keep of nothing", "rule any limit 1k/s keep", 25,
	 "\"keep\" must be followed by an amount"},
	{"keep for none", "rule any limit 1k/s keep 20", 28,
	 "\"20\" must be followed by \"for\" and a class of senders: write for example keep 20 for "
	 "established, keep 20 for known or keep 20 for @friends"},
	{"keep, another option in place of for", "rule any limit 1k/s keep 20 over count", 29,
	 "\"over\" is not \"for\" and a class"},
	{"keep for a time", "rule any limit 1k/s keep 20 for 1h", 33,
	 "\"1h\" is not a class of senders: write established, known or a set such as @friends"},
	{"keep for strangers", "rule any limit 1k/s keep 20 for strangers", 33,
	 "write established, known or a set such as @friends"},
	{"keep for no set", "rule any limit 1k/s keep 20 for @", 33,
	 "\"@\" is not the name of a set"},
	{"keep for two sets", "rule any limit 1k/s keep 20 for @friends @family", 42,
	 "\"@family\" is not an option of limit"},
	{"keep the burst for a set", "rule any limit 1k/s keep 100 for @friends", 26,
	 "\"100\" leaves no room in the burst for a packet of others: write at most 99"},
	{"keep for the end", "rule any limit 1k/s keep 20 for", 32,
	 "\"for\" must be followed by a class of senders"},
	{"keep of zero", "rule any limit 1k/s keep 0 for known", 26,
	 "keeps nothing: write at least 1, or remove keep"},
	{"keep the burst", "rule any limit 1k/s keep 100 for known", 26,
	 "\"100\" leaves no room in the burst for a packet of others: write at most 99"},
	{"keep of a burst of one", "rule any limit 1k/s burst 1 keep 1 for known", 34,
	 "leaves no room for others in a burst of one packet: write a larger burst"},
	{"keep all but half a packet",
	 "rule any limit 1mbyte/s burst 3kbyte keep 2 kbyte for known", 43,
	 "\"2 kbyte\" leaves no room in the burst for a packet of others: write at most 1486byte"},
	{"keep of 2^32", "rule any limit 50gbyte/s keep 4294967296byte for known", 31,
	 "is out of range: write at most 4294967295byte"},
	{"keep in packets of a rate in bits", "rule any limit 10mbit keep 20 for known", 28,
	 "is in packets, but the rate is in bytes or bits"},
	{"keep in bytes of a rate in packets", "rule any limit 1k/s keep 9kbyte for known", 26,
	 "is in bytes or bits, but the rate is in packets"},
	{"keep of no whole bytes", "rule any limit 1mbyte/s keep 81bit for known", 30,
	 "is not a whole number of bytes, which this limit counts: write a multiple of 8 bits"},
	{"keep per source", "rule any limit 1k/s keep 20 for known per source", 43,
	 "keep divides one bucket that all packets share, so leave out per"},
	{"keep, fleet", "rule any limit 1k/s fleet keep 20 for known", 21,
	 "\"fleet\" cannot be combined with keep"},
	{"keep, unless", "rule any limit 1k/s over drop unless established keep 20 for known", 31,
	 "\"unless\" cannot be combined with keep: write over drop"},
	{"keep, over challenge", "rule any syn limit 1k/s keep 9 for known over challenge", 47,
	 "write over drop or over count"},
	{"keep of a warm-up", "rule any limit warm-up 9/s ramp 9s keep 2 for known", 36,
	 "does not apply to warm-up"},
	{"bad queue", "rule any limit leaky-bucket 10/s queue long", 40,
	 "\"long\" is not an amount or a duration"},
	{"ambiguous queue", "rule any limit leaky-bucket 10/s queue 5m", 40,
	 "write 5min or 5mpackets"},
	{"zero queue", "rule any limit leaky-bucket 10/s queue 0s", 40, "duration from 1ns"},
	{"queue below the MTU", "rule any limit leaky-bucket 1mbit queue 1ms", 41,
	 "write at least 12112bit"},
	{"queue of more than a day", "rule any limit leaky-bucket 1mbit queue 2d", 41,
	 "more than a day"},
	{"fixed-window below the MTU", "rule any limit fixed-window 1kbyte/s", 29,
	 "a window of at least 1514byte"},
	{"sliding-window below the MTU", "rule any limit sliding-window 12111bit/s", 31,
	 "a window of at least 12112bit"},
	{"too many slots", "rule any limit sliding-window 10/s slots 17", 42, "write 2 to 16"},
	{"too few slots", "rule any limit sliding-window 10/s slots 1", 42, "write 2 to 16"},
	{"bad slots", "rule any limit sliding-window 10/s slots x", 42,
	 "is not a number: write one from 2 to 16"},
	{"slots below a nanosecond", "rule any limit sliding-window 1mbyte/5ns", 31, "too high"},
	{"period below the slots", "rule any limit sliding-window 1/15ns slots 16", 31,
	 "write 16ns or more"},
	{"log of bytes", "rule any limit sliding-log 10mbit", 28, "counts packets only"},
	{"log too long", "rule any limit sliding-log 1025/s", 28, "at most 1024"},
	{"warm-up of bytes", "rule any limit warm-up 10mbit ramp 1s", 24, "counts packets only"},
	{"warm-up without ramp", "rule any limit warm-up 10/s", 28,
	 "\"10/s\" must be followed by a ramp"},
	{"bad ramp", "rule any limit warm-up 10/s ramp 5", 34, "\"5\" is not a duration"},
	{"ramp beyond a day", "rule any limit warm-up 10/s ramp 2d", 24, "write ramp 1d or less"},
	{"window beyond 2^52", "rule any limit fixed-window 5000000000000000byte/2d", 29,
	 "less than 2^52"},
	{"slots beyond 2^59 ns", "rule any limit sliding-window 30000/25000d slots 16", 31,
	 "write 6000d or less"},
	{"cold 1", "rule any limit warm-up 10/s ramp 5s cold 1", 42, "write 2 to 100"},
	{"cold 101", "rule any limit warm-up 10/s ramp 5s cold 101", 42, "write 2 to 100"},
	/* keys, overs, for */
	{"no key", "rule any limit 10/s per", 24, "\"per\" must be followed by a key"},
	{"bad key", "rule any limit 10/s per packet", 25, "\"packet\" is not a key"},
	{"length of a flow", "rule any limit 10/s per flow/24", 25, "takes no length: write flow"},
	{"set of no set", "rule any src @x limit 10/s per set member", 32,
	 "is for rules of a set: write rule @NAME limit ... per set, or per rule"},
	{"set with a length", "rule @x limit 10/s per set/24", 24, "\"set/24\" is not a key"},
	{"member without set", "rule @x limit 10/s per member", 24, "\"member\" is not a key"},
	{"shares of a member", "rule @x limit 10/s share per set member", 30,
	 "cannot be combined with share"},
	{"account without a number", "rule any limit 10/s per account", 32,
	 "must be followed by the number of an account"},
	{"account 0", "rule any limit 10/s per account 0", 33, "is not the number of an account"},
	{"account too large", "rule any limit 10/s per account 268435456", 33,
	 "is not the number of an account"},
	{"account by name", "rule any limit 10/s per account meier over drop", 33,
	 "is not the number of an account"},
	{"log of an account", "rule any limit sliding-log 10/s per account 17", 37,
	 "takes a token-bucket or a leaky-bucket"},
	{"shares of an account", "rule any limit 10/s share per account 17", 31,
	 "cannot be combined with share or keep"},
	{"account of a fleet", "rule any limit 10/s per account 17 fleet", 25,
	 "cannot be combined with fleet"},
	{"part twice", "rule any limit 10/s per source+dport+source/24", 25,
	 "names source twice: write each part once"},
	{"unknown part", "rule any limit 10/s per dest+host", 25, "\"dest+host\" is not a key"},
	{"part missing", "rule any limit 10/s per dest+", 25, "\"dest+\" is not a key"},
	{"part missing first", "rule any limit 10/s per +dest", 25, "\"+dest\" is not a key"},
	{"flow and a part", "rule any limit 10/s per flow+dport", 25,
	 "joins flow to other parts: write flow alone"},
	{"rule and a part", "rule any limit 10/s per dest+rule", 25,
	 "joins rule to other parts: write rule alone"},
	{"length of a port", "rule any limit 10/s per dest+dport/8", 25,
	 "takes no length after dport: write dport"},
	{"length of the second part too large", "rule any limit 10/s per dport+dest/33", 25,
	 "has invalid prefix lengths"},
	{"ban of everybody who sends to a port", "rule any limit 10/s per dport over ban 1h", 25,
	 "is one key for all addresses"},
	{"ban of all of a family", "rule any limit 10/s per source/24,0+dest/24,0 over ban 1h", 25,
	 "is one key for all addresses"},
	{"length too large", "rule any limit 10/s per source/33", 25, "has invalid prefix lengths"},
	{"IPv6 length too large", "rule any limit 10/s per dest/24,129", 25,
	 "invalid prefix lengths"},
	{"empty length", "rule any limit 10/s per source/", 25,
	 "\"source/\" has invalid prefix lengths"},
	{"empty IPv6 length", "rule any limit 10/s per source/24,", 25,
	 "has invalid prefix lengths"},
	{"no consequence", "rule any limit 10/s over", 25, "followed by an action"},
	{"bad consequence", "rule any limit 10/s over kill", 26,
	 "\"kill\" is not an action for packets over the limit"},
	{"ban without duration", "rule any limit 10/s over ban source", 30, "not a duration"},
	{"ban without anything", "rule any limit 10/s over ban", 29, "followed by a duration"},
	{"ban of the whole device", "rule device limit 10/s over ban 1h", 35,
	 "\"1h\" must be followed by a key, because all addresses share"},
	{"ban of the whole device, by destination", "rule device udp limit 10/s over ban 1h fleet",
	 45, "must be followed by a key", &on_egress},
	{"ban per rule", "rule any limit 10/s over ban 1h per rule", 37,
	 "\"rule\" is one key for all addresses, so one excess packet would ban all of them: write "
	 "per source, or over drop"},
	{"ban per rule, key first", "rule any tcp limit 10/s per rule over ban 1h", 29,
	 "\"rule\" is one key"},
	{"ban per rule of a network", "rule 10.0.0.0/31 limit 10/s per rule over ban 1h", 33,
	 "\"rule\" is one key"},
	{"ban per rule of two /64", "rule 2001:db8::/63 limit 10/s per rule over ban 1h", 35,
	 "\"rule\" is one key"},
	{"ban per rule at egress", "rule any limit 10/s per rule over ban 1h", 25,
	 "\"rule\" is one key", &on_egress},
	{"ban of all IPv4", "rule any limit 10/s per source/0,64 over ban 1h", 25,
	 "\"source/0,64\" is one key"},
	{"ban of all IPv6", "rule any limit 10/s per dest/32,0 over ban 1h", 25,
	 "\"dest/32,0\" is one key"},
	{"ban of our own address", "rule any limit 10/s over ban 1h source", 33,
	 "\"source\" would ban this machine itself at hook egress: remove it", &on_egress},
	{"ban of our own address, per rule", "rule 10.0.0.1 limit 1/s per rule over ban 1h source",
	 46, "\"source\" would ban this machine itself", &on_egress},
	/* proof of source */
	{"not before an action", "rule any not deny", 14,
	 "\"deny\" is not a match: write one after not"},
	{"not and the match", "rule any not tcp tcp deny", 18, "is a second protocol"},
	{"another protocol, and not one", "rule any tcp not udp deny", 14,
	 "\"not udp\" is a second protocol, and a rule has one, with not or without: remove one"},
	{"a protocol by its number, and not one", "rule any proto 6 not udp deny", 18,
	 "\"not udp\" is a second protocol"},
	{"a source, and not one", "rule any src 10.0.0.0/8 not src 10.0.0.1 deny", 25,
	 "is a second src, and a rule has one, with not or without: write the one without not as "
	 "the rule's prefix"},
	{"a destination, and not one", "rule any not dst 10.0.0.1 dst 10.0.0.0/8 deny", 27,
	 "is a second dst, and a rule has one, with not or without: use a set"},
	{"ports, and not one", "rule any udp dport 1-99 not dport 53 deny", 25,
	 "is a second dport, and a rule has one, with not or without: write the ports that are left"},
	{"a length, and not one", "rule any length 30-99 not length 50 deny", 23,
	 "is a second length"},
	{"flags unknown", "rule any tcp flags syn,foo deny", 20, "is not a list of fin, syn"},
	{"flags without any", "rule any tcp flags syn/none deny", 20, "looks at no flag"},
	{"flags that do not count", "rule any tcp flags syn/ack deny", 20,
	 "name each of them after"},
	{"flags of udp", "rule any udp flags syn deny", 14, "which only TCP has: write tcp"},
	{"flags of what is not tcp", "rule any not tcp flags syn deny", 18, "write tcp"},
	{"syn of what is not tcp", "rule any not tcp syn deny", 18, "remove one of the two"},
	{"length that descends", "rule any length 9-8 deny", 17, "write 8-9"},
	{"length too large", "rule any length 65536 deny", 17, "write 0 to 65535"},
	{"length missing", "rule any length deny", 17, "is not a length"},
	{"ttl too large", "rule any ttl 256 deny", 14, "write 0 to 255"},
	{"dscp too large", "rule any dscp 64 deny", 15, "write a DSCP from 0 to 63"},
	{"dscp unknown", "rule any dscp af15 deny", 15, "is not a DSCP"},
	{"icmp-type without protocol", "rule any icmp-type 8 deny", 10, "write icmp or icmp6"},
	{"icmp-type of udp", "rule any udp icmp-type 8 deny", 14, "write icmp or icmp6"},
	{"icmp-type of not icmp", "rule any not icmp icmp-type 8 deny", 19, "write icmp or icmp6"},
	{"icmp-type of the other", "rule any icmp icmp-type nd-redirect deny", 25,
	 "is not a type of icmp: write icmp6"},
	{"icmp-type unknown", "rule any icmp icmp-type pong deny", 25, "is not an ICMP type"},
	{"icmp-type too large", "rule any icmp icmp-type 256 deny", 25, "0 to 255"},
	{"code too large", "rule any icmp icmp-type 3 code 256 deny", 32, "0 to 255"},
	{"payload half a byte", "rule any udp payload 0 fff deny", 24, "pairs of hexadecimal"},
	{"payload of 17 bytes", "rule any udp payload 0 0011223344556677889900112233445566 deny",
	 24, "is not 1 to 16 bytes"},
	{"payload too far in", "rule any udp payload 513 ff deny", 22, "0 to 512"},
	{"payload outside its mask", "rule any udp payload 0 ff/0f deny", 24,
	 "its mask leaves out"},
	{"payload with another mask", "rule any udp payload 0 ff00/ff deny", 24,
	 "of another length"},
	{"payload of gre", "rule any gre payload 0 ff deny", 14, "write one of them"},
	{"every port but all", "rule any udp not dport 0-65535 deny", 18, "leaves out every value"},
	{"every ttl but all", "rule any not ttl 0-255 deny", 14, "leaves out every value"},
	{"every length but all", "rule any not length 0-65535 deny", 14, "leaves out every value"},
	{"length below any header", "rule any length 0-19 deny", 17,
	 "less than the header of any IP packet: write 20"},
	{"flags against syn", "rule any syn flags ack/ack deny", 14, "contradicts syn"},
	{"flags against not syn", "rule any tcp not syn flags syn deny", 22, "contradicts syn"},
	{"established flags of a SYN", "rule any tcp flags syn established deny", 24,
	 "contradicts syn"},
	{"not the rule's own prefix", "rule 10.1.0.0/16 not src 10.0.0.0/8 deny", 26,
	 "holds the rule's whole prefix"},
	{"not an address of the other family", "rule 10.1.0.0/16 not dst 2001:db8::1 deny", 26,
	 "which no packet of this rule has anyway"},
	{"challenge without SYNs", "rule any tcp not syn limit 9/s over challenge", 37,
	 "answers TCP SYNs"},
	{"words of iptables", "rule any tcp --tcp-flags SYN,ACK deny", 14,
	 "did you mean flags syn/syn,ack?"},
	{"words of nft", "rule any hoplimit 255 deny", 10, "did you mean ttl?"},
	{"words of both", "rule any u32 deny", 10, "did you mean payload OFFSET HEX?"},
	{"filter without quotes", "rule any filter udp deny", 17, "in quotation marks"},
	{"filter that does not end", "rule any filter \"udp port 53 deny", 17,
	 "\"\\\"udp port 53 deny\" has no second quotation mark: write one after"},
	{"code without a type", "rule any code deny", 10, "did you mean icmp-type N code N?"},
	{"code without a number", "rule any icmp icmp-type 3 code deny", 32,
	 "is not a number: write one from 0 to 255"},
	{"payload without an offset", "rule any udp payload ff deny", 22,
	 "is not the number of the first byte, 0 to 512: write for example payload 0 ffffffff54"},
	{"payload without anything", "rule any udp payload", 21, "write for example payload 0"},
	{"payload too far behind", "rule any udp payload 513 ff deny", 22,
	 "is out of range: write 0 to 512"},
	{"filter that is empty", "rule any filter \" \" deny", 17, "is empty"},
	{"filter of a host's name", "rule any filter \"udp or host www.example.com\" deny", 18,
	 "has the name 'www.example.com'"},
	{"filter of a name behind or", "rule any filter \"port domain or ntp\" deny", 18,
	 "has the name 'ntp'"},
	{"filter of the link", "rule any filter \"vlan 5\" deny", 18,
	 "refused by libpcap: no VLAN support for Raw IP: a filter sees IP packets alone"},
	{"filter of no IP packet", "rule any filter \"arp\" deny", 18, "rejects all packets"},
	{"filter with a loop", "rule any filter \"ip protochain 6\" deny", 18, "has a loop"},
	{"filter beside the packet", "rule any filter \"inbound\" deny", 18, "not in a packet"},
	{"filter that is wrong", "rule any filter \"udp and (\" deny", 18, "syntax error"},
	{"filter and no blank", "rule any filter \"udp\"deny", 17, "followed by a blank"},
	{"not before nothing", "rule any not", 13, "\"not\" must be followed by a match"},
	{"not twice", "rule any not not established deny", 14, "is not a match"},
	{"not before the prefix", "rule not any deny", 6, "\"not\" is not a prefix"},
	{"established twice", "rule any established established deny", 22, "repeats"},
	{"established and not", "rule any established not established deny", 22,
	 "\"not established\" contradicts established: remove one of the two"},
	{"not established and established", "rule any not established established deny", 26,
	 "\"established\" contradicts not established: remove one of the two"},
	{"not established twice", "rule any not established not established deny", 30, "repeats"},
	{"established of GRE", "rule any gre established deny", 14,
	 "\"established\" never holds for gre: write tcp, udp, icmp or icmp6"},
	{"established before its protocol", "rule any established sctp dport 5 deny", 10,
	 "never holds for sctp"},
	{"established of ESP", "rule any esp established deny", 14, "for esp"},
	{"established of a number", "rule any proto 89 established deny", 19, "protocol 89"},
	{"established SYN", "rule any tcp syn established deny", 18, "contradicts syn"},
	{"SYN without TCP, established", "rule any established syn deny", 10, "contradicts syn"},
	{"ct state", "rule any ct state established allow", 10,
	 "unknown match \"ct\": did you mean established?"},
	{"ctstate", "rule any --ctstate RELATED,ESTABLISHED allow", 10,
	 "did you mean established?"},
	{"related", "rule any related,established allow", 10, "did you mean established?"},
	{"established in capitals", "rule any ESTABLISHED deny", 10, "did you mean established?"},
	{"a sign before established", "rule any !established deny", 10,
	 "did you mean not established?"},
	{"non-established", "rule any non-established deny", 10, "did you mean not established?"},
	{"unestablished", "rule any unestablished deny", 10, "did you mean not established?"},
	{"estab", "rule any estab deny", 10, "did you mean established?"},
	{"unless as a match", "rule any unless established deny", 10,
	 "did you mean not established?"},
	{"a sign for not", "rule any ! dport 22 deny", 10, "\"!\": did you mean not?"},
	{"established behind a limit", "rule any limit 10/s established", 21,
	 "write matches before limit"},
	{"over without a word", "rule any limit 10/s over", 25,
	 "write drop, drop unless established, ban DURATION, count, mark N, challenge or truncate"},
	{"over established", "rule any limit 10/s over established", 26,
	 "is not an action for packets over the limit"},
	{"drop unless", "rule any limit 10/s over drop unless", 37,
	 "\"unless\" must be followed by the packets to spare: write drop unless established"},
	{"drop unless another", "rule any limit 10/s over drop unless syn", 38,
	 "\"syn\" cannot be spared: write drop unless established"},
	{"drop unless new", "rule any limit 10/s over drop unless new", 38,
	 "\"new\" cannot be spared: write drop unless established"},
	{"drop not", "rule any limit 10/s over drop not established", 31,
	 "\"not\" cannot stand after over drop: write over drop unless established"},
	{"drop if", "rule any limit 10/s over drop if established", 31, "write over drop unless"},
	{"drop except", "rule any limit 10/s over drop except established", 31,
	 "write over drop unless"},
	{"over challange", "rule any syn limit 10/s over challange", 30,
	 "unknown action \"challange\": did you mean challenge?"},
	{"over syncookie", "rule any syn limit 10/s over syncookie", 30, "did you mean challenge?"},
	{"over cookie", "rule any syn limit 10/s over cookie", 30, "did you mean challenge?"},
	{"over synproxy", "rule any syn limit 10/s over synproxy", 30, "did you mean challenge?"},
	{"over TC=1", "rule any udp dport 53 limit 10/s over TC=1", 39, "did you mean truncate?"},
	{"challenge as an action", "rule any tcp syn challenge", 18,
	 "did you mean limit RATE over challenge?"},
	{"truncate as an action", "rule any udp dport 53 truncate", 23,
	 "did you mean limit RATE over truncate?"},
	{"drop established", "rule any limit 10/s over drop established", 31,
	 "\"established\" cannot stand after over drop: write over drop unless established"},
	{"count unless", "rule any limit 10/s over count unless established", 32,
	 "\"unless\" belongs to over drop alone: write over drop unless established"},
	{"unless without over", "rule any limit 10/s unless established", 21,
	 "write over drop unless established"},
	{"over twice", "rule any limit 10/s over drop unless established over count", 50,
	 "repeats"},
	{"unless on established", "rule any established limit 9/s over drop unless established", 42,
	 "\"unless\" spares every packet of this rule"},
	{"unless on not established",
	 "rule any not established limit 9/s over drop unless established", 46,
	 "spares no packet of this rule, which matches not established: write over drop alone"},
	{"unless on SYN", "rule any syn limit 9/s over drop unless established per rule", 34,
	 "as a SYN is never established"},
	{"unless on GRE", "rule any gre limit 9/s over drop unless established", 34,
	 "spares no packet of gre, which"},
	{"challenge of UDP", "rule any udp limit 10/s over challenge", 30,
	 "\"challenge\" answers TCP SYNs, which this rule does not match: write tcp syn, or over "
	 "drop"},
	{"challenge of what is established", "rule any tcp established limit 10/s over challenge",
	 42, "answers TCP SYNs, which are never established"},
	{"challenge of fragments", "rule any syn fragment limit 10/s over challenge", 39,
	 "never answers fragments"},
	{"challenge at ingress", "rule any syn limit 10/s over challenge", 30,
	 "\"challenge\" needs hook xdp in mode native or generic, where packets can be answered, and "
	 "this is hook ingress: write over drop, or attach without --hook ingress",
	 &on_tc},
	{"challenge at egress", "rule any syn limit 10/s over challenge", 30,
	 "this is hook egress: write over drop, or attach without --hook egress", &on_egress},
	{"challenge where XDP is not possible", "rule any syn limit 10/s over challenge", 30,
	 "this is mode tc: write over drop, or attach with --mode generic", &on_tc_for_xdp},
	{"challenge with a duration", "rule any syn limit 10/s over challenge 10m", 40,
	 "\"10m\" is not an option of limit"},
	{"challenge unless", "rule any tcp limit 10/s over challenge unless established", 40,
	 "belongs to over drop alone"},
	{"truncate of TCP", "rule any tcp dport 53 limit 10/s over truncate", 39,
	 "\"truncate\" answers DNS queries over UDP, which this rule does not match: write udp "
	 "dport 53, or over drop"},
	{"truncate of SYN", "rule any syn limit 10/s over truncate", 30, "answers DNS queries"},
	{"truncate of fragments", "rule any udp fragment limit 10/s over truncate", 39,
	 "never answers fragments"},
	{"truncate at ingress", "rule any udp limit 10/s over truncate", 30,
	 "this is hook ingress: write over drop, or attach without --hook ingress", &on_tc},
	{"mark at xdp", "rule any limit 10/s over mark 1", 26, "\"mark\" needs hook"},
	{"mark too large", "rule any limit 10/s over mark 4294967296", 31, "write 0 to 4294967295",
	 &on_tc},
	{"mark without number", "rule any limit 10/s over mark", 30,
	 "followed by a number: write one from 0", &on_tc},
	{"for without duration", "rule any deny for", 18, "\"for\" must be followed by a dur"},
	{"for ever", "rule any deny for 60000 days", 19, "\"60000 days\" is out of range"},
	{"for zero", "rule any deny for 0s", 19,
	 "write a duration from 1ns to 53375d, or leave out \"for\" for a permanent rule"},
	{"for less than nothing", "rule any deny for -1s", 19,
	 "\"-1s\" is not a duration: write for example 30s, 10m or 1h, or leave out \"for\""},
};

ROWS(refusal_test, refusals, row)
{
	struct policy_error err = {.line = 77};
	struct rule rule, untouched;
	bool found = true;

	memset(&rule, 0xa5, sizeof(rule));
	untouched = rule;
	assert_int_equal(
		statement_parse(row->line, row->ctx ? row->ctx : &on_xdp, &rule, &found, &err),
		-EINVAL);
	if (!strstr(err.text, row->text))
		fail_msg("said: %s", err.text);
	assert_int_equal(err.column, row->column);
	assert_int_equal(err.line, 77);
	assert_memory_equal(&rule, &untouched, sizeof(rule));
	for (const char *c = err.text; *c; c++)
		assert_in_range(*c, ' ', '~');
}

TEST(long_line_test)
{
	char line[4096 + 2] = "rule any deny #";
	struct policy_error err;
	struct rule rule;
	bool found;

	memset(line + 15, 'x', sizeof(line) - 15);
	line[4096] = '\0';
	assert_int_equal(statement_parse(line, &on_xdp, &rule, &found, &err), 0);
	line[4096] = 'x';
	line[4097] = '\0';
	assert_int_equal(statement_parse(line, &on_xdp, &rule, &found, &err), -EINVAL);
	assert_int_equal(err.column, 4097);
	assert_non_null(strstr(err.text, "longer than 4096 bytes"));
}

TEST(selector_refused_test)
{
	static const struct {
		const char *words;
		uint32_t column;
		const char *said;
	} rows[] = {
		{"", 1, "expected a prefix"},
		{" # any", 2, "expected a prefix"},
		{"rule any", 1, "\"rule\" is not a prefix"},
		{"any for 1h", 5, "\"for\" is not a match"},
		{"any limit", 10, "must be followed by a rate"},
		{"any while", 10, "must be followed by the name of an alarm"},
		{"any while attack deny", 18, "\"deny\" follows the alarm, which ends a rule"},
		{"any while Attack", 11, "is not the name of an alarm"},
		{"while attack", 1, "is not a prefix"},
	};
	struct policy_error err;
	struct rule rule;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_int_equal(selector_parse(rows[i].words, &on_xdp, &rule, &err), -EINVAL);
		assert_non_null(strstr(err.text, rows[i].said));
		assert_int_equal(err.column, rows[i].column);
	}
}

TEST(text_refused_test)
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

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct policy policy = {0};
		struct policy_errors errors;

		assert_int_equal(
			policy_parse(rows[i].text, rows[i].size, &on_xdp, NULL, &policy, &errors),
			-EINVAL);
		assert_null(policy.rules);
		assert_int_equal(errors.count, 1);
		assert_int_equal(errors.first[0].line, rows[i].line);
		assert_int_equal(errors.first[0].column, rows[i].column);
		assert_non_null(strstr(errors.first[0].text, rows[i].said));
	}
}

/* Every bad line is counted, and the first of them are told, also by lines out of order. */
TEST(many_refused_test)
{
	static const char good_and_bad[] = "rule any deny\nrule any drop\n\n";
	struct policy_errors errors;
	CLEARED_POLICY struct policy policy = {0};
	char text[30 * sizeof(good_and_bad)] = "";

	for (size_t bad = 1; bad <= 30; bad++) {
		memcpy(text + strlen(text), good_and_bad, sizeof(good_and_bad));
		assert_int_equal(policy_parse(text, strlen(text), &on_xdp, NULL, &policy, &errors),
				 -EINVAL);
		assert_null(policy.rules);
		assert_int_equal(errors.count, bad);
		assert_int_equal(policy_errors_kept(&errors), bad < 20 ? bad : 20);
		for (size_t i = 0; i < policy_errors_kept(&errors); i++) {
			assert_int_equal(errors.first[i].line, 3 * i + 2);
			assert_int_equal(errors.first[i].column, 10);
		}
	}
	assert_int_equal(policy_parse("rule any deny", 13, &on_xdp, NULL, &policy, &errors), 0);
	assert_int_equal(errors.count, 0);
}

TEST(errors_order_test)
{
	struct policy_errors errors = {0};

	for (uint32_t i = 0; i < 50; i++) {
		struct policy_error err = {.line = i * 7 % 50, .column = i};

		policy_errors_add(&errors, &err);
	}
	assert_int_equal(errors.count, 50);
	for (uint32_t i = 0; i < POLICY_ERRORS_MAX; i++) {
		assert_int_equal(errors.first[i].line, i);
		assert_int_equal(errors.first[i].column * 7 % 50, i);
	}
}

/* Lines cut, doubled or overwritten at random: never accepted half, always a column inside. */
TEST(damage_test)
{
	static const char bytes[] = " \t#/-+,.:0159mskrx\033\377\"\\";
	char line[RULE_TEXT_MAX];

	random_start(7);
	for (unsigned int i = 0; i < TURNS(300000); i++) {
		struct policy_error err = {0};
		struct rule rule;
		bool found;

		random_rule(line, &on_tc);
		for (unsigned int n = 1 + random_below(3); n; n--)
			line[random_below(strlen(line))] = bytes[random_below(sizeof(bytes) - 1)];
		if (!random_below(4))
			line[1 + random_below(strlen(line) - 1)] = '\0';
		if (!statement_parse(line, &on_tc, &rule, &found, &err))
			continue;
		assert_in_range(err.column, 1, strlen(line) + 1);
		for (const char *c = err.text; *c; c++)
			assert_in_range(*c, ' ', '~');
	}
}
