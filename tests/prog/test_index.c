// SPDX-License-Identifier: GPL-2.0-only
/* Prefixes with many rules. The program finds those that a packet may match by an index; here each
 * packet is held against all of them, one by one, and reasons and counters have to agree.
 */
#include <linux/in.h>
#include <netinet/tcp.h>
#include <string.h>

#include "base/units.h"
#include "kernel/policy/policy_read.h"
#include "kernel/policy/policy_write.h"
#include "scenario.h"

#define RUNS    18
#define PACKETS 300

static uint64_t seed;
static bool extras; /* rules have conditions of struct rl_extra, too */

/* ---- packets */

enum kind { TCP4, UDP4, SCTP4, ICMP4, LATER4, TCP6, UDP6, SYN4, GRE4, PROTO4, KINDS };

static const struct {
	const char *words; /* with %u: source port, destination port, or a protocol */
	uint8_t proto;
	bool ports;
} kinds[KINDS] = {
	[TCP4] = {"ip4=%s>%s tcp=%u>%u", IPPROTO_TCP, true},
	[UDP4] = {"ip4=%s>%s udp=%u>%u", IPPROTO_UDP, true},
	[SCTP4] = {"ip4=%s>%s sctp=%u>%u", IPPROTO_SCTP, true},
	[ICMP4] = {"ip4=%s>%s icmp", IPPROTO_ICMP, false},
	[LATER4] = {"ip4=%s>%s frag=100 udp=%u>%u data=50", IPPROTO_UDP, false},
	[TCP6] = {"ip6=%s>%s tcp=%u>%u", IPPROTO_TCP, true},
	[UDP6] = {"ip6=%s>%s hop udp=%u>%u", IPPROTO_UDP, true},
	[SYN4] = {"ip4=%s>%s syn=%u>%u", IPPROTO_TCP, true},
	[GRE4] = {"ip4=%s>%s gre", IPPROTO_GRE, false},
	[PROTO4] = {"ip4=%s>%s proto=99", 99, false},
};

struct packet {
	enum kind kind;
	uint16_t sport, dport;
	uint8_t ttl, tcp_flags;
	uint8_t src[16], dst[16];
	struct frame frame;
};

static bool is_tcp(enum kind kind)
{
	return kind == TCP4 || kind == TCP6 || kind == SYN4;
}

/* The ends of all ports, and others of which there are as many as rules need room. */
static uint16_t port_draw(uint32_t room)
{
	static const uint16_t ends[] = {0, 1, 53, 1024, 32768, 65534, 65535};

	if (!random_under(&seed, 100))
		return ends[random_under(&seed, ARRAY_SIZE(ends))];
	return 1000 + random_under(&seed, room);
}

/* Most often where a rule begins or ends, or beside it. */
static uint16_t port_beside(const struct policy *policy, bool source)
{
	const struct match *match = &policy->rules[random_under(&seed, policy->count)].match;
	uint16_t first = source ? match->sport_first : match->dport_first;
	uint16_t last = source ? match->sport_last : match->dport_last;

	switch (random_under(&seed, 8)) {
	case 0:
		return port_draw(60000);
	case 1:
		return first - 1;
	case 2:
		return last + 1;
	case 3:
		return last;
	default:
		return first;
	}
}

static void address_draw(bool ip6, char text[48], uint8_t out[16])
{
	uint32_t n = random_under(&seed, 8);

	if (ip6) {
		address_ip6(out, n, 1);
		snprintf(text, 48, "2001:db8:0:%x::1", n);
	} else {
		address_ip4(out, n << 8 | 1);
		snprintf(text, 48, "10.0.%u.1", n);
	}
}

/* No packet but those of SYN4 has SYN alone: the word syn tells them apart. */
static const uint8_t tcp_flags[] = {TH_ACK, TH_SYN | TH_ACK, TH_RST, TH_FIN | TH_ACK};

