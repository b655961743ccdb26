// SPDX-License-Identifier: GPL-2.0-only
/* Patterns of packets: classes and words, the heaviest of many and of a flood, and the rules for
 * them, which the parser accepts and which hold for the packets. */
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "cases.h"
#include "policy/policy.h"
#include "watch/suggest/suggest.h"

struct packet {
	const char *source;
	uint8_t proto;
	int dport; /* -1: without ports */
	uint16_t length;
	uint8_t ttl, flags;
	uint8_t segments;
	bool cut; /* no byte of the frame was kept */
};

/* The frame is the IP packet. */
static struct rl_sample sample_of(const struct packet *packet)
{
	struct rl_sample s = {.packets = packet->segments ? packet->segments : 1,
			      .proto = packet->proto,
			      .has_ports = packet->dport >= 0,
			      .dport = (uint16_t)(packet->dport >= 0 ? packet->dport : 0),
			      .reason = RL_REASON_OVER};
	uint16_t length = packet->length;
	uint8_t len, *ip = s.frame;
	bool ipv4;

	assert_int_equal(prefix_parse(packet->source, s.src, &len, NULL), 0);
	ipv4 = prefix_is_ipv4(s.src, 128);
	ip[0] = ipv4 ? 0x45 : 0x60;
	length -= ipv4 ? 0 : 40;
	ip[ipv4 ? 2 : 4] = (uint8_t)(length >> 8);
	ip[ipv4 ? 3 : 5] = (uint8_t)length;
	ip[ipv4 ? 8 : 7] = packet->ttl;
	ip[ipv4 ? 9 : 6] = packet->proto;
	memcpy(ip + (ipv4 ? 12 : 8), s.src + (ipv4 ? 12 : 0), ipv4 ? 4 : 16);
	ip[(ipv4 ? 20 : 40) + 13] = packet->flags;
	s.kept = packet->cut ? 0 : ipv4 ? 40 : 60;
	return s;
}

static const struct printed {
	const char *name;
	struct packet packet;
	const char *text, *network, *match;
} printeds[] = {
	{"UDP",
	 {"198.18.3.4", 17, 27015, 78, 250, 0, 0, 0},
	 "udp/27015 length 64-95 ttl 240-255",
	 "198.18.0.0/16",
	 "udp dport 27015 length 64-95 ttl 240-255"},
	{"the lowest of each class",
	 {"10.1.0.1", 17, 0, 64, 64, 0, 0, 0},
	 "udp/0 length 64-95 ttl 64-79",
	 "10.1.0.0/16",
	 "udp dport 0 length 64-95 ttl 64-79"},
	{"the highest, and of all",
	 {"10.1.0.1", 17, 65535, 65535, 255, 0, 0, 0},
	 "udp/65535 length 65504-65535 ttl 240-255",
	 "10.1.0.0/16",
	 "udp dport 65535 length 65504-65535 ttl 240-255"},
	{"the lowest of all",
	 {"10.1.0.1", 17, 1, 31, 15, 0, 0, 0},
	 "udp/1 length 0-31 ttl 0-15",
	 "10.1.0.0/16",
	 "udp dport 1 length 0-31 ttl 0-15"},
	{"SYNs, of IPv6",
	 {"2001:db8:1::1", 6, 443, 60, 64, 2, 0, 0},
	 "tcp/443 flags syn length 32-63 ttl 64-79",
	 "2001:db8::/32",
	 "tcp dport 443 flags syn length 32-63 ttl 64-79"},
	{"two flags",
	 {"10.1.0.1", 6, 443, 60, 64, 0x12, 0, 0},
	 "tcp/443 flags syn,ack length 32-63 ttl 64-79",
	 "10.1.0.0/16",
	 "tcp dport 443 flags syn,ack length 32-63 ttl 64-79"},
	{"no flag",
	 {"10.1.0.1", 6, 80, 40, 64, 0, 0, 0},
	 "tcp/80 flags none length 32-63 ttl 64-79",
	 "10.1.0.0/16",
	 "tcp dport 80 flags none length 32-63 ttl 64-79"},
	{"ICMP",
	 {"10.1.0.1", 1, -1, 84, 1, 0, 0, 0},
	 "icmp length 64-95 ttl 0-15",
	 "10.1.0.0/16",
	 "icmp length 64-95 ttl 0-15"},
	{"ICMPv6",
	 {"2001:db8::1", 58, -1, 104, 64, 0, 0, 0},
	 "icmp6 length 96-127 ttl 64-79",
	 "2001:db8::/32",
	 "icmp6 length 96-127 ttl 64-79"},
	{"a later fragment, without ports",
	 {"10.1.0.1", 17, -1, 1500, 57, 0, 0, 0},
	 "udp length 1472-1503 ttl 48-63 fragment",
	 "10.1.0.0/16",
	 "udp length 1472-1503 ttl 48-63 fragment"},
	{"a later fragment of TCP has no flags",
	 {"10.1.0.1", 6, -1, 1500, 57, 2, 0, 0},
	 "tcp length 1472-1503 ttl 48-63 fragment",
	 "10.1.0.0/16",
	 "tcp length 1472-1503 ttl 48-63 fragment"},
	{"a protocol without a name",
	 {"10.1.0.1", 99, -1, 100, 57, 0, 0, 0},
	 "proto 99 length 96-127 ttl 48-63",
	 "10.1.0.0/16",
	 "proto 99 length 96-127 ttl 48-63"},
	{"several segments have no length",
	 {"10.1.0.1", 6, 80, 4000, 64, 0x10, 3, 0},
	 "tcp/80 flags ack ttl 64-79",
	 "10.1.0.0/16",
	 "tcp dport 80 flags ack ttl 64-79"},
	{"without its headers",
	 {"10.1.0.1", 17, 53, 100, 64, 0, 0, 1},
	 "udp/53",
	 "10.1.0.0/16",
	 "udp dport 53"},
};

