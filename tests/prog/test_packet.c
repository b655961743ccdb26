// SPDX-License-Identifier: GPL-2.0-only
/* rlctl-policy(5): the facts read from a packet, and which packets are malformed. Each row is a
 * frame and its facts; every frame is run under every policy below, and is denied by those whose
 * fact it has. The result is the same at xdp and at ingress, and for a frame in pieces, however
 * little of it is linear.
 */
#include <linux/if_ether.h>
#include <string.h>

#include "harness.h"
#include "random.h"

HARNESS(xdp)
HARNESS(tc, .hook = RL_HOOK_INGRESS)
HARNESS(jumbo, .mtu = 9000) /* on a device whose frames come in pieces */

static const uint32_t linears[] = {34, ETH_HLEN, 0};
static size_t linear_count; /* of them, that this kernel's test run makes */

static void policy_set(const char *text)
{
	harness_policy(xdp, text);
	harness_policy(tc, text);
	harness_policy(jumbo, text);
}

static enum rl_reason run_pieces(const struct frame *frame, uint32_t linear)
{
	enum rl_reason reason = RL_REASON_COUNT;

	assert_true(harness_pieces(jumbo, frame, linear, &reason));
	return reason;
}

static enum rl_reason run(const struct frame *frame)
{
	enum rl_reason reason = harness_count(xdp, frame);
	uint32_t linear = linears[frame->size % linear_count];

	if (frame_runs_as_skb(frame) && harness_count(tc, frame) != reason)
		fail_msg("%u bytes differ at ingress", frame->size);
	if (run_pieces(frame, linear) != reason)
		fail_msg("%u bytes differ in pieces, %u of them linear", frame->size, linear);
	return reason;
}

/* "" is never denied, "any" always. */
static const struct table {
	const char *fact, *policy;
} tables[] = {
	{"", ""},
	{"any", "rule any deny"},
	{"tcp", "rule any tcp deny"},
	{"udp", "rule any udp deny"},
	{"icmp", "rule any icmp deny"},
	{"icmp6", "rule any icmp6 deny"},
	{"sctp", "rule any sctp deny"},
	{"gre", "rule any gre deny"},
	{"esp", "rule any esp deny"},
	{"proto0", "rule any proto 0 deny"},
	{"proto60", "rule any proto 60 deny"},
	{"proto255", "rule any proto 255 deny"},
	{"ports", "rule any sport 1000 deny"},
	{"ports", "rule any dport 2000 deny"},
	{"ports", "rule any sport 1000 dport 1999-2001 deny"},
	{"swapped", "rule any dport 0-1999 deny; rule any dport 2001-65535 deny"},
	{"swapped", "rule any sport 2000 deny; rule any dport 1000 deny"},
	{"syn", "rule any syn deny"},
	{"fragment", "rule any fragment deny"},
	{"4", "rule 0.0.0.0/0 deny"},
	{"6", "rule ::/0 deny"},
	{"src4", "rule 192.0.2.1 deny"},
	{"src4", "rule any src 192.0.2.0/31 deny"},
	{"dst4", "rule any dst 198.51.100.1 deny"},
	{"src6", "rule 2001:db8::1 deny"},
	{"src6", "rule any src 2001:db8::/127 deny"},
	{"dst6", "rule any dst 2001:db8:1::1 deny"},
};

#define V4 "4 src4 dst4 "
#define V6 "6 src6 dst6 "