static void packet_draw(const struct policy *policy, struct packet *packet)
{
	bool ip6;
	char src[48], dst[48], words[160];
	size_t used;

	packet->kind = random_under(&seed, KINDS);
	ip6 = packet->kind == TCP6 || packet->kind == UDP6;
	packet->sport = port_beside(policy, true);
	packet->dport = port_beside(policy, false);
	address_draw(ip6, src, packet->src);
	address_draw(ip6, dst, packet->dst);
	packet->ttl = 60 + random_under(&seed, 8);
	packet->tcp_flags = is_tcp(packet->kind) ? tcp_flags[random_under(&seed, 4)] : 0;
	if (packet->kind == SYN4)
		packet->tcp_flags = TH_SYN;
	used = snprintf(words, sizeof(words), kinds[packet->kind].words, src, dst, packet->sport,
			packet->dport);
	used += snprintf(words + used, sizeof(words) - used, " ttl=%u", packet->ttl);
	if (is_tcp(packet->kind))
		snprintf(words + used, sizeof(words) - used, " flags=%u", packet->tcp_flags);
	frame_build(&packet->frame, words);
}

/* ---- rules of one prefix, and whether they match */

static bool in_ports(uint16_t port, uint16_t first, uint16_t last)
{
	return port >= first && port <= last;
}

/* A match on a header that the packet does not have holds neither plain nor under `not`. */
static bool agrees(const struct match *match, uint32_t flag, bool known, bool holds)
{
	if (!(match->flags & flag))
		return true;
	return known && holds == !(match->negated & flag);
}

static bool in_ranges(uint16_t port, const struct rl_port_range *ranges, uint32_t count)
{
	bool found = false;

	for (uint32_t i = 0; i < count; i++)
		found |= in_ports(port, ranges[i].first, ranges[i].last);
	return found;
}

static bool ports_hold(const struct rule *rule, uint32_t flag, uint16_t port)
{
	const struct match *match = &rule->match;
	const struct rl_extra *extra = rule->extra;
	bool source = flag == RL_MATCH_SPORT;

	if (extra && (source ? extra->sport_count : extra->dport_count))
		return source ? in_ranges(port, extra->sport, extra->sport_count)
			      : in_ranges(port, extra->dport, extra->dport_count);
	return source ? in_ports(port, match->sport_first, match->sport_last)
		      : in_ports(port, match->dport_first, match->dport_last);
}

static bool matches(const struct rule *rule, const struct packet *packet)
{
	const struct match *match = &rule->match;
	bool ports = kinds[packet->kind].ports, tcp = is_tcp(packet->kind);
	const struct rl_extra none = {0}, *extra = rule->extra ? rule->extra : &none;

	return agrees(match, RL_MATCH_PROTO, true, match->proto == kinds[packet->kind].proto) &&
	       agrees(match, RL_MATCH_SPORT, ports,
		      ports_hold(rule, RL_MATCH_SPORT, packet->sport)) &&
	       agrees(match, RL_MATCH_DPORT, ports,
		      ports_hold(rule, RL_MATCH_DPORT, packet->dport)) &&
	       agrees(match, RL_MATCH_SYN, tcp, packet->kind == SYN4) &&
	       agrees(match, RL_MATCH_FRAGMENT, true, packet->kind == LATER4) &&
	       agrees(match, RL_MATCH_DST, true,
		      prefix_contains(match->dst, match->dst_len, packet->dst)) &&
	       agrees(match, RL_MATCH_TTL, true,
		      packet->ttl >= extra->number[RL_NUMBER_TTL].first &&
			      packet->ttl <= extra->number[RL_NUMBER_TTL].last) &&
	       agrees(match, RL_MATCH_TCP_FLAGS, tcp,
		      (packet->tcp_flags & extra->number[RL_NUMBER_TCP_FLAGS].last) ==
			      extra->number[RL_NUMBER_TCP_FLAGS].first);
}

/* With `lists` also lists of ports, and not. */
static void ports_draw(char *out, size_t size, const char *word, uint32_t room, bool lists)
{
	uint32_t first = port_draw(room), last = first + random_under(&seed, 4), more = last + 2;
	const char *not = lists && !random_under(&seed, 12) ? " not" : "";

	if (lists && random_under(&seed, 4) == 0 && more < UINT16_MAX - 40)
		snprintf(out, size, "%s %s %u-%u,%u,%u-%u", not, word, first, last, more, more + 7,
			 more + 20);
	else
		snprintf(out, size, "%s %s %u-%u", not, word, first,
			 last > UINT16_MAX ? UINT16_MAX : last);
}