ROWS(is_printed, printeds, row)
{
	struct rl_sample sample = sample_of(&row->packet);
	struct pattern pattern = pattern_of(&sample, true);
	char text[PATTERN_TEXT_MAX], rule[PATTERN_RULE_MAX], network[PREFIX_TEXT_MAX];
	const struct policy_context ctx = {.mtu = 1500};
	static struct policy_errors errors;
	CLEARED_POLICY struct policy policy = {0};
	char canonical[RULE_TEXT_MAX];

	pattern_print(text, &pattern, false);
	assert_string_equal(text, row->text);
	pattern_network_print(network, sizeof(network), pattern.network);
	assert_string_equal(network, row->network);
	pattern_print(text, &pattern, true);
	assert_string_equal(text, row->match);
	pattern_rule_print(rule, text);
	assert_int_equal(policy_parse(rule, strlen(rule), &ctx, NULL, &policy, &errors), 0);
	assert_int_equal(policy.count, 1);
	rule_print(canonical, sizeof(canonical), &policy.rules[0], &ctx);
	assert_memory_equal(canonical, rule, strlen(rule));
}

/* ---- the heaviest */

struct senders {
	struct packet packet; /* the source: with the address counted up */
	unsigned int count, apart, weight;
};

static const struct heaviest {
	const char *name;
	struct senders senders[3];
	const char *wanted; /* one after the other, with shares and networks */
} heaviests[] = {
	{"nobody", {{{0}, 0, 0, 0}}, ""},
	{"one network, beside others",
	 {{{"198.18.0.0", 17, 27015, 78, 250, 0, 0, 0}, 200, 1, 3},
	  {{"10.0.0.0", 17, 27015, 78, 250, 0, 0, 0}, 100, 0x10000, 1},
	  {{"192.0.2.1", 6, 443, 60, 64, 2, 0, 0}, 1, 0, 200}},
	 "78% udp/27015 length 64-95 ttl 240-255 from 198.18.0.0/16; "
	 "22% tcp/443 flags syn length 32-63 ttl 64-79 from 192.0.0.0/16; "},
	{"half of it is enough",
	 {{{"198.18.0.0", 17, 9, 78, 250, 0, 0, 0}, 10, 1, 2},
	  {{"10.0.0.0", 17, 9, 78, 250, 0, 0, 0}, 20, 0x10000, 1},
	  {{0}, 0, 0, 0}},
	 "100% udp/9 length 64-95 ttl 240-255 from 198.18.0.0/16; "},
	{"less is not",
	 {{{"198.18.0.0", 17, 9, 78, 250, 0, 0, 0}, 10, 1, 2},
	  {{"10.0.0.0", 17, 9, 78, 250, 0, 0, 0}, 24, 0x10000, 1},
	  {{0}, 0, 0, 0}},
	 "100% udp/9 length 64-95 ttl 240-255; "},
	{"two alike: the first that came first",
	 {{{"10.1.0.1", 17, 9, 78, 250, 0, 0, 0}, 1, 0, 5},
	  {{"10.1.0.1", 17, 8, 78, 250, 0, 0, 0}, 1, 0, 5},
	  {{0}, 0, 0, 0}},
	 "50% udp/9 length 64-95 ttl 240-255 from 10.1.0.0/16; "
	 "50% udp/8 length 64-95 ttl 240-255 from 10.1.0.0/16; "},
	{"both families",
	 {{{"2001:db8::1", 17, 9, 78, 250, 0, 0, 0}, 1, 0, 80},
	  {{"10.1.0.1", 17, 9, 78, 250, 0, 0, 0}, 1, 0, 20},
	  {{0}, 0, 0, 0}},
	 "100% udp/9 length 64-95 ttl 240-255 from 2001:db8::/32; "},
};