static const struct packet_row {
	const char *name, *words, *facts; /* facts: or a reason that every policy gives */
} rows[] = {
	{"IPv4 UDP", "ip4 udp data=10", V4 "udp ports"},
	{"IPv4 UDP, empty", "ip4 udp", V4 "udp ports"},
	{"IPv4 TCP", "ip4 tcp data=10", V4 "tcp ports"},
	{"IPv4 TCP SYN", "ip4 syn", V4 "tcp ports syn"},
	{"IPv4 TCP SYN and ACK", "ip4 synack", V4 "tcp ports"},
	{"IPv4 SCTP", "ip4 sctp data=4", V4 "sctp ports"},
	{"IPv4 ICMP", "ip4 icmp data=3", V4 "icmp"},
	{"IPv4 GRE", "ip4 gre", V4 "gre"},
	{"IPv4 ESP", "ip4 esp", V4 "esp"},
	{"IPv4 protocol 0", "ip4 proto=0", V4 "proto0"},
	{"IPv4 protocol 60 is no extension", "ip4 proto=60 data=20", V4 "proto60"},
	{"IPv4 protocol 255", "ip4 proto=255", V4 "proto255"},
	{"IPv4 empty", "ip4", V4 "proto0"},
	{"IPv4 in IPv4", "ip4 proto=4 data=40", V4},
	{"IPv4 DF", "ip4 df udp", V4 "udp ports"},
	{"IPv4 other addresses", "ip4=192.0.2.2>198.51.100.2 udp", "4 udp ports"},
	{"IPv4 addresses swapped", "ip4=198.51.100.1>192.0.2.1 udp", "4 udp ports"},
	{"IPv4 0.0.0.0", "ip4=0.0.0.0>255.255.255.255 udp", "4 udp ports"},
	{"IPv4 ports swapped", "ip4 udp=2000>1000", V4 "udp swapped"},

	{"802.1Q", "8021q ip4 udp", V4 "udp ports"},
	{"802.1ad", "8021ad ip4 udp", V4 "udp ports"},
	{"802.1ad, 802.1Q", "8021ad 8021q ip4 tcp", V4 "tcp ports"},
	{"802.1Q twice", "8021q 8021q ip6 udp", V6 "udp ports"},
	{"tag of priority alone", "8021q=0xe000 ip6 syn", V6 "tcp ports syn"},
	{"three tags", "8021ad 8021q 8021q ip4 udp", "malformed"},
	{"three 802.1ad tags", "8021ad 8021ad 8021ad ip4 udp", "malformed"},
	{"three tags on ARP", "8021q 8021q 8021q type=0x806 data=46", "malformed"},
	{"tag behind IPv4's type only", "8021q type=0x800", "malformed"},

	{"options", "ip4 options=4 udp", V4 "udp ports"},
	{"all options", "ip4 options=40 syn", V4 "tcp ports syn"},
	{"options, fragment", "ip4 options=8 frag=8 udp", V4 "udp fragment"},
	{"ihl 4", "ip4 udp ihl=4", "malformed"},
	{"ihl 0", "ip4 udp ihl=0", "malformed"},
	{"ihl beyond the packet", "ip4 udp ihl=15", "malformed"},
	{"ihl into UDP", "ip4 udp ihl=6", "malformed"},
	{"ihl to the end", "ip4 gre ihl=7", V4 "gre"},
	{"ihl past the end", "ip4 gre ihl=8", "malformed"},
	{"version 6 as IPv4", "ip4 udp version=6", "malformed"},
	{"version 5", "ip4 udp version=5", "malformed"},
	{"version 0", "ip4 udp version=0", "malformed"},
	{"version 4 as IPv6", "ip6 udp version=4", "malformed"},
	{"version 7", "ip6 udp version=7", "malformed"},

	{"IPv4 length 0", "ip4 udp length=0", "malformed"},
	{"IPv4 length 19", "ip4 gre length=19", "malformed"},
	{"IPv4 length 20", "ip4 gre length=20", V4 "gre"},
	{"IPv4 length 20 of UDP", "ip4 udp length=20", "malformed"},
	{"IPv4 length 1 too long", "ip4 udp longer=1", "malformed"},
	{"IPv4 length 65535", "ip4 udp length=65535", "malformed"},
	{"IPv4 length 1 short of UDP's", "ip4 udp data=9 shorter=1", "malformed"},
	{"IPv4 length shorter than the frame", "ip4 tcp data=9 shorter=9", V4 "tcp ports"},
	{"IPv6 length 0", "ip6 udp length=0", "malformed"},
	{"IPv6 length 0, nothing follows", "ip6 proto=59 length=0", V6},
	{"IPv6 length 1 too long", "ip6 tcp longer=1", "malformed"},
	{"IPv6 length 65535", "ip6 tcp length=65535", "malformed"},
	{"IPv6 length short of TCP", "ip6 tcp length=19", "malformed"},
	{"IPv6 length into an extension", "ip6 dst=3 udp length=20", "malformed"},
	{"IPv6 length to the end of extensions", "ip6 dst=3 gre length=32", V6 "gre"},
	{"padding", "ip4 udp pad=18", V4 "udp ports"},
	{"padding behind IPv6", "8021q ip6 udp pad=1", V6 "udp ports"},
	{"much padding", "ip4 udp pad=1400", V4 "udp ports"},

	{"UDP length 0", "ip4 udp udplen=0", "malformed"},
	{"UDP length 7", "ip4 udp udplen=7", "malformed"},
	{"UDP length too long", "ip4 udp udplen=9", "malformed"},
	{"UDP length into padding", "ip4 udp udplen=12 pad=18", "malformed"},
	{"UDP length shorter than IP's", "ip4 udp data=9 udplen=8", V4 "udp ports"},
	{"TCP offset 4", "ip4 tcp doff=4", "malformed"},
	{"TCP offset 0", "ip6 tcp doff=0", "malformed"},
	{"TCP offset beyond the packet", "ip4 tcp doff=6", "malformed"},
	{"TCP offset into padding", "ip4 tcp doff=6 pad=18", "malformed"},
	{"TCP options", "ip4 syn data=4 doff=6", V4 "tcp ports syn"},
	{"all TCP options", "ip6 syn data=40 doff=15", V6 "tcp ports syn"},
	{"TCP options, a byte short", "ip6 syn data=39 doff=15", "malformed"},

	{"IPv4 first fragment", "ip4 frag=0+ udp data=16", V4 "udp ports fragment"},
	{"IPv4 first fragment of a long datagram", "ip4 frag=0+ udp data=8 udplen=3000",
	 V4 "udp ports fragment"},
	{"IPv4 first fragment, SYN", "ip4 frag=0+ syn", V4 "tcp ports syn fragment"},
	{"IPv4 first fragment, too short for TCP", "ip4 frag=0+ proto=6", "malformed"},
	{"IPv4 middle fragment", "ip4 frag=1480+ udp data=16", V4 "udp fragment"},
	{"IPv4 last fragment", "ip4 frag=1480 tcp", V4 "tcp fragment"},
	{"IPv4 fragment over TCP's flags", "ip4 frag=8 syn", V4 "tcp fragment"},
	{"IPv4 ICMP of 7 bytes", "ip4 icmp shorter=1", "malformed"},
	{"IPv4 first fragment, too short for ICMP", "ip4 frag=0+ icmp shorter=1", "malformed"},
	{"IPv4 last fragment of ICMP", "ip4 frag=8 icmp", V4 "icmp fragment"},
	{"IPv4 last place for a fragment", "ip4 frag=65528 udp", V4 "udp fragment"},
	{"IPv4 no fragment", "ip4 frag=0 udp", V4 "udp ports"},
	{"IPv4 first fragment without data", "ip4 frag=0+", V4 "proto0 fragment"},

	{"IPv6 UDP", "ip6 udp data=10", V6 "udp ports"},
	{"IPv6 TCP", "ip6 tcp", V6 "tcp ports"},
	{"IPv6 SYN", "ip6 syn", V6 "tcp ports syn"},
	{"IPv6 SCTP", "ip6 sctp", V6 "sctp ports"},
	{"IPv6 ICMPv6", "ip6 icmp6 data=3", V6 "icmp6"},
	{"IPv6 ICMPv6 of 7 bytes", "ip6 icmp6 shorter=1", "malformed"},
	{"IPv6 jumbogram", "ip6 hop udp data=100 length=0", "malformed"},
	{"IPv6 ICMP", "ip6 icmp", V6 "icmp"},
	{"IPv6 GRE", "ip6 gre", V6 "gre"},
	{"IPv6 ESP", "ip6 esp", V6 "esp"},
	{"IPv6 protocol 255", "ip6 proto=255", V6 "proto255"},
	{"IPv6 no next header", "ip6 proto=59", V6},
	{"IPv6 other addresses", "ip6=2001:db8::2>2001:db8:1::2 udp", "6 udp ports"},
	{"IPv6 addresses that look like IPv4", "ip6=::192.0.2.1>::198.51.100.1 udp", "6 udp ports"},
	{"IPv6 next to the mapped", "ip6=::fffe:c000:201>::1:0:0:0 udp", "6 udp ports"},
	{"IPv6 ::", "ip6=::>ff02::1 udp", "6 udp ports"},
	{"mapped source", "ip6=::ffff:192.0.2.1 udp", "malformed"},
	{"mapped destination", "ip6=2001:db8::1>::ffff:198.51.100.1 udp", "malformed"},
	{"mapped, later fragment", "ip6=::ffff:192.0.2.1 frag=8 udp", "malformed"},

	{"hop-by-hop", "ip6 hop udp", V6 "udp ports"},
	{"routing", "ip6 routing=2 udp", V6 "udp ports"},
	{"destination options", "ip6 dst=1 syn", V6 "tcp ports syn"},
	{"authentication", "ip6 ah=1 udp", V6 "udp ports"},
	{"authentication, 96 bits", "ip6 ah=4 udp", V6 "udp ports"},
	{"authentication, longest", "ip6 ah=255 udp", V6 "udp ports"},
	{"mobility", "ip6 mobility udp", V6 "udp ports"},
	{"HIP", "ip6 hip=4 udp", V6 "udp ports"},
	{"SHIM6", "ip6 shim6 udp", V6 "udp ports"},
	{"the longest header", "ip6 dst=150 tcp", V6 "tcp ports"},
	{"two", "ip6 hop dst udp", V6 "udp ports"},
	{"three", "ip6 hop dst routing sctp", V6 "sctp ports"},
	{"four", "ip6 hop dst routing ah icmp6", V6 "icmp6"},
	{"five", "ip6 hop dst routing ah dst udp", V6 "udp ports"},
	{"six", "ip6 hop dst routing frag=0 ah dst udp", V6 "udp ports"},
	{"seven", "ip6 hop dst routing frag=0+ ah=3 dst mobility udp", V6 "udp ports fragment"},
	{"eight", "ip6 hop dst routing frag=0 ah dst hip shim6 udp", V6 "udp ports"},
	{"nine", "ip6 hop dst routing frag=0 ah dst hip shim6 dst udp", "malformed"},
	{"nine of a kind", "ip6 dst dst dst dst dst dst dst dst dst syn", "malformed"},
	{"nine and nothing behind", "ip6 dst dst dst dst dst dst dst dst dst proto=59",
	 "malformed"},
	{"ten", "ip6 dst dst dst dst dst dst dst dst hop dst udp", "malformed"},
	{"eight, then a first fragment", "ip6 dst dst dst dst dst dst dst dst frag=0+ syn",
	 "malformed"},
	{"first fragment, then eight", "ip6 frag=0+ dst dst dst dst dst dst dst dst udp",
	 "malformed"},
	{"first fragment, then seven", "ip6 frag=0+ dst dst dst dst dst dst dst udp",
	 V6 "udp ports fragment"},
	{"seven, then a later fragment", "ip6 dst dst dst dst dst dst dst frag=8 dst udp",
	 V6 "proto60 fragment"},
	{"extensions alone", "ip6 hop proto=59", V6},

	{"IPv6 first fragment", "ip6 frag=0+ udp data=8", V6 "udp ports fragment"},
	{"IPv6 first fragment of a long datagram", "ip6 frag=0+ udp data=8 udplen=3000",
	 V6 "udp ports fragment"},
	{"IPv6 first fragment, options behind", "ip6 hop frag=0+ dst syn",
	 V6 "tcp ports syn fragment"},
	{"IPv6 first fragment, too short for TCP", "ip6 frag=0+ proto=6", "malformed"},
	{"IPv6 middle fragment", "ip6 frag=1448+ udp data=16", V6 "udp fragment"},
	{"IPv6 last fragment", "ip6 frag=1448 syn", V6 "tcp fragment"},
	{"IPv6 last fragment, options behind", "ip6 frag=8 dst udp", V6 "proto60 fragment"},
	{"IPv6 last place for a fragment", "ip6 hop frag=65528 udp", V6 "udp fragment"},
	{"IPv6 atomic fragment", "ip6 frag=0 udp", V6 "udp ports"},
	{"IPv6 atomic fragment of a false UDP length", "ip6 frag=0 udp udplen=9", "malformed"},
	{"IPv6 fragment in a fragment", "ip6 frag=0 frag=8 udp", V6 "udp fragment"},

	{"RS", "ip6=fe80::1>ff02::2 rs", "allowed"},
	{"RS with an option", "ip6=fe80::1>ff02::2 rs data=8", "allowed"},
	{"RS of one without an address", "ip6=::>ff02::2 rs", "allowed"},
	{"RS of fe80::/10's end", "ip6=febf:ffff::1>ff02::2 rs", "allowed"},
	{"RS from beyond fe80::/10", "ip6=fec0::1>ff02::2 rs", "6 icmp6"},
	{"RS of a global address", "ip6=2001:db8::1>ff02::2 rs", "6 icmp6 src6"},
	{"RA", "ip6=fe80::1>ff02::1 ra data=32", "allowed"},
	{"RA of a global address", "ip6=2001:db8::9>ff02::1 ra", "6 icmp6"},
	{"RA of 15 bytes", "ip6=fe80::1>ff02::1 ra length=15", "6 icmp6"},
	{"NS", "ip6=fe80::1>ff02::1:ff02:304 ns=fe80::102:304 data=8", "allowed"},
	{"NS of DAD", "ip6=::>ff02::1:ff02:304 ns=2001:db8::102:304 data=8", "allowed"},
	{"NS of DAD to another group", "ip6=::>ff02::1:ff02:305 ns=2001:db8::102:304", "6 icmp6"},
	{"NS of a global address", "ip6=2001:db8::9>ff02::1:ff02:304 ns=2001:db8::102:304",
	 "allowed"},
	{"NS of a global address to its target", "ip6=2001:db8::9>2001:db8::5 ns=2001:db8::5",
	 "allowed"},
	{"NS of a global address to another", "ip6=2001:db8::9>2001:db8::6 ns=2001:db8::5",
	 "6 icmp6"},
	{"NS of a global address to all", "ip6=2001:db8::9>ff02::1 ns=2001:db8::5", "6 icmp6"},
	{"NS of a link-local address to another", "ip6=fe80::1>2001:db8::6 ns=2001:db8::5",
	 "allowed"},
	{"NS of 23 bytes", "ip6=fe80::1>ff02::1 ns=fe80::5 length=23", "6 icmp6"},
	{"NA", "ip6=fe80::1>ff02::1 na=2001:db8::5", "allowed"},
	{"NA of a global address", "ip6=2001:db8::5>ff02::1 na=2001:db8::5", "allowed"},
	{"NA of a global address for another", "ip6=2001:db8::9>ff02::1 na=2001:db8::5", "6 icmp6"},
	{"NA for another to one", "ip6=2001:db8::9>2001:db8::6 na=2001:db8::5", "6 icmp6"},
	{"NA that answers for another", "ip6=2001:db8::9>2001:db8::6 answer=2001:db8::5",
	 "allowed"},
	{"NA that answers all", "ip6=2001:db8::9>ff02::1 answer=2001:db8::5", "6 icmp6"},
	{"redirect", "ip6=fe80::1>2001:db8::6 redirect", "allowed"},
	{"redirect of a global address", "ip6=2001:db8::9>2001:db8::6 redirect", "6 icmp6"},
	{"redirect of 39 bytes", "ip6=fe80::1>2001:db8::6 redirect length=39", "6 icmp6"},
	{"NS, tagged", "8021q ip6=fe80::1>ff02::1:ff02:304 ns=fe80::102:304", "allowed"},
	{"NS, tagged twice", "8021ad 8021q ip6=fe80::1>ff02::1:ff02:304 ns=fe80::102:304",
	 "allowed"},
	{"RS from afar", "ip6=fe80::1>ff02::2 rs hops=254", "6 icmp6"},
	{"RA from afar", "ip6=fe80::1>ff02::1 ra hops=64", "6 icmp6"},
	{"NS from afar", "ip6=fe80::1>ff02::1:ff02:304 ns=fe80::102:304 hops=0", "6 icmp6"},
	{"NA from afar", "ip6=fe80::1>ff02::1 na=fe80::1 hops=254", "6 icmp6"},
	{"NS of code 1", "ip6=fe80::1>ff02::1:ff02:304 ns=fe80::102:304 code=1", "6 icmp6"},
	{"NS behind an extension", "ip6=fe80::1>fe80::5 dst ns=fe80::5", "6 icmp6"},
	{"NS in an atomic fragment", "ip6=fe80::1>fe80::5 frag=0 ns=fe80::5", "6 icmp6"},
	{"NS in a first fragment", "ip6=fe80::1>fe80::5 frag=0+ ns=fe80::5", "6 icmp6 fragment"},
	{"NS in a later fragment", "ip6=fe80::1>fe80::5 frag=8 ns=fe80::5", "6 icmp6 fragment"},
	{"echo of a hop limit of 255", "ip6=fe80::1>fe80::5 icmp6 data=32 hops=255", "6 icmp6"},
	{"ICMPv6 in IPv4", "ip4 proto=58 data=32", V4 "icmp6"},

	{"ARP", "type=0x806 data=46", "non-ip"},
	{"ARP, tagged", "8021q type=0x806 data=46", "non-ip"},
	{"LLDP", "type=0x88cc data=46", "non-ip"},
	{"802.3 with LLC", "type=0x40 data=64", "non-ip"},
	{"802.3 with SNAP, tagged twice", "8021ad 8021q type=0x40 data=64", "non-ip"},
	{"MPLS", "type=0x8847 data=46", "non-ip"},
	{"PPPoE", "type=0x8864 data=46", "non-ip"},
	{"Ethernet alone", "type=0x806", "non-ip"},
	{"IPv4's type alone", "type=0x800", "malformed"},
	{"IPv6's type alone", "type=0x86dd", "malformed"},
	{"a tag's type alone", "type=0x8100", "malformed"},

	{"1500 bytes", "ip4 udp data=1472", V4 "udp ports"},
	{"a page", "ip4 udp data=4054", V4 "udp ports"},
	{"jumbo", "ip4 tcp data=8960", V4 "tcp ports"},
	{"jumbo, all there is before", "8021ad 8021q ip6 hop dst routing udp data=9000",
	 V6 "udp ports"},
	{"jumbo fragment", "ip4 frag=0+ udp data=9000 udplen=20000", V4 "udp ports fragment"},
	{"jumbo, IPv4 length too long", "ip4 udp data=9000 longer=1", "malformed"},
	{"jumbo padding", "ip6 udp pad=9000", V6 "udp ports"},
	{"16000 bytes", "ip4 udp data=16000", V4 "udp ports"},
};

