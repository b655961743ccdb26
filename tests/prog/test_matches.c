// SPDX-License-Identifier: GPL-2.0-only
/* rlctl-policy(5): which packets a rule's matches hold for, plain and under `not`. Each row is a
 * match and a packet; the packet's words are written for IPv4 and IPv6, with tags and further
 * headers, and each of these packets has a source of its own, for which there is a rule with the
 * match, and one with `not`. So one policy has all of them, and the result is the same at xdp, at
 * ingress, and for a frame in pieces, however little of it is linear.
 */
#include <arpa/inet.h>
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <string.h>

#include "base/units.h"
#include "harness.h"

/* The result of the match for the packet; it lacks what the match asks for: `not` does not hold
 * either; it may hide it: to deny, both hold.
 */
enum expected { HOLDS, FAILS, LACKS, HIDES };

#define SIXTEEN "00112233445566778899aabbccddeeff"
#define ODD     "1,3,5,7,9,11,13,15,17,19,21,23,25,27,29,31"

/* IP: each of `beginnings`; ICMP: icmp or icmp6, as the packet's family has it. */
static const struct row {
	const char *match; /* the last one; `not` stands in front of it */
	const char *words;
	enum expected expected;
	const char *besides; /* matches before it; NULL: none */
} rows[] = {
	{"tcp", "IP tcp", HOLDS, NULL},
	{"tcp", "IP udp", FAILS, NULL},
	{"udp", "IP frag=8 udp", HOLDS, NULL},
	{"proto 89", "IP proto=90", FAILS, NULL},

	{"sport 1000", "IP udp", HOLDS, NULL},
	{"sport 999", "IP tcp", FAILS, NULL},
	{"dport 1999-2000", "IP sctp", HOLDS, NULL},
	{"dport 2001-65535", "IP udp", FAILS, NULL},
	{"dport 2000", "IP frag=0+ udp", HOLDS, NULL},
	{"dport 2000", "IP frag=8 udp", LACKS, NULL},
	{"sport 0", "IP ping=1", LACKS, NULL},
	{"sport 1-65535", "IP gre", LACKS, NULL},
	{"sport 1-65535", "IP esp", LACKS, NULL},
	{"dport 1,3,2000-2002,65535", "IP udp=1>0", FAILS, NULL},
	{"dport 1,3,2000-2002,65535", "IP udp=1>1", HOLDS, NULL},
	{"dport 1,3,2000-2002,65535", "IP udp=1>2", FAILS, NULL},
	{"dport 1,3,2000-2002,65535", "IP tcp=1>3", HOLDS, NULL},
	{"dport 1,3,2000-2002,65535", "IP tcp=1>1999", FAILS, NULL},
	{"dport 1,3,2000-2002,65535", "IP tcp=1>2001", HOLDS, NULL},
	{"dport 1,3,2000-2002,65535", "IP tcp=1>2003", FAILS, NULL},
	{"dport 1,3,2000-2002,65535", "IP tcp=1>65534", FAILS, NULL},
	{"dport 1,3,2000-2002,65535", "IP tcp=1>65535", HOLDS, NULL},
	{"dport 1,3,2000-2002,65535", "IP frag=8 tcp=1>1", LACKS, NULL},
	{"dport 1,3,2000-2002,65535", "IP gre", LACKS, NULL},
	{"sport " ODD, "IP udp=31>2", HOLDS, NULL},
	{"sport " ODD, "IP udp=30>2", FAILS, NULL},
	{"dport 5,7", "ip4 udp=11>7", HOLDS, "sport 10-20,30-40"},
	{"dport 5,7", "ip4 udp=21>7", LACKS, "sport 10-20,30-40"},
	{"dport 5,7", "ip4 udp=30>6", FAILS, "sport 10-20,30-40"},
	{"dport 5,7", "ip4 udp=25>7", HOLDS, "not sport 10-20,30-40"},
	{"dport 6", "ip4 udp=40>6", LACKS, "not sport 10-20,30-40"},
	{"dport 6", "ip4 udp=9>6", HOLDS, "not sport 10-20,30-40"},

	/* More conditions than a rule has room for, without and with what rl_extra says. */
	{"dst 198.51.100.1", "ip4 udp=9>2", HOLDS, "not tcp not fragment not sport 10"},
	{"dst 198.51.100.1", "ip4 udp=10>2", LACKS, "not tcp not fragment not sport 10"},
	{"dst 198.51.100.1", "ip4 frag=0+ udp=9>2", LACKS, "not tcp not fragment not sport 10"},
	{"dport " ODD, "IP udp=31>29", HOLDS, "udp sport " ODD " ttl 64 not length 1000"},
	{"dport " ODD, "IP udp=31>30", FAILS, "udp sport " ODD " ttl 64 not length 1000"},
	{"dport " ODD, "IP udp=30>29", LACKS, "udp sport " ODD " ttl 64 not length 1000"},
	{"dport " ODD, "IP udp=31>29 ttl=9", LACKS, "udp sport " ODD " ttl 64 not length 1000"},

	{"dst 198.51.100.1", "ip4 gre", HOLDS, NULL},
	{"dst 198.51.100.0", "ip4 udp", FAILS, NULL},
	{"dst 2001:db8:1::/48", "ip6 udp", HOLDS, NULL},

	{"syn", "IP syn", HOLDS, NULL},
	{"syn", "IP synack", FAILS, NULL},
	{"syn", "IP frag=0+ syn", HOLDS, NULL},
	{"syn", "IP frag=8 syn", LACKS, NULL},
	{"syn", "IP udp", LACKS, NULL},
	{"flags syn", "IP syn", HOLDS, NULL},
	{"flags syn", "IP syn", HOLDS, "tcp"},
	{"flags syn", "IP synack", FAILS, NULL},
	{"flags syn", "IP tcp flags=0x82", FAILS, NULL},
	{"flags syn/syn", "IP synack", HOLDS, NULL},
	{"flags syn/syn,ack", "IP tcp flags=0xea", HOLDS, NULL},
	{"flags none", "IP tcp flags=0", HOLDS, NULL},
	{"flags none", "IP tcp flags=1", FAILS, NULL},
	{"flags none", "IP tcp flags=128", FAILS, NULL},
	{"flags none/rst", "IP tcp flags=0xfb", HOLDS, NULL},
	{"flags fin,psh,urg", "IP tcp flags=0x29", HOLDS, NULL},
	{"flags fin,psh,urg", "IP tcp flags=0x2b", FAILS, NULL},
	{"flags ece,cwr/ece,cwr", "IP tcp flags=0xd2", HOLDS, NULL},
	{"flags ece,cwr/ece,cwr", "IP tcp flags=0x92", FAILS, NULL},
	{"flags fin,syn,rst,psh,ack,urg,ece,cwr", "IP tcp flags=0xff", HOLDS, NULL},
	{"flags ack", "IP tcp data=20 doff=10", HOLDS, NULL},
	{"flags ack", "IP frag=0+ tcp", HOLDS, NULL},
	{"flags ack", "IP frag=8 tcp", LACKS, NULL},
	{"flags none", "IP frag=8 tcp", LACKS, NULL},
	{"flags none", "IP udp data=20", LACKS, NULL},
	{"flags none", "IP sctp data=20", LACKS, NULL},
	{"flags none", "IP ping=1 data=20", LACKS, NULL},
	{"flags none", "IP gre data=20", LACKS, NULL},

	{"length 32", "ip4 udp data=4", HOLDS, NULL},
	{"length 32-40", "8021ad 8021q ip4 udp data=4", HOLDS, NULL},
	{"length 33-65535", "ip4 udp data=4", FAILS, NULL},
	{"length 0-31", "ip4 udp data=4", FAILS, NULL},
	{"length 20-32", "ip4 udp data=4 pad=18", HOLDS, NULL},
	{"length 40", "ip4 options=8 udp data=4", HOLDS, NULL},
	{"length 32", "ip4 frag=8 udp data=4", HOLDS, NULL},
	{"length 28", "ip4 proto=89", HOLDS, NULL},
	{"length 9000", "ip4 udp data=8972", HOLDS, NULL},
	{"length 9001-65535", "ip4 udp data=8972", FAILS, NULL},
	{"length 52", "ip6 udp data=4", HOLDS, NULL},
	{"length 52", "8021q ip6 udp data=4 pad=30", HOLDS, NULL},
	{"length 92", "ip6 hop dst=3 udp data=4", HOLDS, NULL},
	{"length 52", "ip6 hop dst=3 udp data=4", FAILS, NULL},
	{"length 60", "ip6 frag=8 udp data=4", HOLDS, NULL},

	{"ttl 64", "IP udp", HOLDS, NULL},
	{"ttl 64", "IP udp ttl=63", FAILS, NULL},
	{"ttl 1-254", "IP udp ttl=0", FAILS, NULL},
	{"ttl 1-254", "IP udp ttl=1", HOLDS, NULL},
	{"ttl 1-254", "IP gre ttl=254", HOLDS, NULL},
	{"ttl 1-254", "IP frag=8 udp ttl=255", FAILS, NULL},

	{"dscp ef", "IP udp dscp=46", HOLDS, NULL},
	{"dscp ef", "IP udp dscp=47", FAILS, NULL},
	{"dscp ef", "IP frag=8 tcp dscp=46", HOLDS, NULL},
	{"dscp 0", "IP esp dscp=0", HOLDS, NULL},
	{"dscp 0", "IP esp dscp=1", FAILS, NULL},
	{"dscp 63", "IP udp dscp=63", HOLDS, NULL},
	{"dscp 63", "IP udp dscp=31", FAILS, NULL},

	{"vlan 0", "ip4 udp", HOLDS, NULL},
	{"vlan 1-4095", "ip6 udp", FAILS, NULL},
	{"vlan 7", "8021q=7 ip6 hop tcp", HOLDS, NULL},
	{"vlan 0", "8021q=7 ip4 udp", FAILS, NULL},
	{"vlan 7", "8021q=0xf007 ip4 frag=8 udp", HOLDS, NULL},
	{"vlan 0", "8021q=0xe000 ip4 gre", HOLDS, NULL},
	{"vlan 300-400", "8021q=401 ip4 udp", FAILS, NULL},
	{"vlan 4095", "8021ad=0xffff 8021q=1 ip4 udp data=1400", HOLDS, NULL},
	{"vlan 5", "8021ad=5 8021q=9 ip6 udp", HOLDS, NULL},
	{"vlan 9", "8021q=5 8021q=9 ip4 icmp", FAILS, NULL},

	{"icmp-type echo-request", "IP ping=1", HOLDS, "ICMP"},
	{"icmp-type echo-request", "IP pong=1", FAILS, "ICMP"},
	{"icmp-type 3", "IP ping=1 icmptype=3 code=9", HOLDS, "ICMP"},
	{"icmp-type 3 code 1", "IP ping=1 icmptype=3 code=1", HOLDS, "ICMP"},
	{"icmp-type 3 code 1", "IP ping=1 icmptype=3 code=2", FAILS, "ICMP"},
	{"icmp-type 3 code 1", "IP ping=1 icmptype=4 code=1", FAILS, "ICMP"},
	{"icmp-type 3 code 0", "IP ping=1 icmptype=3", HOLDS, "ICMP"},
	{"icmp-type 255", "IP ping=1 icmptype=255", HOLDS, "ICMP"},
	{"icmp-type echo-request", "IP frag=0+ ping=1", HOLDS, "ICMP"},
	{"icmp-type echo-request", "IP frag=8 ping=1", LACKS, "ICMP"},
	{"icmp-type 0", "IP udp", LACKS, "ICMP"},

	{"payload 0 deadbeef", "IP udp bytes=deadbeef", HOLDS, NULL},
	{"payload 0 deadbeef", "IP udp bytes=deadbeef00 pad=40", HOLDS, "udp"},
	{"payload 0 deadbeef", "IP udp bytes=deadbeee", FAILS, NULL},
	{"payload 0 deadbeef", "IP udp bytes=5eadbeef", FAILS, NULL},
	{"payload 0 deadbeef", "IP udp bytes=deadbe", LACKS, NULL},
	{"payload 0 deadbeda", "IP udp bytes=deadbe pad=4", LACKS, NULL},
	{"payload 0 deadbe", "IP udp bytes=deadbe pad=4", HOLDS, NULL},
	{"payload 0 deadbeda", "IP udp bytes=deadbeda udplen=11", LACKS, NULL},
	{"payload 0 00", "IP udp", LACKS, NULL},
	{"payload 4 0f/0f", "IP udp bytes=00000000ff", HOLDS, NULL},
	{"payload 4 0f/0f", "IP udp bytes=00000000f0", FAILS, NULL},
	{"payload 4 0f/0f", "IP udp bytes=000000ff", LACKS, NULL},
	{"payload 1 00ff00/00ff00", "IP udp bytes=11aaffbb", HOLDS, NULL},
	{"payload 0 " SIXTEEN, "IP udp bytes=" SIXTEEN, HOLDS, NULL},
	{"payload 1 " SIXTEEN, "IP udp bytes=" SIXTEEN, LACKS, NULL},
	{"payload 1 " SIXTEEN, "IP udp bytes=aa" SIXTEEN, HOLDS, NULL},
	{"payload 512 " SIXTEEN, "IP udp data=512 bytes=" SIXTEEN "77", HOLDS, NULL},
	{"payload 512 " SIXTEEN, "IP udp data=512 bytes=" SIXTEEN, HOLDS, NULL},
	{"payload 512 " SIXTEEN, "IP udp data=512 bytes=00112233445566778899aabbccddeefe", FAILS,
	 NULL},
	{"payload 512 " SIXTEEN, "IP udp data=512 bytes=00112233445566778899aabbccddee", LACKS,
	 NULL},
	{"payload 511 da00", "IP udp data=512 bytes=" SIXTEEN, HOLDS, NULL},
	{"payload 0 deadbeef", "IP tcp bytes=deadbeef", HOLDS, "tcp"},
	{"payload 0 deadbeef", "IP tcp data=12 bytes=deadbeef doff=8", HOLDS, NULL},
	{"payload 0 deadbeef", "IP tcp data=40 bytes=deadbeef doff=15", HOLDS, NULL},
	{"payload 12 deadbeef", "IP tcp data=12 bytes=deadbeef", HOLDS, NULL},
	{"payload 0 deadbeef", "IP tcp data=12 bytes=deadbeef", FAILS, NULL},
	{"payload 0 deadbeef", "IP tcp data=12 bytes=deadbe doff=8", LACKS, NULL},
	{"payload 0 deadbeef", "IP ping=1 bytes=deadbeef", HOLDS, NULL},
	{"payload 0 deadbeef", "IP ping=1 bytes=deadbeef", HOLDS, "ICMP"},
	{"payload 0 deadbeef", "IP ping=1", LACKS, NULL},
	{"payload 0 deadbeef", "IP frag=0+ udp bytes=deadbeef", HOLDS, NULL},
	{"payload 0 deadbeef", "IP frag=8 udp bytes=deadbeef", LACKS, NULL},
	{"payload 0 deadbeef", "IP frag=0+ udp", HIDES, NULL},
	{"payload 0 deadbeef", "IP frag=0+ udp bytes=deadbe", HIDES, NULL},
	{"payload 0 deadbeef", "IP frag=0+ udp bytes=00adbe pad=9", HIDES, NULL},
	{"payload 0 deadbeef", "IP frag=0+ udp bytes=00adbeef", FAILS, NULL},
	{"payload 512 " SIXTEEN, "IP frag=0+ tcp data=520 doff=10", HIDES, NULL},
	{"payload 8 00", "IP frag=0+ ping=1 data=8", HIDES, "ICMP"},
	{"payload 0 00", "IP frag=0+ sctp", LACKS, NULL},
	{"payload 0 00", "IP frag=0+ gre data=8", LACKS, NULL},
	{"payload 0 00", "ip6 frag=0 udp", LACKS, NULL},
	{"payload 0 deadbeef", "IP sctp bytes=deadbeef", LACKS, NULL},
	{"payload 0 deadbeef", "IP gre bytes=deadbeef", LACKS, NULL},
	{"payload 0 deadbeef", "IP esp bytes=deadbeef", LACKS, NULL},
	{"payload 0 deadbeef", "IP udp data=8000 bytes=deadbeef", FAILS, NULL},

	{"fragment", "IP udp", FAILS, NULL},
	{"fragment", "IP frag=0+ udp", HOLDS, NULL},
	{"fragment", "IP frag=8 udp", HOLDS, NULL},

	{"ttl 9-11", "IP tcp bytes=4142 flags=24 ttl=10 dscp=8", HOLDS,
	 "tcp sport 1000,1002 flags ack,psh payload 1 42 dscp cs1"},
	{"ttl 9-11", "IP tcp bytes=4142 flags=24 ttl=10 dscp=8", LACKS,
	 "tcp sport 1000,1002 not flags ack,psh payload 1 42 dscp cs1"},
	{"ttl 9-11", "IP tcp bytes=4142 flags=24 ttl=12 dscp=8", FAILS,
	 "tcp not sport 999,1002 not payload 1 41 not dscp cs2 not length 0-39"},
};