static void senders_add(struct patterns *patterns, const struct senders *of, uint64_t *all)
{
	for (unsigned int i = 0; i < of->count; i++) {
		struct rl_sample sample = sample_of(&of->packet);
		struct pattern pattern;
		uint32_t add = i * of->apart;

		sample.src[13] = (uint8_t)(sample.src[13] + (add >> 16));
		sample.src[15] = (uint8_t)(sample.src[15] + add);
		memcpy(sample.frame + 12, sample.src + 12, sample.frame[0] == 0x45 ? 4 : 0);
		pattern = pattern_of(&sample, true);
		for (int n = 0; n < 2; n++) /* a single sample is none */
			patterns_add(patterns, &pattern, of->weight);
		*all += 2 * of->weight;
	}
}

ROWS(is_heaviest, heaviests, row)
{
	static struct patterns patterns;
	struct pattern_part parts[4];
	char got[512] = "";
	uint64_t all = 0;
	size_t count;

	memset(&patterns, 0, sizeof(patterns));
	for (int i = 0; i < 3; i++)
		senders_add(&patterns, &row->senders[i], &all);
	count = patterns_list(&patterns, all, 0.1, parts, 4);
	for (size_t i = 0; i < count; i++) {
		char text[PATTERN_TEXT_MAX], network[PREFIX_TEXT_MAX] = "";
		size_t used = strlen(got);

		pattern_print(text, &parts[i].pattern, false);
		if (parts[i].pattern.network)
			pattern_network_print(network, sizeof(network), parts[i].pattern.network);
		snprintf(got + used, sizeof(got) - used, "%.0f%% %s%s%s; ", parts[i].share * 100,
			 text, *network ? " from " : "", network);
	}
	assert_string_equal(got, row->wanted);
}

/* ---- a flood among quiet seconds */

static const struct busy {
	const char *name;
	unsigned int clients, more, flood; /* packets a second: to ports 1, 1 and 9 */
	uint32_t from, to;                 /* seconds, of 20, with the last two */
	uint64_t border;
	uint16_t dport; /* of the pattern; 0: none is found */
	bool usual;
} busys[] = {
	{"a flood of a pattern of its own", 100, 0, 5000, 5, 10, 1000, 9, false},
	{"until the end", 100, 0, 5000, 15, 20, 1000, 9, false},
	{"from the beginning", 100, 0, 5000, 0, 5, 1000, 9, false},
	{"that of clients", 100, 5000, 0, 5, 10, 1000, 1, true},
	{"no flood", 100, 0, 500, 5, 10, 1000, 0, false},
	{"nothing but a flood", 100, 0, 5000, 0, 20, 1000, 0, false},
	{"no border is known", 100, 0, 5000, 5, 10, 0, 0, false},
};

static void port_add(struct pattern_bands *bands, uint32_t second, uint16_t dport, uint64_t weight)
{
	const struct packet packet = {"10.1.0.1", 17, dport, 100, 64, 0, 0, 0};
	struct rl_sample sample = sample_of(&packet);
	struct pattern pattern = pattern_of(&sample, true);

	for (int n = 0; weight && n < 10; n++)
		pattern_bands_add(bands, second, &pattern, weight / 10);
}

ROWS(is_busy, busys, row)
{
	static struct pattern_bands bands;
	struct pattern_busy found;

	memset(&bands, 0, sizeof(bands));
	for (uint32_t second = 0; second < 20; second++) {
		bool flood = second >= row->from && second < row->to;

		port_add(&bands, second, 1, row->clients + (flood ? row->more : 0));
		port_add(&bands, second, 9, flood ? row->flood : 0);
	}
	found = pattern_bands_find(&bands, row->border);
	assert_int_equal(found.part.share > 0.9, row->dport != 0);
	assert_int_equal(found.part.pattern.dport, row->dport);
	assert_int_equal(found.is_usual, row->usual);
}

/* Not IP, or malformed: no pattern, though it counts among all. */
TEST(no_addresses)
{
	const struct packet packet = {"10.1.0.1", 17, 53, 100, 64, 0, 0, 0};
	struct rl_sample sample = sample_of(&packet);
	static struct patterns patterns;
	struct pattern_part parts[1];
	struct pattern pattern;

	sample.reason = RL_REASON_MALFORMED;
	pattern = pattern_of(&sample, true);
	assert_false(pattern.known);
	patterns_add(&patterns, &pattern, 100);
	assert_int_equal(patterns_list(&patterns, 100, 0, parts, 1), 0);
}