/* Results: filled once for each policy, since a swap takes long. */
static enum rl_reason found[ARRAY_SIZE(rows)][ARRAY_SIZE(tables)];
static enum rl_reason found_pieces[ARRAY_SIZE(linears)][ARRAY_SIZE(rows)][ARRAY_SIZE(tables)];

static void run_row(size_t i, size_t t)
{
	static struct frame frame;

	frame_build(&frame, rows[i].words);
	found[i][t] = harness_count(xdp, &frame);
	if (frame_runs_as_skb(&frame) && harness_count(tc, &frame) != found[i][t])
		fail_msg("\"%s\" differs at ingress", rows[i].words);
	for (size_t n = 0; n < ARRAY_SIZE(linears) && n < linear_count; n++)
		found_pieces[n][i][t] = run_pieces(&frame, linears[n]);
}

static int run_all(void **state)
{
	(void)state;
	linear_count = ARRAY_SIZE(linears) - !harness_has_empty_linear(jumbo);
	for (size_t t = 0; t < ARRAY_SIZE(tables); t++) {
		policy_set(tables[t].policy);
		for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
			run_row(i, t);
	}
	policy_set("rule any deny");
	return 0;
}

static bool has_fact(const char *facts, const char *fact)
{
	size_t len = strlen(fact);

	for (const char *at = facts; len && (at = strstr(at, fact)); at += len)
		if ((at == facts || at[-1] == ' ') && (!at[len] || at[len] == ' '))
			return true;
	return false;
}

