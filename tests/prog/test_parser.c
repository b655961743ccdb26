// SPDX-License-Identifier: GPL-2.0-only
/* The parser, built for the host, against the program in the kernel: both read the same facts from
 * the same damaged frames. The facts that the host reads of a frame become a rule that denies
 * exactly that frame; some of the rules deviate in one fact. The program's verdicts and reasons
 * under these rules show the facts that it read.
 *
 * The same frames on every run. By hand: RLCTL_SEED=N for others, RLCTL_BATCHES=N for more.
 */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/tcp.h>
#include <linux/udp.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "base/units.h"
#include "harness.h"

/* Constants that a program's loader sets once are set here for every frame. */
static const struct rl_config config;
#include "packet/neighbour.h"

#define BATCH     200 /* frames that a policy speaks of */
#define BATCHES   12
#define POLICIES  3 /* of a batch: the first without deviations */
#define LINE_MAX  256
#define FRAME_MAX 1600

HARNESS(xdp, .prefixes = 2 * BATCH)
HARNESS(tc, .prefixes = 2 * BATCH, .hook = RL_HOOK_INGRESS)
static uint64_t seed = 20240618;

static uint32_t random_below(uint32_t bound)
{
	return random_under(&seed, bound);
}

/* ---- frames */

/* Behind Ethernet and tags; %s is the source's address. */
static const char *const kinds[] = {
	"ip4=%s udp data=10",
	"ip4=%s syn",
	"ip4=%s options=8 tcp data=3",
	"ip4=%s sctp",
	"ip4=%s icmp data=3",
	"ip4=%s gre data=8",
	"ip4=%s frag=0+ udp data=16",
	"ip4=%s frag=8 tcp data=8",
	"ip4=%s udp pad=18",
	"ip6=%s udp data=10",
	"ip6=%s syn",
	"ip6=%s icmp6",
	"ip6=%s>ff02::1:ff00:1 ns=2001:db8::1",
	"ip6=%s>ff02::1 na=2001:db8::1",
	"ip6=%s esp",
	"ip6=%s hop dst=1 routing udp",
	"ip6=%s ah=1 mobility hip shim6 synack",
	"ip6=%s frag=0+ dst tcp data=8",
	"ip6=%s frag=1448 syn",
	"ip6=%s dst dst dst dst dst dst dst dst dst syn",
};

static const char *const tags[] = {"", "", "8021q ", "8021ad 8021q ", "8021q 8021ad 8021q "};

static void frame_draw(struct frame *out)
{
	const char *kind = kinds[random_below(ARRAY_SIZE(kinds))];
	char words[LINE_MAX], format[LINE_MAX], source[40];

	if (kind[2] == '4')
		snprintf(source, sizeof(source), "10.%u.%u.%u", random_below(256),
			 random_below(256), random_below(256));
	else
		snprintf(source, sizeof(source), "2001:db8::%x:%x", random_below(65536),
			 random_below(65536));
	snprintf(format, sizeof(format), "%s%s", tags[random_below(ARRAY_SIZE(tags))], kind);
	snprintf(words, sizeof(words), format, source); /* NOLINT: one of the above */
	frame_build(out, words);
}

/* Numbers that headers are full of. */
static uint8_t byte_near(uint8_t byte)
{
	static const uint8_t bytes[] = {0x00, 0xff, 0x45, 0x46, 0x60, 0x08, 0x86, 0xdd, 0x81,
					0x88, 0x06, 0x11, 0x3a, 0x84, 0x2c, 0x3c, 0x33, 0x20};

	switch (random_below(4)) {
	case 0:
		return byte ^ 1 << random_below(8);
	case 1:
		return byte + 1 - 2 * random_below(2);
	case 2:
		return bytes[random_below(sizeof(bytes))];
	default:
		return random_below(256);
	}
}

static void frame_damage(struct frame *s)
{
	uint32_t at = 12 + random_below(s->size - 12);

	switch (random_below(8)) {
	case 0: /* cut */
		s->size = ETH_HLEN + random_below(s->size - ETH_HLEN + 1);
		return;
	case 1: /* more */
		memset(s->bytes + s->size, 0, 16);
		s->size += random_below(16);
		return;
	case 2: /* a header once more, or another one over it */
		memmove(s->bytes + at, s->bytes + 12 + random_below(s->size - 12), s->size - at);
		return;
	default:
		s->bytes[at] = byte_near(s->bytes[at]);
	}
}

/* ---- what the host sees of them */

struct seen {
	struct frame frame;
	enum parse parse;
	struct packet packet;
};

/* As the program loads it from the frame. */
static enum parse host_parse_neighbour(struct seen *s)
{
	struct neighbour_message m = {0};
	struct packet *p = &s->packet;

