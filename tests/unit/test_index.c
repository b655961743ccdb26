// SPDX-License-Identifier: GPL-2.0-only
/* index.h leaves out no rule that a packet may match, and meeting.h finds packets that meet too
 * many limits: both against all packets of a small world, one by one.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <netinet/in.h>

#include "base/units.h"
#include "compile/compiled.h"
#include "compile/meeting.h"
#include "compile_helpers.h"
#include "policy_helpers.h"
#include "turns.h"

/* ---- the small world: a few ports, protocols, flags and addresses */

#define PORTS 5
static const uint8_t protos[] = {IPPROTO_TCP, IPPROTO_UDP, IPPROTO_SCTP, IPPROTO_ICMP, 47};
static const uint8_t tcp_flags[] = {0x00, 0x02, 0x10, 0x12, 0x04};
static const uint8_t lasts[] = {0, 1, 2}; /* of 10.0.0.0/24 */
enum { WHOLE, FIRST, LATER, FRAGMENTS };

struct packet {
	uint8_t proto, flags, fragment, last, ttl, payload;
	uint16_t sport, dport;
	bool is_new;
};

static bool has_ports(const struct packet *p)
{
	return p->fragment != LATER &&
	       (p->proto == IPPROTO_TCP || p->proto == IPPROTO_UDP || p->proto == IPPROTO_SCTP);
}

static bool in_ranges(uint16_t port, const struct rl_port_range *ranges, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		if (port >= ranges[i].first && port <= ranges[i].last)
			return true;
	return false;
}

/* Does the condition hold, or where it is negated the contrary? What is not known holds neither. */
static bool holds(const struct rule *rule, enum rl_match_flag flag, bool known, bool is)
{
	if (!(rule->match.flags & flag))
		return true;
	return known && is == !(rule->match.negated & flag);
}

static bool ports_hold(const struct rule *rule, const struct packet *p)
{
	struct rl_port_range ranges[RL_PORT_RANGES_MAX];
	uint32_t count = rule_ports(rule, RL_MATCH_SPORT, ranges);

	if (!holds(rule, RL_MATCH_SPORT, has_ports(p), in_ranges(p->sport, ranges, count)))
		return false;
	count = rule_ports(rule, RL_MATCH_DPORT, ranges);
	return holds(rule, RL_MATCH_DPORT, has_ports(p), in_ranges(p->dport, ranges, count));
}

static bool matches(const struct rule *rule, const struct packet *p)
{
	static const struct rl_extra none;
	const struct rl_extra *extra = rule->extra ? rule->extra : &none;
	uint8_t src[16] = {[10] = 0xff, 0xff, 10, 0, 0, p->last};
	bool tcp = p->proto == IPPROTO_TCP && p->fragment != LATER;

	return holds(rule, RL_MATCH_PROTO, true, p->proto == rule->match.proto) &&
	       ports_hold(rule, p) && holds(rule, RL_MATCH_SYN, tcp, (p->flags & 0x12) == 0x02) &&
	       holds(rule, RL_MATCH_TCP_FLAGS, tcp,
		     (p->flags & extra->number[RL_NUMBER_TCP_FLAGS].last) ==
			     extra->number[RL_NUMBER_TCP_FLAGS].first) &&
	       holds(rule, RL_MATCH_FRAGMENT, true, p->fragment != WHOLE) &&
	       holds(rule, RL_MATCH_SRC, true,
		     prefix_contains(rule->match.src, rule->match.src_len, src)) &&
	       holds(rule, RL_MATCH_NEW_SOURCE, true, p->is_new) &&
	       holds(rule, RL_MATCH_TTL, true,
		     p->ttl >= extra->number[RL_NUMBER_TTL].first &&
			     p->ttl <= extra->number[RL_NUMBER_TTL].last) &&
	       holds(rule, RL_MATCH_PAYLOAD, has_ports(p) && p->proto != IPPROTO_SCTP,
		     p->payload == extra->payload[0]);
}

/* The number of packets, and the n-th of them. */
#define PACKETS                                                                               \
	(ARRAY_SIZE(protos) * ARRAY_SIZE(tcp_flags) * ARRAY_SIZE(lasts) * FRAGMENTS * PORTS * \
	 PORTS * 2 * 2 * 2)

static uint32_t take(uint32_t *n, uint32_t of)
{
	uint32_t rest = *n % of;

	*n /= of;
	return rest;
}