static bool is_parsed(const struct packet_row *row)
{
	return strcmp(row->facts, "malformed") != 0 && strcmp(row->facts, "non-ip") != 0 &&
	       strcmp(row->facts, "allowed") != 0;
}

static enum rl_reason expected_of(const struct packet_row *row, const struct table *table)
{
	if (!is_parsed(row))
		return reason_by_name(row->facts);
	if (!strcmp(table->fact, "any") || has_fact(row->facts, table->fact))
		return RL_REASON_DENIED;
	return RL_REASON_UNMATCHED;
}

static size_t row_judge(const struct packet_row *row, const enum rl_reason reasons[],
			const char *where)
{
	size_t wrong = 0;

	for (size_t t = 0; t < ARRAY_SIZE(tables); t++) {
		enum rl_reason expected = expected_of(row, &tables[t]);

		if (reasons[t] == expected)
			continue;
		print_error("\"%s\"%s under \"%s\" is %s, not %s\n", row->words, where,
			    tables[t].policy, reason_name(reasons[t]), reason_name(expected));
		wrong++;
	}
	return wrong;
}

ROWS(row_test, rows, row)
{
	assert_int_equal(row_judge(row, found[row - rows], ""), 0);
}

static void pieces_test(void **state)
{
	const struct packet_row *row = *state;
	size_t wrong = 0;
	char where[32];

	for (size_t n = 0; n < ARRAY_SIZE(linears) && n < linear_count; n++) {
		snprintf(where, sizeof(where), ", %u bytes linear,", linears[n]);
		wrong += row_judge(row, found_pieces[n][row - rows], where);
	}
	assert_int_equal(wrong, 0);
}