/* Where there are hundreds of limits, only a few are for all ports, so that no packet meets more of
 * them than may be. */
static void rule_draw(char *out, size_t size, const char *prefix, uint32_t room, bool limit,
		      uint32_t number)
{
	static const char *const protos[] = {"", " tcp", " udp", " udp", " sctp"};
	static const char *const others[] = {
		" icmp", " gre", " proto 99", " tcp syn", " fragment", " dst 10.0.3.0/24", ""};
	static const char *const more[] = {"",
					   " ttl 62",
					   " not ttl 60-65",
					   " ttl 63-255",
					   " not fragment",
					   " not dst 10.0.5.0/24"};
	char sport[64] = "", dport[64] = "", action[64];
	const char *condition = extras ? more[random_under(&seed, ARRAY_SIZE(more))] : "";
	const char *proto = protos[random_under(&seed, ARRAY_SIZE(protos))];
	uint32_t which = random_under(&seed, 16);

	if (limit)
		snprintf(action, sizeof(action), "limit %u/second burst 40000", 1000000 + number);
	else
		snprintf(action, sizeof(action), random_under(&seed, 2) ? "allow" : "deny");
	if (which == 0 && (!limit || number % 64 == 0)) {
		snprintf(out, size, "%s%s %s\n", prefix,
			 others[random_under(&seed, ARRAY_SIZE(others))], action);
		return;
	}
	if (which < 5)
		ports_draw(sport, sizeof(sport), "sport", room, extras && !limit);
	if (which >= 4)
		ports_draw(dport, sizeof(dport), "dport", room, extras && !limit);
	if (extras && !strcmp(proto, " tcp") && !random_under(&seed, 3))
		condition = random_under(&seed, 2) ? " flags syn,ack" : " not flags ack/ack";
	snprintf(out, size, "%s%s%s%s%s %s\n", prefix, proto, sport, dport, condition, action);
}

/* `count` rules, of which as many are verdicts as `verdicts` in 16. */
static void group_draw(char *out, size_t size, const char *prefix, uint32_t count,
		       uint32_t verdicts)
{
	size_t used = strlen(out);

	for (uint32_t i = 0; i < count; i++) {
		rule_draw(out + used, size - used, prefix, 8 * count,
			  random_under(&seed, 16) >= verdicts, i);
		used += strlen(out + used);
		assert_true(used < size);
	}
}

/* ---- the oracle */

struct expected {
	uint64_t passed, dropped;
};

static bool has_prefix(const struct rule *rule, enum prefix_kind kind, int len,
		       const struct packet *packet)
{
	if (rule->kind != kind)
		return false;
	return kind != PREFIX_ADDR ||
	       (rule->len == len && prefix_contains(rule->addr, rule->len, packet->src));
}

/* The first allow or deny of the prefix that matches, or one of its limits; NULL: none matches. */
static const struct rule *group_first(const struct policy *policy, enum prefix_kind kind, int len,
				      const struct packet *packet)
{
	const struct rule *first = NULL;

	policy_for_each (policy, rule)
		if (has_prefix(rule, kind, len, packet) && matches(rule, packet) &&
		    (!first || rule->action < first->action))
			first = rule;
	return first;
}

static void limits_count(const struct policy *policy, enum prefix_kind kind, int len,
			 const struct packet *packet, struct expected *expected)
{
	policy_for_each (policy, rule)
		if (rule->action == RL_ACTION_LIMIT && has_prefix(rule, kind, len, packet) &&
		    matches(rule, packet))
			expected[rule - policy->rules].passed++;
}

static enum rl_reason decide(const struct policy *policy, const struct packet *packet,
			     struct expected *expected)
{
	const struct rule *found = NULL, *device;
	enum prefix_kind kind = PREFIX_ADDR;
	int len;