static const char *const beginnings[] = {
	"ip4", "ip6", "8021q ip4", "8021ad 8021q ip6", "ip4 options=8", "ip6 hop dst=3",
};

#define PACKETS_MAX (ARRAY_SIZE(rows) * ARRAY_SIZE(beginnings))

/* One row; `number` of its sources, plain and under `not`. */
struct packet_row {
	const struct row *row;
	char words[200];
	bool ipv6;
};

static struct packet_row packets[PACKETS_MAX];
static size_t packet_count;

HARNESS(xdp, .program_uses = RL_USE_PROGRAM)
HARNESS(tc, .hook = RL_HOOK_INGRESS, .program_uses = RL_USE_PROGRAM)
HARNESS(jumbo, .mtu = 9000, .program_uses = RL_USE_PROGRAM) /* its frames come in pieces */
static const uint32_t linears[] = {34, ETH_HLEN, 0};
static size_t linear_count; /* of them, that this kernel's test run makes */

static void packet_add(const struct row *row, const char *beginning, const char *rest)
{
	struct packet_row *packet = &packets[packet_count++];

	packet->row = row;
	snprintf(packet->words, sizeof(packet->words), "%s%s", beginning, rest);
	packet->ipv6 = strstr(packet->words, "ip6") != NULL;
}