static struct packet packet_at(uint32_t n)
{
	struct packet p = {0};

	p.proto = protos[take(&n, ARRAY_SIZE(protos))];
	p.flags = tcp_flags[take(&n, ARRAY_SIZE(tcp_flags))];
	p.last = lasts[take(&n, ARRAY_SIZE(lasts))];
	p.fragment = take(&n, FRAGMENTS);
	p.sport = take(&n, PORTS);
	p.dport = take(&n, PORTS);
	p.is_new = take(&n, 2);
	p.ttl = 63 + take(&n, 2);
	p.payload = take(&n, 2);
	return p;
}

/* ---- random limits of that world */

static bool maybe(uint32_t of)
{
	return random_below(of) == 0;
}

static void say(char *line, const char *words)
{
	size_t used = strlen(line);

	snprintf(line + used, RULE_TEXT_MAX - used, "%s", words);
}

static void add(char *line, const char *format, uint32_t value)
{
	size_t used = strlen(line);

	if (maybe(5) && strchr(format, '%'))
		used += snprintf(line + used, RULE_TEXT_MAX - used, " not");
	snprintf(line + used, RULE_TEXT_MAX - used, format, value);
}

static void ports_add(char *line, const char *word)
{
	size_t used;

	if (maybe(5))
		say(line, " not");
	used = strlen(line);
	if (maybe(4))
		snprintf(line + used, RULE_TEXT_MAX - used, " %s %u,%u", word,
			 (uint32_t)random_below(2), 3 + (uint32_t)random_below(2));
	else
		snprintf(line + used, RULE_TEXT_MAX - used, " %s %u-%u", word,
			 (uint32_t)random_below(3), 2 + (uint32_t)random_below(9));
}

/* May make no sense. */
static void line_draw(char line[RULE_TEXT_MAX], uint32_t number)
{
	static const char *const named[] = {" tcp", " udp", " udp", " sctp"};

	line[0] = '\0';
	say(line, "rule any");
	if (maybe(3))
		say(line, named[random_below(ARRAY_SIZE(named))]);
	else if (maybe(6))
		add(line, " proto %u", 47);
	if (maybe(2))
		ports_add(line, "sport");
	if (maybe(2))
		ports_add(line, "dport");
	if (maybe(8))
		say(line, maybe(2) ? " syn" : " not syn");
	if (maybe(8))
		say(line, maybe(2) ? " flags rst" : " not flags ack/ack");
	if (maybe(8))
		say(line, maybe(2) ? " fragment" : " not fragment");
	if (maybe(8))
		say(line, maybe(2) ? " new-source" : " not new-source");
	if (maybe(5))
		add(line, " src 10.0.0.%u", random_below(3));
	if (maybe(8))
		say(line, maybe(2) ? " ttl 63" : " not ttl 0-63");
	if (maybe(8))
		say(line, maybe(2) ? " payload 0 00" : " payload 0 01");
	snprintf(line + strlen(line), RULE_TEXT_MAX - strlen(line), " limit %u/s", 100 + number);
}

static struct policy policy_draw(uint32_t count)
{
	struct policy policy = {0};
	uint32_t tries = 0;

	while (policy.count < count && tries++ < 10000) {
		char line[RULE_TEXT_MAX];
		struct policy_error err;
		struct rule rule;
		bool there;

		line_draw(line, policy.count);
		if (!statement_parse(line, &on_xdp, &rule, &there, &err))
			assert_int_equal(policy_put(&policy, &rule), 0);
	}
	return policy;
}

static void order(const struct policy *policy, const struct rule **out)
{
	for (size_t i = 0; i < policy->count; i++)
		out[i] = &policy->rules[i];
}

/* ---- meeting.h */

static uint32_t most_met(const struct policy *policy)
{
	uint32_t most = 0;

	for (uint32_t n = 0; n < PACKETS; n++) {
		struct packet p = packet_at(n);
		uint32_t met = 0;

		policy_for_each (policy, rule)
			met += matches(rule, &p);
		most = met > most ? met : most;
	}
	return most;
}

/* The small world has no packet but these, so that a search may find one that it lacks; it must
 * find each that it has. */