	for (len = 128; len >= 0 && !found; len--)
		found = group_first(policy, kind, len, packet);
	len++;
	if (!found) {
		kind = PREFIX_ANY;
		found = group_first(policy, kind, 0, packet);
	}
	if (found && found->action != RL_ACTION_LIMIT) {
		if (found->action == RL_ACTION_ALLOW)
			expected[found - policy->rules].passed++;
		else
			expected[found - policy->rules].dropped++;
		return found->action == RL_ACTION_ALLOW ? RL_REASON_ALLOWED : RL_REASON_DENIED;
	}
	device = group_first(policy, PREFIX_DEVICE, 0, packet);
	if (device && device->action == RL_ACTION_DENY) {
		expected[device - policy->rules].dropped++;
		return RL_REASON_DENIED;
	}
	if (found)
		limits_count(policy, kind, len, packet, expected);
	if (device && device->action == RL_ACTION_LIMIT)
		limits_count(policy, PREFIX_DEVICE, 0, packet, expected);
	if (found || (device && device->action == RL_ACTION_LIMIT))
		return RL_REASON_WITHIN;
	if (device)
		expected[device - policy->rules].passed++;
	return device ? RL_REASON_ALLOWED : RL_REASON_UNMATCHED;
}

/* ---- random policies */

/* Which allow or deny counts is that which stands first: the sum over all must be the same. */
static void counters_check(struct harness *h, const struct policy *policy,
			   const struct expected *expected)
{
	struct expected sum = {0}, other = {0};

	policy_for_each (policy, rule) {
		struct rule_counters counters = harness_counters_of(h, rule);
		const struct expected *e = &expected[rule - policy->rules];

		if (rule->action == RL_ACTION_LIMIT &&
		    (counters.passed.packets != e->passed || counters.dropped.packets)) {
			char text[RULE_TEXT_MAX];

			rule_format(text, rule, &(struct policy_context){.mtu = 1500});
			fail_msg("seed %llu: %s: %llu passed, %llu expected",
				 (unsigned long long)seed, text,
				 (unsigned long long)counters.passed.packets,
				 (unsigned long long)e->passed);
		}
		if (rule->action != RL_ACTION_LIMIT) {
			sum.passed += counters.passed.packets;
			sum.dropped += counters.dropped.packets;
			other.passed += e->passed;
			other.dropped += e->dropped;
		}
	}
	assert_int_equal(sum.passed, other.passed);
	assert_int_equal(sum.dropped, other.dropped);
}

static void policy_check(struct harness *h, uint64_t reasons[RL_REASON_COUNT])
{
	static struct expected expected[8192];
	static struct packet packet;
	CLEARED_POLICY struct policy policy = {0};

	memset(expected, 0, sizeof(expected));
	assert_int_equal(instance_policy_read(&h->instance, &policy), 0);
	assert_in_range(policy.count, 1, ARRAY_SIZE(expected));
	for (uint32_t i = 0; i < PACKETS; i++) {
		enum rl_reason reason;

		packet_draw(&policy, &packet);
		reason = decide(&policy, &packet, expected);
		reasons[reason]++;
		if (harness_run(h, &packet.frame) != reason)
			fail_msg("%s sport %u dport %u: expected %s", kinds[packet.kind].words,
				 packet.sport, packet.dport, reason_name(reason));
	}
	counters_check(h, &policy, expected);
}

/* 9..1024 rules of `any`, and beside it others. */
static void policy_draw(char *out, size_t size, uint32_t run)
{
	static const uint32_t counts[] = {9, 10, 31, 256, 300, 1024};
	uint32_t count = counts[run % ARRAY_SIZE(counts)];

	out[0] = '\0';
	group_draw(out, size, "any", count, run % 5 ? 4 : 15);
	if (run % 3 == 0)
		group_draw(out, size, "10.0.0.0/22", 9 + random_under(&seed, 60), 4);
	if (run % 3 == 1)
		group_draw(out, size, "10.0.1.1", 5, 8);
	if (run % 4 == 0)
		group_draw(out, size, "10.0.0.0/23", 20, 8);
	if (run % 4 == 1)
		group_draw(out, size, "device", 40, 4);
	if (run % 4 == 2)
		group_draw(out, size, "device", 6, 4);
}