static void packets_make(void)
{
	for (const struct row *row = rows; row < rows + ARRAY_SIZE(rows); row++) {
		if (strncmp(row->words, "IP ", 3) != 0) {
			packet_add(row, "", row->words);
			continue;
		}
		for (size_t i = 0; i < ARRAY_SIZE(beginnings); i++)
			packet_add(row, beginnings[i], row->words + 2);
	}
}

static void source_of(const struct packet_row *packet, bool negated, uint8_t out[16])
{
	uint32_t number = 2 * (packet - packets) + negated;

	if (packet->ipv6)
		address_ip6(out, number, 1);
	else
		address_ip4(out, number);
}

static int rule_print_of(char *out, size_t size, const struct packet_row *packet, bool negated)
{
	const char *besides = packet->row->besides ? packet->row->besides : "";
	char text[INET6_ADDRSTRLEN];
	uint8_t addr[16];

	source_of(packet, negated, addr);
	inet_ntop(packet->ipv6 ? AF_INET6 : AF_INET, packet->ipv6 ? addr : addr + 12, text,
		  sizeof(text));
	if (!strcmp(besides, "ICMP"))
		besides = packet->ipv6 ? "icmp6" : "icmp";
	return snprintf(out, size, "%s %s %s%s deny\n", text, besides, negated ? "not " : "",
			packet->row->match);
}