/* ---- every byte missing */

/* The end of the IP packet by its own length; the end of the tags if the frame is not IP. */
static uint32_t stated_end(const struct frame *s)
{
	const uint8_t *ip = s->bytes + s->ip_at;

	if (!s->ip_bytes)
		return s->next_at + 2;
	if (ip[0] >> 4 == 6)
		return s->ip_at + s->ip_bytes + (ip[4] << 8 | ip[5]);
	return s->ip_at + (ip[2] << 8 | ip[3]);
}

/* Cut anywhere before that, it is malformed. */
static void cut_test(void **state)
{
	const struct packet_row *row = *state;
	struct frame frame;
	uint32_t end;

	frame_build(&frame, row->words);
	end = stated_end(&frame);
	if (end > 2500)
		end = 300; /* the rest of a jumbo frame is all alike */
	for (frame.size = 14; frame.size < end; frame.size++) {
		enum rl_reason reason = run(&frame);

		if (reason != RL_REASON_MALFORMED)
			fail_msg("\"%s cut=%u\" is %s", row->words, frame.size,
				 reason_name(reason));
	}
}

/* An extension header that looks like the IPv6 header of neighbour discovery, from afar. */
NAMED_TEST("forged neighbour discovery", forged_test)
{
	struct frame frame;
	uint8_t *extension;

	frame_build(&frame, "ip6=2001:db8::9>2001:db8:1::1 dst=4 ns=fe80::5 hops=64");
	extension = frame.bytes + frame.ip_at + frame.ip_bytes;
	extension[6] = 58;
	extension[7] = 255;
	extension[8] = 0xfe;
	extension[9] = 0x80;
	assert_int_equal(run(&frame), RL_REASON_DENIED);
}