	if (!neighbour_message_may(p))
		return PARSE_IP;
	memcpy(&m, s->frame.bytes + p->transport - sizeof(struct ipv6hdr),
	       neighbour_has_target(p) ? sizeof(m) : MESSAGE_LEAST);
	return neighbour_message_holds(&m, p->payload) ? PARSE_NEIGHBOUR : PARSE_IP;
}

static struct cursor cursor_of(struct frame *frame, bool as_skb)
{
	return cursor_at(frame->bytes, frame->bytes + frame->size, TRANSPORT_MAX, as_skb);
}

static void host_parse(struct seen *s, bool as_skb)
{
	memset(&s->packet, 0, sizeof(s->packet));
	s->parse = packet_parse(&s->packet, cursor_of(&s->frame, as_skb), s->frame.size, 0);
	if (s->parse == PARSE_ND_TYPE)
		s->parse = host_parse_neighbour(s);
}

/* At xdp and at tc alike, but for what only skbs count. */
static void seen_fill(struct seen *s)
{
	struct packet as_skb;
	enum parse parse;

	frame_draw(&s->frame);
	for (uint32_t n = random_below(4); n; n--)
		frame_damage(&s->frame);
	host_parse(s, true);
	as_skb = s->packet;
	parse = s->parse;
	host_parse(s, false);
	as_skb.headers = 0;
	assert_int_equal(parse, s->parse);
	assert_memory_equal(&as_skb, &s->packet, sizeof(as_skb));
}

/* ---- rules from the facts of a frame */

static bool has_ports(const struct packet *p)
{
	return p->flags & PACKET_PORTS;
}

/* Flips the last bit of one thing that the rule says of the packet, or asks for what it has not. */
static void deviate(struct packet *p)
{
	switch (random_below(8)) {
	case 0:
		p->src[15] ^= 1;
		return;
	case 1:
		p->dst[15] ^= 1;
		return;
	case 2:
		if (!has_ports(p))
			p->proto ^= 1;
		return;
	case 3:
		p->sport ^= 1;
		return;
	case 4:
		p->dport ^= 1;
		return;
	case 5:
		if (p->proto == IPPROTO_TCP)
			p->flags |= PACKET_SYN;
		return;
	default:
		p->flags |= PACKET_FRAGMENT;
	}
}

static void rule_write(char line[LINE_MAX], const struct packet *p)
{
	char src[PREFIX_TEXT_MAX], dst[PREFIX_TEXT_MAX], ports[64] = "";

	prefix_print(src, sizeof(src), p->src, 128);
	prefix_print(dst, sizeof(dst), p->dst, 128);
	if (has_ports(p))
		snprintf(ports, sizeof(ports), " sport %u dport %u", p->sport, p->dport);
	snprintf(line, LINE_MAX, "rule %s proto %u%s dst %s%s%s deny\n", src, p->proto, ports, dst,
		 p->flags & PACKET_SYN ? " syn" : "",
		 p->flags & PACKET_FRAGMENT ? " fragment" : "");
}

/* Whether the rule that was made of `rule` holds for the packet. */
static bool rule_matches(const struct packet *rule, const struct packet *p)
{
	const uint8_t asked = rule->flags & (PACKET_SYN | PACKET_FRAGMENT);

	if (memcmp(rule->src, p->src, 16) || memcmp(rule->dst, p->dst, 16))
		return false;
	if (rule->proto != p->proto || (p->flags & asked) != asked)
		return false;
	return !has_ports(rule) ||
	       (has_ports(p) && rule->sport == p->sport && rule->dport == p->dport);
}

/* The language refuses a rule that cannot match: ICMP of the other family. */
static bool is_sayable(const struct packet *p)
{
	return p->proto != (p->flags & PACKET_IPV4 ? IPPROTO_ICMPV6 : IPPROTO_ICMP);
}

struct batch {
	struct seen seen[BATCH];
	struct packet rules[BATCH];
	size_t rule_count;
};

/* Damaged sources may meet, and a prefix has room for so many rules. */
static bool prefix_has_room(const struct batch *b, const struct packet *p)
{
	size_t same = 0;

	for (size_t i = 0; i < b->rule_count; i++)
		same += !memcmp(b->rules[i].src, p->src, 16);
	return same < RL_GROUP_MAX;
}

static void policy_write(struct batch *b, bool deviates)
{
	static char text[BATCH * LINE_MAX];
	char *at = text;

	*at = '\0';
	b->rule_count = 0;
	for (size_t i = 0; i < BATCH; i++) {
		struct packet rule = b->seen[i].packet;

		if (b->seen[i].parse != PARSE_IP)
			continue;
		if (deviates)
			deviate(&rule);
		if (!is_sayable(&rule) || !prefix_has_room(b, &rule))
			continue;
		rule_write(at, &rule);
		at += strlen(at);
		b->rules[b->rule_count++] = rule;
	}
	harness_policy(xdp, text);
	harness_policy(tc, text);
}