static void policies_set(void)
{
	static char text[1 << 18];
	size_t used = 0;

	for (size_t i = 0; i < 2 * packet_count; i++)
		used += rule_print_of(text + used, sizeof(text) - used, &packets[i / 2], i % 2);
	assert_true(used < sizeof(text));
	harness_policy(xdp, text);
	harness_policy(tc, text);
	harness_policy(jumbo, text);
}

static int set_up(void **state)
{
	(void)state;
	linear_count = ARRAY_SIZE(linears) - !harness_has_empty_linear(jumbo);
	packets_make();
	policies_set();
	return 0;
}

static size_t judge(const struct packet_row *packet, bool negated, enum rl_reason reason,
		    const char *where)
{
	enum expected holds = negated ? FAILS : HOLDS;
	enum rl_reason expected = packet->row->expected == holds || packet->row->expected == HIDES
					  ? RL_REASON_DENIED
					  : RL_REASON_UNMATCHED;

	if (reason == expected)
		return 0;
	print_error("%s: \"%s\" under \"%s %s%s\" is %s, not %s\n", where, packet->words,
		    packet->row->besides ? packet->row->besides : "", negated ? "not " : "",
		    packet->row->match, reason_name(reason), reason_name(expected));
	return 1;
}

static size_t packet_judge(const struct packet_row *packet, bool negated)
{
	static struct frame frame;
	uint8_t addr[16];
	size_t wrong;

	frame_build(&frame, packet->words);
	source_of(packet, negated, addr);
	frame_source(&frame, addr);
	wrong = judge(packet, negated, harness_count(xdp, &frame), "xdp");
	if (frame_runs_as_skb(&frame))
		wrong += judge(packet, negated, harness_count(tc, &frame), "ingress");
	for (size_t i = 0; i < ARRAY_SIZE(linears) && i < linear_count; i++) {
		enum rl_reason reason = RL_REASON_COUNT;

		assert_true(harness_pieces(jumbo, &frame, linears[i], &reason));
		wrong += judge(packet, negated, reason, "in pieces");
	}
	return wrong;
}