/* Where frames fit a page copies are short: they hold all headers but for long extensions. */
NAMED_TEST("pieces of a small frame", small_test)
{
	static const struct {
		const char *words;
		enum rl_reason reason;
	} frames[] = {
		{"ip4 udp", RL_REASON_DENIED},
		{"8021ad 8021q ip4 options=40 syn data=1000", RL_REASON_DENIED},
		{"8021ad 8021q ip6 hop dst routing frag=0 ah=4 dst hip=9 shim6 udp",
		 RL_REASON_DENIED},
		{"ip6 dst=55 tcp", RL_REASON_DENIED},
		{"ip6 dst=56 tcp", RL_REASON_DENIED},
		{"ip6 dst=57 tcp", RL_REASON_MALFORMED}, /* at 518 of 511 */
	};
	static struct frame frame;

	for (size_t i = 0; i < ARRAY_SIZE(frames); i++) {
		enum rl_reason reason = RL_REASON_COUNT;

		frame_build(&frame, frames[i].words);
		assert_true(harness_pieces(xdp, &frame, ETH_HLEN, &reason));
		if (reason != frames[i].reason)
			fail_msg("\"%s\" is %s", frames[i].words, reason_name(reason));
	}
}

/* Packets with correct lengths that end within a required header. */
static const struct short_row {
	const char *name, *words;
	uint32_t spare; /* bytes at the end that may be missing */
} shorts[] = {
	{"UDP", "ip4 udp", 0},
	{"TCP", "ip4 syn", 0},
	{"SCTP", "ip4 sctp", 0},
	{"ICMP", "ip4 icmp", 0},
	{"TCP with options", "ip4 options=8 syn data=12 doff=8", 0},
	{"data", "ip4 tcp data=9", 9},
	{"unknown protocol", "ip4 proto=89", 8},
	{"first fragment", "ip4 frag=0+ tcp data=8", 8},
	{"later fragment", "ip4 frag=8 tcp data=8", 28},
	{"IPv6 UDP", "ip6 udp", 0},
	{"IPv6 TCP", "8021q ip6 tcp", 0},
	{"ICMPv6", "ip6 icmp6", 0},
	{"extensions", "ip6 hop=2 dst=1 routing ah=4 mobility hip shim6 frag=0+ udp", 0},
	{"extensions and an unknown protocol", "ip6 hop=2 dst=1 ah=4 esp", 8},
	{"later IPv6 fragment", "ip6 hop frag=8 tcp", 20},
	{"eight extensions", "ip6 dst dst dst dst dst dst dst dst udp", 0},
};