static const struct harness_options options[] = {
	{.program_uses = RL_USE_INDEX, .prefixes = 8192},
	{.program_uses = RL_USE_INDEX | RL_USE_EXTRAS, .prefixes = 8192, .table = RL_TABLE_LRU},
	{.program_uses = RL_USE_INDEX | RL_USE_EXTRAS, .prefixes = 8192, .hook = RL_HOOK_INGRESS},
};

TEST(random_test)
{
	static char text[1 << 18];
	uint64_t reasons[RL_REASON_COUNT] = {0};

	for (uint32_t i = 0; i < ARRAY_SIZE(options); i++) {
		struct harness *h = harness_must_open(&options[i]);

		extras = options[i].program_uses & RL_USE_EXTRAS;
		for (uint32_t run = i; run < RUNS; run += ARRAY_SIZE(options)) {
			seed = (run + 1) * 0x9e3779b97f4a7c15ull;
			policy_draw(text, sizeof(text), run);
			harness_renew(h, text);
			policy_check(h, reasons);
		}
		harness_close(h);
	}
	/* Each is tried, or the test shows nothing. */
	for (int reason = 0; reason < RL_REASON_COUNT; reason++)
		if (reason == RL_REASON_ALLOWED || reason == RL_REASON_DENIED ||
		    reason == RL_REASON_WITHIN || reason == RL_REASON_UNMATCHED)
			assert_true(reasons[reason] > RUNS * PACKETS / 50);
}

/* ---- what stays as a prefix gets more rules */

#define GROW_RULE "any udp dport 53 limit 3/hour burst 3 per rule"

static void text_grow(char *out, size_t size, uint32_t rules)
{
	size_t used = snprintf(out, size, "%s\nany udp dport 53 limit 9/hour burst 9\n", GROW_RULE);

	for (uint32_t i = 2; i < rules; i++)
		used += snprintf(out + used, size - used, "any udp dport %u limit 9/s\n", 2000 + i);
	assert_true(used < size);
}

/* States and counters outlive the way to an index and back; a limit that refuses still does. */
TEST(grow_test)
{
	static const uint32_t steps[] = {8, 9, 300, 1024, 9, 8, 2};
	static char text[1 << 16];
	struct harness *h = harness_must_open(&options[0]);
	struct rule_counters counters;

	for (uint32_t i = 0; i < ARRAY_SIZE(steps); i++) {
		text_grow(text, sizeof(text), steps[i]);
		harness_policy(h, text);
		harness_expect(h, GROW_RULE, "ip4 udp=9>53",
			       i < 3 ? RL_REASON_WITHIN : RL_REASON_OVER);
	}
	counters = harness_counters(h, GROW_RULE);
	assert_int_equal(counters.passed.packets, 3);
	assert_int_equal(counters.dropped.packets, ARRAY_SIZE(steps) - 3);
	counters = harness_counters(h, "any udp dport 53 limit 9/hour burst 9");
	assert_int_equal(counters.passed.packets, 3);
	harness_close(h);
}

static void rule_put(struct harness *h, const char *text, bool there)
{
	CLEARED_POLICY struct policy next = {0};
	struct rule rule;
	struct policy_error err;
	struct policy_context ctx;
	bool found;

	instance_context(&h->instance, &ctx);
	assert_int_equal(statement_parse(text, &ctx, &rule, &found, &err), 0);
	assert_int_equal(instance_prefix_read(&h->instance, &rule, &next), 0);
	if (there)
		assert_int_equal(policy_put(&next, &rule), 0);
	else
		assert_int_equal(policy_remove(&next, &rule), 1);
	assert_int_equal(instance_prefix_write(&h->instance, &rule, &next), 0);
}

static size_t prefix_count(struct harness *h, const char *text)
{
	CLEARED_POLICY struct policy found = {0};
	struct rule rule;
	struct policy_error err;
	struct policy_context ctx;
	size_t count;

	instance_context(&h->instance, &ctx);
	assert_int_equal(selector_parse(text, &ctx, &rule, &err), 0);
	assert_int_equal(instance_prefix_read(&h->instance, &rule, &found), 0);
	count = found.count;
	return count;
}