static void row_test(void **state)
{
	const struct row *row = *state;
	size_t wrong = 0;

	for (size_t i = 0; i < packet_count; i++)
		if (packets[i].row == row)
			wrong += packet_judge(&packets[i], false) + packet_judge(&packets[i], true);
	assert_int_equal(wrong, 0);
}

AT_START(rows_add_each)
{
	for (const struct row *row = rows; row < rows + ARRAY_SIZE(rows); row++)
		test_add_named(row_test, row, "%s%s%s: %s", row->besides ?: "",
			       row->besides ? " " : "", row->match, row->words);
}

/* ---- what the rows do not say */

/* A packet that the kernel has merged counts with the length of its packets on the wire. */
NAMED_TEST("length of segments", segments_test)
{
	static const struct {
		const char *words;
		uint32_t gso_size, gso_segs;
		uint32_t packets, headers, length; /* expected */
	} merged[] = {
		{"ip4 tcp data=2800", 700, 4, 4, 54, 740},
		{"ip4 tcp data=2812 doff=8", 700, 4, 4, 66, 752},
		{"ip4 tcp data=2801", 700, 0, 5, 54, 740},
		{"8021q ip6 hop udp data=2800", 700, 4, 4, 74, 756},
		{"ip4 tcp data=700", 700, 1, 1, 54, 740},
		{"ip4 tcp data=2800", 0, 0, 1, 54, 2840},
	};
	struct frame frame;
	char policy[80];

	for (size_t i = 0; i < ARRAY_SIZE(merged); i++) {
		struct __sk_buff skb = {.gso_size = merged[i].gso_size,
					.gso_segs = merged[i].gso_segs};
		uint32_t count = merged[i].packets, more = (count - 1) * merged[i].headers;

		snprintf(policy, sizeof(policy), "any length %u deny", merged[i].length);
		harness_policy(tc, policy);
		frame_build(&frame, merged[i].words);
		assert_int_equal(harness_skb(tc, &frame, &skb, count, frame.size + more),
				 RL_REASON_DENIED);
	}
}