static void put_length(struct frame *frame)
{
	bool ip6 = frame->bytes[frame->ip_at] >> 4 == 6;
	uint32_t length = frame->size - frame->ip_at - (ip6 ? frame->ip_bytes : 0);
	uint8_t *at = frame->bytes + frame->ip_at + (ip6 ? 4 : 2);

	at[0] = length >> 8;
	at[1] = length;
}

static void short_test(void **state)
{
	const struct short_row *row = *state;
	struct frame frame;
	uint32_t whole;

	frame_build(&frame, row->words);
	whole = frame.size;
	for (frame.size = frame.ip_at + frame.ip_bytes; frame.size <= whole; frame.size++) {
		bool enough = frame.size + row->spare >= whole;
		enum rl_reason reason;

		put_length(&frame);
		reason = run(&frame);
		if (reason != (enough ? RL_REASON_DENIED : RL_REASON_MALFORMED))
			fail_msg("%u bytes of \"%s\" are %s", frame.size, row->words,
				 reason_name(reason));
	}
}

AT_START(rows_add_each)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		test_add_named(pieces_test, &rows[i], "pieces: %s", rows[i].name);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (strcmp(rows[i].facts, "malformed") != 0)
			test_add_named(cut_test, &rows[i], "cut: %s", rows[i].name);
	for (size_t i = 0; i < ARRAY_SIZE(shorts); i++)
		test_add_named(short_test, &shorts[i], "short: %s", shorts[i].name);
}