TEST(meet_test)
{
	const struct rule *rules[64];
	uint32_t found = 0, none = 0, beyond = 0;

	random_start(20261123);
	for (uint32_t run = 0; run < 60; run++) {
		CLEARED_POLICY struct policy policy = policy_draw(9 + random_below(14));
		struct meeting met;
		int ret;

		order(&policy, rules);
		ret = limits_meet(rules, policy.count, false, &met);
		if (most_met(&policy) > RL_GROUP_MAX) {
			assert_int_equal(ret, -E2BIG);
			assert_int_equal(met.count, RL_GROUP_MAX + 1);
			found++;
		} else {
			none += ret == 0;
			beyond += ret != 0;
		}
	}
	assert_true(none > 10);
	assert_true(beyond < 10);
}

/* ---- index.h */

static const struct rl_index_entry *interval_of(const struct index *index, size_t root,
						enum rl_index_table kind, uint32_t number)
{
	const struct rl_index_entry *table = &index->entries[root + 1 + kind], *found = NULL;

	for (uint32_t i = 0; i < table->count; i++) {
		const struct rl_index_entry *interval = &index->entries[table->first + i];

		if (i)
			assert_true(interval->start > interval[-1].start);
		if (interval->start <= number)
			found = interval;
	}
	assert_non_null(found);
	return found;
}

static enum rl_index_table table_of(const struct packet *p)
{
	if (!has_ports(p))
		return RL_INDEX_NO_PORTS;
	if (p->proto == IPPROTO_TCP)
		return RL_INDEX_TCP;
	return p->proto == IPPROTO_UDP ? RL_INDEX_UDP : RL_INDEX_PORTS;
}

/* The rules of the packet's run, ascending; each that it matches is among them. */
static void run_check(const struct index *index, size_t root, const struct policy *policy,
		      uint32_t first, const struct packet *p)
{
	enum rl_index_table kind = table_of(p);
	uint16_t axis = index->entries[root + 1 + kind].start;
	uint32_t number = axis == RL_INDEX_DPORT   ? p->dport
			  : axis == RL_INDEX_SPORT ? p->sport
						   : p->proto;
	const struct rl_index_entry *run = interval_of(index, root, kind, number);
	unsigned char there[64] = {0};
	int64_t last = -1;

	for (uint32_t i = 0; i < run->count; i++) {
		uint32_t at = run->count == 1 ? run->first : index->entries[run->first + i].first;

		assert_in_range(at, first, first + policy->count - 1);
		assert_true(at > last);
		last = at;
		there[at - first] = 1;
	}
	for (size_t i = 0; i < policy->count; i++)
		if (matches(&policy->rules[i], p))
			assert_true(there[i]);
}

TEST(index_test)
{
	struct index index = {0};

	random_start(20261124);
	for (uint32_t run = 0; run < 60; run++) {
		CLEARED_POLICY struct policy policy = policy_draw(9 + random_below(50));
		const struct rule *rules[64];
		size_t root = index.count;
		struct crowd crowd;

		order(&policy, rules);
		assert_int_equal(index_append(&index, rules, policy.count, 7000, &crowd), 0);
		assert_int_equal(index.entries[root].first, 7000);
		assert_int_equal(index.entries[root].count, policy.count);
		for (uint32_t i = 0; i < TURNS(3000); i++) {
			struct packet p = packet_at(random_below(PACKETS));

			run_check(&index, root, &policy, 7000, &p);
		}
	}
	index_clear(&index);
}

/* Rules of one protocol and port are no more than a packet may be held against. */
TEST(crowd_test)
{
	static const struct rule *rules[RL_RUN_MAX + 1];
	CLEARED_POLICY struct policy policy = {0};
	struct index index = {0};
	struct crowd crowd;

	for (uint32_t i = 0; i <= RL_RUN_MAX; i++) {
		char line[128];
		struct rule rule;

		snprintf(line, sizeof(line), "rule any udp dst 10.0.%u.%u deny", i >> 8, i & 255);
		rule = must_parse(line, &on_xdp);
		assert_int_equal(policy_put(&policy, &rule), 0);
	}
	order(&policy, rules);
	assert_int_equal(index_append(&index, rules, RL_RUN_MAX, 0, &crowd), 0);
	assert_int_equal(index_append(&index, rules, RL_RUN_MAX + 1, 0, &crowd), -E2BIG);
	assert_int_equal(crowd.count, RL_RUN_MAX + 1);
	assert_ptr_equal(crowd.last, rules[RL_RUN_MAX]);
	assert_int_equal(crowd.packet.proto, IPPROTO_UDP);
	index_clear(&index);
}