/* An address is in no prefix of the other family. */
NAMED_TEST("families", families_test)
{
	static const struct {
		const char *policy;
		enum rl_reason ip4, ip6;
	} policies[] = {
		{"any not src 192.0.2.0/24 deny", RL_REASON_UNMATCHED, RL_REASON_DENIED},
		{"any not src 192.0.2.0 deny", RL_REASON_DENIED, RL_REASON_DENIED},
		{"any not src 2001:db8::/32 deny", RL_REASON_DENIED, RL_REASON_UNMATCHED},
		{"any not src ::/0 deny", RL_REASON_DENIED, RL_REASON_UNMATCHED},
		{"any not dst 0.0.0.0/0 deny", RL_REASON_UNMATCHED, RL_REASON_DENIED},
		{"any not dst 203.0.113.1 deny", RL_REASON_DENIED, RL_REASON_DENIED},
	};

	for (size_t i = 0; i < ARRAY_SIZE(policies); i++) {
		harness_policy(xdp, policies[i].policy);
		harness_expect(xdp, policies[i].policy, "ip4 udp", policies[i].ip4);
		harness_expect(xdp, policies[i].policy, "ip6 udp", policies[i].ip6);
	}
}

/* All packets of known sources share a limit, and those of new ones do not meet it: it is no limit
 * of every packet, nor of those of new sources. */