/* Seven, and nine, rules that match no other packet of these tests. */
#define SEVEN(prefix)                                                            \
	prefix " udp dport 40001 deny; " prefix " udp dport 40002 deny; " prefix \
	       " udp dport 40003 deny; " prefix " udp dport 40004 deny; " prefix \
	       " udp dport 40005 deny; " prefix " udp dport 40006 deny; " prefix \
	       " udp dport 40007 deny; "
#define NINE(prefix) SEVEN(prefix) prefix " udp dport 40008 deny; " prefix " udp dport 40009 deny; "

/* Rule by rule, of a prefix and of `any`, beside a prefix that is changed in place. */
TEST(one_by_one_test)
{
	static const char *const prefixes[] = {"10.0.0.0/8", "any"};
	struct harness *h = harness_must_open(&options[0]);
	char text[128];

	harness_policy(h, "10.0.0.0/8 deny; 192.0.2.0/24 udp allow; " SEVEN("10.0.0.0/8")
				  SEVEN("any"));
	for (uint32_t i = 0; i < 8; i++) {
		const char *prefix = prefixes[i & 1];

		snprintf(text, sizeof(text), "rule %s tcp dport %u %s", prefix, 100 + i,
			 i % 3 ? "allow" : "deny");
		rule_put(h, text, true);
		snprintf(text, sizeof(text), "ip4=10.0.0.1 tcp=9>%u", 100 + i);
		harness_expect(h, prefix, text,
			       i & 1   ? RL_REASON_DENIED
			       : i % 3 ? RL_REASON_ALLOWED
				       : RL_REASON_DENIED);
		snprintf(text, sizeof(text), "ip4=198.51.100.9 tcp=9>%u", 100 + i);
		harness_expect(h, prefix, text,
			       !(i & 1) ? RL_REASON_UNMATCHED
			       : i % 3  ? RL_REASON_ALLOWED
					: RL_REASON_DENIED);
		snprintf(text, sizeof(text), "rule 192.0.2.0/24 udp dport %u deny", i + 1);
		rule_put(h, text, true);
		harness_expect(h, "beside it", "ip4 udp=9>77", RL_REASON_ALLOWED);
	}
	assert_int_equal(prefix_count(h, "10.0.0.0/8"), 12);
	assert_int_equal(prefix_count(h, "any"), 11);
	assert_int_equal(prefix_count(h, "192.0.2.0/24"), 9);
	for (uint32_t i = 0; i < 8; i += 2) {
		snprintf(text, sizeof(text), "rule 10.0.0.0/8 tcp dport %u %s", 100 + i,
			 i % 3 ? "allow" : "deny");
		rule_put(h, text, false);
	}
	assert_int_equal(prefix_count(h, "10.0.0.0/8"), 8);
	assert_int_equal(prefix_count(h, "any"), 11);
	harness_expect(h, "any", "ip4=198.51.100.9 tcp=9>101", RL_REASON_ALLOWED);
	harness_close(h);
}

/* ---- rows */