/* ---- no packet escapes */

static uint32_t random_below(uint32_t bound)
{
	static uint64_t seed = 20240614;

	return random_under(&seed, bound);
}

static uint32_t type_at(const struct frame *frame, uint32_t at)
{
	return at + 2 <= frame->size ? frame->bytes[at] << 8 | frame->bytes[at + 1] : 0;
}

static bool is_tag(uint32_t type)
{
	return type == 0x8100 || type == 0x88a8;
}

static uint32_t type_place(const struct frame *frame)
{
	uint32_t at = 12;

	for (int tags = 0; tags < 2 && is_tag(type_at(frame, at)); tags++)
		at += 4;
	return at;
}

/* Neighbour discovery: ICMPv6 of its types right behind an IPv6 header with a hop limit of 255. */
static bool may_be_allowed(const struct frame *frame)
{
	uint32_t at = type_place(frame);
	const uint8_t *ip = frame->bytes + at + 2;

	return type_at(frame, at) == 0x86dd && at + 2 + 48 <= frame->size && ip[6] == 58 &&
	       ip[7] == 255 && ip[40] >= 133 && ip[40] <= 137 && !ip[41];
}

/* Only frames that are not IP may pass, behind two tags at most. */
static bool may_pass(const struct frame *frame)
{
	uint32_t at = type_place(frame);

	return at + 2 <= frame->size && !is_tag(type_at(frame, at)) &&
	       type_at(frame, at) != 0x0800 && type_at(frame, at) != 0x86dd;
}

/* Under `any deny`, whichever bytes are changed. */
NAMED_TEST("no packet escapes", mutation_test)
{
	struct frame frame;

	for (unsigned int i = 0; i < 60000; i++) {
		const struct packet_row *row = &rows[random_below(ARRAY_SIZE(rows))];
		enum rl_reason reason;

		frame_build(&frame, row->words);
		if (frame.size > 1600)
			continue;
		for (uint32_t n = random_below(4); n < 4; n++)
			frame.bytes[12 + random_below(70)] = random_below(256);
		if (!random_below(4))
			frame.size = 14 + random_below(frame.size - 13);
		reason = run(&frame);
		if (reason == RL_REASON_ALLOWED)
			assert_true(may_be_allowed(&frame));
		else if (reason != RL_REASON_DENIED && reason != RL_REASON_MALFORMED)
			assert_true(reason == RL_REASON_NON_IP && may_pass(&frame));
	}
}

FIXTURE(run_all, NULL)