static enum rl_reason expected_of(const struct batch *b, const struct seen *s)
{
	if (s->parse == PARSE_NON_IP)
		return RL_REASON_NON_IP;
	if (s->parse == PARSE_MALFORMED)
		return RL_REASON_MALFORMED;
	if (s->parse == PARSE_NEIGHBOUR)
		return RL_REASON_ALLOWED;
	for (size_t i = 0; i < b->rule_count; i++)
		if (rule_matches(&b->rules[i], &s->packet))
			return RL_REASON_DENIED;
	return RL_REASON_UNMATCHED;
}

/* ---- */

static void expect(struct harness *h, const char *hook, const struct seen *s,
		   enum rl_reason expected)
{
	enum rl_reason reason = harness_count(h, &s->frame);
	char line[LINE_MAX];

	if (reason == expected)
		return;
	for (uint32_t i = 0; i < s->frame.size; i++)
		print_error("%02x%s", s->frame.bytes[i], (i + 1) % 32 ? "" : "\n");
	rule_write(line, &s->packet);
	fail_msg("%s: %s, on the host %s: %s", hook, reason_name(reason), reason_name(expected),
		 line);
}

static void batch_run(struct batch *b, size_t reasons[RL_REASON_COUNT])
{
	for (size_t i = 0; i < BATCH; i++)
		seen_fill(&b->seen[i]);
	for (int n = 0; n < POLICIES; n++) {
		policy_write(b, n > 0);
		for (size_t i = 0; i < BATCH; i++) {
			const struct seen *s = &b->seen[i];
			enum rl_reason expected = expected_of(b, s);

			expect(xdp, "xdp", s, expected);
			if (frame_runs_as_skb(&s->frame))
				expect(tc, "ingress", s, expected);
			reasons[expected]++;
		}
	}
}

static unsigned long by_hand(const char *name, unsigned long usual)
{
	const char *text = getenv(name);

	return text ? strtoul(text, NULL, 0) : usual;
}

/* No kind of answer is rare, or the frames show nothing. */
NAMED_TEST("the host and the program see the same", parser_test)
{
	static struct batch batch;
	static const enum rl_reason common[] = {RL_REASON_DENIED, RL_REASON_UNMATCHED,
						RL_REASON_MALFORMED, RL_REASON_NON_IP,
						RL_REASON_ALLOWED};
	unsigned long batches = by_hand("RLCTL_BATCHES", BATCHES);
	size_t reasons[RL_REASON_COUNT] = {0};

	seed = by_hand("RLCTL_SEED", seed);
	for (unsigned long i = 0; i < batches; i++)
		batch_run(&batch, reasons);
	for (size_t i = 0; i < ARRAY_SIZE(common); i++)
		assert_true(reasons[common[i]] > batches * BATCH * POLICIES / 100);
}

/* ---- packets before they are segmented, of which tests see the beginning */

static const struct unstated_row {
	const char *words;
	uint32_t bytes; /* of the frame */
	uint16_t udp_len;
	enum parse as_skb, at_xdp;
} unstated_rows[] = {
	{"ip4 udp", 70000, 0, PARSE_IP, PARSE_MALFORMED},
	{"ip6 udp", 180000, 0, PARSE_IP, PARSE_MALFORMED},
	{"ip4 udp", 70000, 8, PARSE_IP, PARSE_MALFORMED},
	{"ip4 udp", 70000, 7, PARSE_MALFORMED, PARSE_MALFORMED},
	{"ip4 udp", ETH_HLEN + 20 + 65536, 0, PARSE_IP, PARSE_MALFORMED},
	{"ip4 udp", ETH_HLEN + 20 + 65535, 0, PARSE_MALFORMED, PARSE_MALFORMED},
};

static enum parse unstated_parse(const struct unstated_row *row, bool as_skb)
{
	struct packet p = {0};
	struct frame frame;

	frame_build(&frame, row->words);
	memset(frame.bytes + ETH_HLEN + (row->words[2] == '4' ? 2 : 4), 0, 2);
	frame.bytes[frame.udp_at + 4] = 0;
	frame.bytes[frame.udp_at + 5] = (uint8_t)row->udp_len;
	return packet_parse(&p, cursor_of(&frame, as_skb), row->bytes, 0);
}

NAMED_TEST("lengths of 0 before segmentation", unstated_test)
{
	for (size_t i = 0; i < ARRAY_SIZE(unstated_rows); i++) {
		assert_int_equal(unstated_parse(&unstated_rows[i], true), unstated_rows[i].as_skb);
		assert_int_equal(unstated_parse(&unstated_rows[i], false), unstated_rows[i].at_xdp);
	}
}