static const struct scenario rows[] = {
	{"allow before deny before limits",
	 "= " NINE("any") "any udp dport 53 limit 1/hour; any udp dport 50-60 deny; "
			  "any udp sport 7 allow | "
			  "ip4 udp=7>53 : allowed | "
			  "ip4 udp=8>53 : denied | "
			  "ip4 udp=8>54 : denied | "
			  "ip4 udp=8>61 : unmatched"},
	{"all limits that match hold",
	 "= " NINE("any") "any udp dport 53 limit 3/hour burst 3 per rule; "
			  "any udp dport 53 limit 2/hour burst 2; any udp limit 9/hour burst 9; "
			  "any limit 5/hour burst 5 per rule | "
			  "2 * ip4 udp=8>53 : within | "
			  "2 * ip4 udp=8>53 : over | "
			  "ip4=10.0.0.2 udp=8>53 : within | "
			  "ip4=10.0.0.2 udp=8>53 : over | "
			  "2 * ip4=10.0.0.2 udp=8>54 : within | "
			  "ip4=10.0.0.2 udp=8>54 : over | "
			  "# any limit 5/hour burst 5 per rule : 5 1 0 | "
			  "# any udp dport 53 limit 3/hour burst 3 per rule : 3 1 0"},
	{"eight limits of one packet",
	 "= " NINE("any") "any udp dport 53 limit 9/hour burst 9; any udp limit 8/hour burst 8; "
			  "any limit 7/hour burst 7; any udp sport 8 limit 6/hour burst 6; "
			  "any udp sport 1-99 limit 5/hour burst 5; "
			  "any udp dport 1-99 limit 4/hour burst 4; "
			  "any dport 53-54 limit 3/hour burst 3; "
			  "any dport 1-100 limit 2/hour burst 2 | "
			  "2 * ip4 udp=8>53 : within | "
			  "ip4 udp=8>53 : over | "
			  "# any udp dport 53 limit 9/hour burst 9 : 2 0 0 | "
			  "# any udp dport 1-99 limit 4/hour burst 4 : 2 0 0 | "
			  "# any dport 1-100 limit 2/hour burst 2 : 2 1 0"},
	{"of the prefix and of the device, each eight",
	 "= " NINE("10.0.0.0/8") NINE(
		 "device") "10.0.0.0/8 udp dport 53 limit 9/hour burst 9; 10.0.0.0/8 udp limit 8/hour burst 8; "
			   "10.0.0.0/8 limit 7/hour burst 7; 10.0.0.0/8 udp sport 8 limit 6/hour burst 6; "
			   "10.0.0.0/8 udp sport 1-99 limit 5/hour burst 5; "
			   "10.0.0.0/8 udp dport 1-99 limit 4/hour burst 4; "
			   "10.0.0.0/8 dport 53-54 limit 5/hour burst 5; "
			   "10.0.0.0/8 dport 1-100 limit 6/hour burst 6; "
			   "device udp dport 53 limit 9/hour burst 9; device udp limit 8/hour burst 8; "
			   "device limit 7/hour burst 7; device udp sport 8 limit 6/hour burst 6; "
			   "device udp sport 1-99 limit 5/hour burst 5; "
			   "device udp dport 1-99 limit 4/hour burst 4; "
			   "device dport 53-54 limit 5/hour burst 5; "
			   "device dport 1-100 limit 3/hour burst 3 | "
			   "3 * ip4=10.0.0.1 udp=8>53 : within | "
			   "ip4=10.0.0.1 udp=8>53 : over | "
			   "# 10.0.0.0/8 dport 1-100 limit 6/hour burst 6 : 3 0 0 | "
			   "# device udp dport 53 limit 9/hour burst 9 : 3 0 0 | "
			   "# device dport 1-100 limit 3/hour burst 3 : 3 1 0"},
	{"the shorter prefix where none matches",
	 "= " NINE("10.0.0.0/24") NINE("10.0.0.0/8") NINE(
		 "any") "10.0.0.0/24 tcp allow; 10.0.0.0/8 udp dport 53 limit 1/hour burst 1; any icmp deny; "
			"10.0.0.0/16 gre allow; any udp limit 1/hour burst 1 | "
			"ip4=10.0.0.1 tcp : allowed | "
			"ip4=10.0.0.1 udp=8>53 : within | "
			"ip4=10.0.0.1 udp=8>53 : over | "
			"ip4=10.0.0.1 icmp : denied | "
			"ip4=10.0.0.1 gre : allowed | "
			"ip4=10.0.0.1 esp : unmatched | "
			"ip4=10.0.0.1 udp=8>40003 : denied | "
			"ip4=10.0.0.1 udp=8>99 : within | "
			"ip4=10.0.0.1 udp=8>99 : over"},
	{"a prefix of few rules inside, and outside",
	 "= " NINE(
		 "10.0.0.0/16") "10.0.0.1 udp dport 53 limit 1/hour burst 1; 10.0.0.1 udp sport 7 deny; "
				"10.0.0.0/8 limit 1/hour burst 1; 10.0.0.0/16 udp dport 53 allow | "
				"ip4=10.0.0.1 udp=8>53 : within | "
				"ip4=10.0.0.1 udp=8>53 : over | "
				"ip4=10.0.0.1 udp=7>53 : denied | "
				"ip4=10.0.0.2 udp=8>53 : allowed | "
				"ip4=10.0.0.2 udp=8>99 : within | "
				"ip4=10.0.0.2 udp=8>99 : over"},
	{"rules expire",
	 "= " NINE("any") "any udp dport 53 deny for 10s; any udp dport 53 limit 1/hour for 20s; "
			  "any udp dport 53-54 allow for 30s | "
			  "ip4 udp=8>53 : allowed | "
			  "+ 31s | "
			  "ip4 udp=8>53 : unmatched"},
	{"deny expires before the limit",
	 "= " NINE(
		 "any") "any udp dport 53 deny for 10s; any udp dport 53 limit 1/hour burst 1 for 20s | "
			"ip4 udp=8>53 : denied | "
			"+ 11s | "
			"ip4 udp=8>53 : within | "
			"ip4 udp=8>53 : over | "
			"+ 10s | "
			"ip4 udp=8>53 : unmatched"},
	{"new sources", "= " NINE("device") "device new-source limit 2/hour burst 2; "
					    "device udp dport 53 new-source limit 1/hour burst 1 | "
					    "ip4=10.0.0.1 udp=8>53 : within | "
					    "ip4=10.0.0.1 udp=8>53 : unmatched | "
					    "ip4=10.0.0.2 udp=8>53 : over | "
					    "ip4=10.0.0.2 udp=8>99 : within | "
					    "ip4=10.0.0.3 udp=8>99 : over"},
	{"bans of a limit",
	 "= " NINE("any") "any udp dport 53 limit 1/hour burst 1 over ban 10s; any udp allow | "
			  "ip4 udp=8>53 : allowed"},
	{"a ban holds what the rule matches",
	 "= " NINE("any") "any udp dport 53 limit 1/hour burst 1 over ban 10s | "
			  "ip4 udp=8>53 : within | "
			  "ip4 udp=8>53 : over | "
			  "ip4 udp=8>53 : banned | "
			  "ip4 udp=8>54 : unmatched | "
			  "+ 11s | "
			  "ip4 udp=8>53 : over"},
	{"shadow mode",
	 "= " NINE("any") "any udp dport 53 limit 1/hour burst 1 over count; "
			  "any udp dport 53 limit 3/hour burst 3 per rule | "
			  "ip4 udp=8>53 : within | "
			  "2 * ip4 udp=8>53 : shadow | "
			  "ip4 udp=8>53 : over | "
			  "# any udp dport 53 limit 1/hour burst 1 over count : 1 0 2"},
	{"fragments", "= " NINE("any") "any fragment limit 1/hour burst 1; any udp dport 53 deny | "
				       "ip4 frag=0+ udp=8>53 data=64 : denied | "
				       "ip4 frag=100 udp=8>53 data=64 : within | "
				       "ip4 frag=100 udp=8>53 data=64 : over"},
	{"what a limit took is given back",
	 "= " NINE("any") "any udp dport 53 limit 4/hour burst 4 per rule; "
			  "device limit 2/hour burst 2 | "
			  "2 * ip4 udp=8>53 : within | "
			  "5 * ip4 udp=8>53 : over | "
			  "# any udp dport 53 limit 4/hour burst 4 per rule : 2 0 0"},
	{"all algorithms", "= " NINE("any") "any udp dport 1 limit fixed-window 1/hour; "
					    "any udp dport 2 limit sliding-window 1/hour; "
					    "any udp dport 3 limit sliding-log 1/hour; "
					    "any udp dport 4 limit leaky-bucket 1/hour; "
					    "any udp dport 5 limit warm-up 1/hour ramp 1h | "
					    "ip4 udp=8>1 : within | ip4 udp=8>1 : over | "
					    "ip4 udp=8>2 : within | ip4 udp=8>2 : over | "
					    "ip4 udp=8>3 : within | ip4 udp=8>3 : over | "
					    "ip4 udp=8>4 : within | ip4 udp=8>4 : over | "
					    "ip4 udp=8>5 : within | ip4 udp=8>5 : over"},
};

AT_START(rows_add_each)
{
	for (size_t i = 0; i < 2; i++)
		scenarios_add(rows, ARRAY_SIZE(rows), &options[i]);
}