NAMED_TEST("not new-source", known_test)
{
	uint8_t addr[16];

	harness_renew(xdp, "device not new-source limit 1/d burst 1 per rule");
	for (uint32_t i = 0; i < 3; i++) {
		address_ip4(addr, 0x10000 + i);
		assert_int_equal(harness_run_from(xdp, addr), RL_REASON_UNMATCHED);
	}
	assert_int_equal(harness_run_from(xdp, addr), RL_REASON_WITHIN);
	assert_int_equal(harness_run_from(xdp, addr), RL_REASON_OVER);
	address_ip4(addr, 0x20000);
	assert_int_equal(harness_run_from(xdp, addr), RL_REASON_UNMATCHED);
}

/* The program has the code for these words where the policy uses them, and no more. */
NAMED_TEST("one policy after the other", swapped_test)
{
	for (int i = 0; i < 3; i++) {
		harness_policy(xdp, "any udp payload 0 aa deny; any tcp not ttl 64 deny");
		harness_expect(xdp, "payload", "ip4 udp bytes=aa", RL_REASON_DENIED);
		harness_expect(xdp, "ttl", "ip4 tcp ttl=9", RL_REASON_DENIED);
		harness_policy(xdp, "any udp payload 300 bb deny; any length 21-28 deny");
		harness_expect(xdp, "payload", "ip4 udp bytes=aa", RL_REASON_UNMATCHED);
		harness_expect(xdp, "payload", "ip4 udp data=300 bytes=bb", RL_REASON_DENIED);
		harness_expect(xdp, "length", "ip4 udp", RL_REASON_DENIED);
		harness_expect(xdp, "ttl", "ip4 tcp ttl=9", RL_REASON_UNMATCHED);
	}
}

/* A first fragment that ends before the bytes: only who denies it fears them. */
NAMED_TEST("who fears what fragments hide", fragments_test)
{
	static const char *const ends[] = {"allow", "limit 1/d burst 1 per rule", "deny"};
	char policy[80];

	for (size_t i = 0; i < 2 * ARRAY_SIZE(ends); i++) {
		snprintf(policy, sizeof(policy), "any udp %spayload 0 aa %s", i % 2 ? "not " : "",
			 ends[i / 2]);
		harness_policy(xdp, policy);
		harness_expect(xdp, policy, "ip4 frag=0+ udp",
			       i / 2 == 2 ? RL_REASON_DENIED : RL_REASON_UNMATCHED);
		harness_expect(xdp, policy, "ip4 udp", RL_REASON_UNMATCHED);
	}
}

FIXTURE(set_up, NULL)
