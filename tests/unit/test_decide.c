// SPDX-License-Identifier: GPL-2.0-only
/* Which rules `rule get` names: by hand, and for random policies against every packet of a small
 * world, each decided as the manual says.
 */
#include <string.h>

#include "base/units.h"
#include "policy/packets/decide.h"
#include "policy/packets/level.h"
#include "policy/while.h"
#include "policy_helpers.h"
#include "turns.h"

static void address_of(const char *text, uint8_t out[16])
{
	uint8_t len;

	assert_int_equal(prefix_parse(text, out, &len, NULL), 0);
}

/* ---- sets */

/* All members of a and b are known, and none of others. */
static const struct {
	const char *set, *member;
} members[] = {
	{"a", "10.1.0.0/16"}, {"a", "2001:db8::1"},   {"b", "10.0.0.0/8"},
	{"b", "10.1.1.1"},    {"b", "2001:db8::/32"},
};

static int known_len(const char *name, const uint8_t addr[16], void *arg)
{
	int longest = SET_NO_MEMBER;
	uint8_t member[16], len;

	(void)arg;
	if (strcmp(name, "a") != 0 && strcmp(name, "b") != 0)
		return SET_UNKNOWN;
	for (size_t i = 0; i < ARRAY_SIZE(members); i++) {
		if (strcmp(members[i].set, name) != 0)
			continue;
		assert_int_equal(prefix_parse(members[i].member, member, &len, NULL), 0);
		if (prefix_contains(member, len, addr) && len > longest)
			longest = len;
	}
	return longest;
}

static const struct set_members known = {.len = known_len};

/* ---- alarms */

/* It is not known whether x and y are on. */
static enum alarm_is known_state(const char *name, void *arg)
{
	(void)arg;
	if (!strcmp(name, "on"))
		return ALARM_IS_ON;
	return strcmp(name, "off") ? ALARM_IS_UNKNOWN : ALARM_IS_OFF;
}

static const struct alarm_states states = {.of = known_state};

#define ALARM_OF(name) "alarm " name " when over 99/s for 1s until under 9/s for 9s\n"
#define ALARMS         ALARM_OF("on") ALARM_OF("off") ALARM_OF("x") ALARM_OF("y")

#define SETS           "set a\nset b\nset c\nset d\n"

/* ---- by hand */

static const struct decide_row {
	const char *name, *policy, *addr;
	const char *lines; /* of the rules that decide, without "rule ", joined by "; " */
	bool by_dest;
} rows[] = {
	{"dst of the other family",
	 "rule any dst 2001:db8::1 deny\nrule any dst 192.0.2.9 udp deny", "192.0.2.1",
	 "any udp dst 192.0.2.9 deny", false},
	{"src of the other family, by destination",
	 "rule any src 2001:db8::1 deny\nrule any udp deny", "192.0.2.1", "any udp deny", true},
	{"all of the other family", "rule any dst ::/0 deny\nrule any udp deny", "192.0.2.1",
	 "any udp deny", false},
	{"all of its own family", "rule any dst 0.0.0.0/0 allow\nrule any udp deny", "192.0.2.1",
	 "any dst 0.0.0.0/0 allow", false},
	{"behind a src that holds it", "rule any src 192.0.2.0/24 allow\nrule any udp deny",
	 "192.0.2.1", "any src 192.0.2.0/24 allow", false},
	{"behind a src that does not", "rule any src 192.0.3.0/24 allow\nrule any udp deny",
	 "192.0.2.1", "any udp deny", false},
	{"behind a dst that holds it", "rule any dst 192.0.2.0/24 deny\nrule device udp deny",
	 "192.0.2.1", "any dst 192.0.2.0/24 deny", true},
	{"behind two halves",
	 "rule any udp dport 0-99 allow\nrule any udp dport 100-65535 allow\n"
	 "rule any udp dport 53 deny\nrule any udp deny",
	 "192.0.2.1", "any udp dport 0-99 allow; any udp dport 100-65535 allow; any udp deny",
	 false},
	{"but for a later fragment", "rule any udp dport 0-65535 allow\nrule any udp fragment deny",
	 "192.0.2.1", "any udp dport 0-65535 allow; any udp fragment deny", false},
	{"ports of three protocols",
	 "rule any tcp allow\nrule any udp allow\nrule any dport 53 deny", "192.0.2.1",
	 "any tcp allow; any udp allow; any dport 53 deny", false},
	{"ports of three protocols, all taken",
	 "rule any tcp allow\nrule any udp allow\nrule any sctp allow\nrule any dport 53 deny",
	 "192.0.2.1", "any tcp allow; any udp allow; any sctp allow", false},
	{"SYN behind TCP", "rule any tcp allow\nrule any syn deny", "192.0.2.1", "any tcp allow",
	 false},
	{"known and new", "rule any new-source allow\nrule any deny\nrule device udp deny",
	 "192.0.2.1", "any new-source allow; any deny", false},
	{"behind what expires", "rule any allow for 1h\nrule any udp deny", "192.0.2.1",
	 "any allow for 1h; any udp deny", false},
	{"device, where all is denied but by limits",
	 "rule 192.0.2.1 tcp limit 9/s\nrule any deny\nrule device udp deny\n"
	 "rule device tcp dport 5 deny",
	 "192.0.2.1", "192.0.2.1 tcp limit 9/second burst 5; any deny; device tcp dport 5 deny",
	 false},
	{"device, all allowed before",
	 "rule any tcp allow\nrule device tcp deny\nrule device udp deny", "192.0.2.1",
	 "any tcp allow; device udp deny", false},
	{"device, its own allow", "rule device udp allow\nrule device udp dport 5 deny",
	 "192.0.2.1", "device udp allow", false},
	{"established and not",
	 "rule any established allow\nrule any not established deny\n"
	 "rule any udp limit 9/s",
	 "192.0.2.1", "any established allow; any not established deny", false},
	{"what is established is no SYN", "rule any tcp syn allow\nrule any tcp established deny",
	 "192.0.2.1", "any tcp syn allow; any tcp established deny", false},
	{"all that is not",
	 "rule any not established allow\nrule any gre deny\n"
	 "rule any tcp syn deny\nrule any tcp deny\nrule any icmp deny",
	 "192.0.2.1", "any not established allow; any icmp deny; any tcp deny", false},
	{"a later fragment is not established",
	 "rule any udp not established allow\nrule any udp fragment deny\n"
	 "rule any udp dport 0-65535 deny",
	 "192.0.2.1",
	 "any udp not established allow; any udp dport 0-65535 deny; any udp fragment deny", false},
	{"established, by destination", "rule any established allow\nrule any gre deny",
	 "2001:db8::1", "any established allow; any gre deny", true},
	{"an extension header is no protocol",
	 "rule any proto 0 deny\nrule any proto 0 fragment allow", "2001:db8::1",
	 "any proto 0 fragment allow", false},
	{"behind all but one port",
	 "rule any udp not dport 53 deny\nrule any udp dport 1-99 limit 9/s", "192.0.2.1",
	 "any udp not dport 53 deny; any udp dport 1-99 limit 9/second burst 5", false},
	{"behind a list", "rule any udp dport 1,3,5-9 allow\nrule any udp dport 5-6 deny",
	 "192.0.2.1", "any udp dport 1,3,5-9 allow", false},
	{"behind both halves of a match",
	 "rule any tcp flags fin/fin allow\n"
	 "rule any tcp not flags fin/fin allow\nrule any tcp deny\nrule any tcp dport 5 deny",
	 "192.0.2.1", "any tcp flags fin/fin allow; any tcp not flags fin/fin allow; any tcp deny",
	 false},
	{"a payload that may be unknown",
	 "rule any udp payload 0 ff allow\n"
	 "rule any udp not payload 0 ff allow\nrule any udp deny",
	 "192.0.2.1", "any udp payload 0 ff allow; any udp not payload 0 ff allow; any udp deny",
	 false},
	{"a payload and all others",
	 "rule any udp payload 0 ff allow\nrule any udp not payload 0 ff deny", "192.0.2.1",
	 "any udp payload 0 ff allow; any udp not payload 0 ff deny", false},
	{"the same payload",
	 "rule any payload 0 ff allow\nrule any udp payload 0 ff deny\n"
	 "rule any udp payload 1 ff deny",
	 "192.0.2.1", "any payload 0 ff allow; any udp payload 1 ff deny", false},
	{"lengths", "rule any length 0-99 allow\nrule any not length 0-99 allow\nrule any udp deny",
	 "192.0.2.1", "any length 0-99 allow; any not length 0-99 allow", false},
	{"any other source", "rule any not src 192.0.2.0/24 deny\nrule any udp deny", "192.0.2.1",
	 "any udp deny", false},
	{"any other source, of the other family",
	 "rule any not src 192.0.2.0/24 allow\n"
	 "rule any udp deny",
	 "2001:db8::1", "any not src 192.0.2.0/24 allow", false},
	{"two lists of sixteen",
	 "rule any udp sport 1,3,5,7,9,11,13,15,17,19,21,23,25,27,29,31 "
	 "dport 1,3,5,7,9,11,13,15,17,19,21,23,25,27,29,31 allow\n"
	 "rule any udp sport 1 dport 1 deny",
	 "192.0.2.1",
	 "any udp sport 1,3,5,7,9,11,13,15,17,19,21,23,25,27,29,31 "
	 "dport 1,3,5,7,9,11,13,15,17,19,21,23,25,27,29,31 allow",
	 false},
	{"a set of which the address is no member", SETS "rule @a deny\nrule any udp deny",
	 "192.0.2.1", "any udp deny", false},
	{"a member of 16 bits before a prefix of 8",
	 SETS "rule @a deny\nrule 10.0.0.0/8 allow\nrule any deny", "10.1.2.3", "@a deny", false},
	{"a prefix of 24 bits before a member of 16",
	 SETS "rule @a deny\nrule 10.1.2.0/24 udp allow", "10.1.2.3",
	 "10.1.2.0/24 udp allow; @a deny", false},
	{"of the same length, allow before deny", SETS "rule @a deny\nrule 10.1.0.0/16 udp allow",
	 "10.1.2.3", "10.1.0.0/16 udp allow; @a deny", false},
	{"of the same length, all limits",
	 SETS "rule @a udp limit 1000/s\nrule 10.1.0.0/16 limit 2000/s\nrule any deny", "10.1.2.3",
	 "@a udp limit 1000/second burst 100; 10.1.0.0/16 limit 2000/second burst 200", false},
	{"the longer member of two sets", SETS "rule @a udp deny\nrule @b deny", "10.1.1.1",
	 "@b deny", false},
	{"the longest member of each set only",
	 SETS "rule @a tcp deny\nrule @b udp deny\nrule any deny", "10.1.9.9",
	 "@a tcp deny; @b udp deny; any deny", false},
	{"a set that nobody knows hides nothing",
	 SETS "rule @c allow\nrule 10.1.1.1 deny\nrule any allow", "10.1.1.1",
	 "@c allow; 10.1.1.1 deny", false},
	{"but the longest prefix may hide it", SETS "rule @c deny\nrule 10.1.1.1 allow", "10.1.1.1",
	 "10.1.1.1 allow", false},
	{"src of a member", SETS "rule any src @a deny\nrule any udp allow", "10.1.1.1",
	 "any udp allow; any src @a deny", false},
	{"src of none", SETS "rule any src @a deny\nrule any udp allow", "192.0.2.1",
	 "any udp allow", false},
	{"not src of none", SETS "rule any not src @a deny\nrule any udp limit 9/s", "192.0.2.1",
	 "any not src @a deny", false},
	{"src of a set that nobody knows, and not",
	 SETS "rule any src @c allow\nrule any not src @c deny\nrule any limit 9/s", "192.0.2.1",
	 "any src @c allow; any not src @c deny", false},
	{"dst of two sets, of which the peer may be in one",
	 SETS "rule any dst @a allow\nrule any not dst @b deny\nrule any limit 9/s", "192.0.2.1",
	 "any dst @a allow; any not dst @b deny; any limit 9/second burst 5", false},
	{"while an alarm is on, and off",
	 ALARMS "rule any udp deny while on\nrule any udp sport 5 limit 9/s\n"
		"rule any tcp deny while off\nrule any limit 9/s while not on\nrule any limit 8/s "
		"while not off",
	 "192.0.2.1", "any udp deny while on; any limit 8/second burst 5 while not off", false},
	{"an alarm that may be on hides nothing", ALARMS "rule any allow while x\nrule any deny",
	 "192.0.2.1", "any allow while x; any deny", false},
	{"an alarm that may be on, and the same that is not",
	 ALARMS "rule any allow while x\nrule any deny while not x\nrule any limit 9/s",
	 "192.0.2.1", "any allow while x; any deny while not x", false},
	{"two alarms",
	 ALARMS "rule any allow while x\nrule any deny while not y\nrule any limit 9/s",
	 "192.0.2.1", "any allow while x; any deny while not y; any limit 9/second burst 5", false},
	{"an alarm within a match",
	 ALARMS "rule any udp allow while x\nrule any udp dport 5 deny while x\n"
		"rule any udp deny while not x\nrule any limit 9/s",
	 "192.0.2.1", "any udp allow while x; any udp deny while not x; any limit 9/second burst 5",
	 false},
	{"an alarm before a shorter prefix and the device",
	 ALARMS "rule 192.0.2.1 deny while x\nrule 192.0.2.0/24 allow\nrule any deny\n"
		"rule device limit 9/s",
	 "192.0.2.1", "192.0.2.1 deny while x; 192.0.2.0/24 allow", false},
	{"dst of a member, by destination", SETS "rule any dst @a allow\nrule any deny", "10.1.1.1",
	 "any dst @a allow", true},
	{"in IPv4 it is", "rule any proto 0 deny\nrule any proto 0 fragment allow", "192.0.2.1",
	 "any proto 0 fragment allow; any proto 0 deny", false},
};

TEST(test_rows)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct policy_context ctx = {.mtu = 1500, .by_dest = rows[i].by_dest};
		CLEARED_POLICY struct policy policy = must_parse_lines(rows[i].policy, &ctx),
					     found = {0};
		struct asked asked = {
			.by_dest = rows[i].by_dest, .members = &known, .alarms = &states};
		char lines[4 * RULE_TEXT_MAX] = "", line[RULE_TEXT_MAX];
		size_t len = 0;

		address_of(rows[i].addr, asked.addr);
		assert_int_equal(rules_decide(&policy, &asked, &found), 0);
		policy_for_each (&found, rule) {
			rule_print(line, sizeof(line), rule, &ctx);
			len += (size_t)snprintf(lines + len, sizeof(lines) - len, "%s%s",
						len ? "; " : "", line + strlen("rule "));
			assert_true(len < sizeof(lines));
		}
		if (strcmp(lines, rows[i].lines) != 0)
			fail_msg("%s\nis     %s\nwanted %s", rows[i].name, lines, rows[i].lines);
	}
}

/* ---- at random */

#define POLICIES  150
#define RULES_MAX 7

struct world_packet {
	uint8_t src[16], dst[16];
	uint8_t proto;
	uint16_t sport, dport;
	bool has_ports, fragment, is_new, is_established;
	uint8_t flags, ttl, vlan, dscp; /* flags: of TCP */
	uint16_t length;
	uint8_t icmp_type, icmp_code;
	bool later;
	uint8_t payload; /* its byte, if it is not a later fragment; 0: there is none */
	bool filter;     /* it holds */
	uint8_t peer_in; /* the sets of the address that is not looked up, a bit each */
};

static const char *const prefixes[] = {"any",         "any",      "device", "10.0.0.0/8",
				       "10.1.0.0/16", "10.1.1.1", "::/0",   "2001:db8::/32",
				       "2001:db8::1", "@a",       "@b",     "@c"};
static const char *const protocols[] = {"",         "",          " tcp",      " udp",
					" sctp",    " proto 44", " proto 89", " not tcp",
					" not udp", " proto 89"};
static const char *const sports[] = {"",
				     "",
				     "",
				     " sport 0-999",
				     " sport 1000-65535",
				     " sport 53",
				     " not sport 53",
				     " sport 0-52,54-65535"};
static const char *const dports[] = {"",
				     "",
				     "",
				     " dport 0-999",
				     " dport 1000-65535",
				     " dport 53",
				     " not dport 1000-65535",
				     " dport 1-9,1000-65535"};
static const char *const peers4[] = {
	"", "", " 0.0.0.0/0", " 0.0.0.0/1", " 128.0.0.0/1", " 10.0.0.0/8", " @a", " @b"};
static const char *const peers6[] = {"",    "",   " ::/0", " ::/1", " 8000::/1", " 2001:db8::/32",
				     " @a", " @c"};
static const char *const shapes[] = {"",
				     "",
				     "",
				     "",
				     " syn",
				     " not syn",
				     " flags ack",
				     " flags none/syn",
				     " not flags syn/syn",
				     " not flags ack"};
static const char *const extras[] = {
	" length 20-99",
	" not length 0-99",
	" ttl 0-9",
	" not ttl 0-9",
	" vlan 1-9",
	" not vlan 1-9",
	" dscp 1",
	" not dscp 1",
	" payload 0 41",
	" not payload 0 41",
	" filter \"udp\"",
	" not filter \"udp\"",
	" icmp icmp-type 8",
	" icmp not icmp-type 8",
	" icmp icmp-type 8 code 1",
	" icmp not icmp-type 8 code 1",
};
static const char *const proofs[] = {"", "", "", "", " established", " not established"};
static const char *const whiles[] = {"",
				     "",
				     "",
				     " while x",
				     " while y",
				     " while x",
				     " while not x",
				     " while not y",
				     " while on",
				     " while not on"};
static const char *const actions[] = {"allow", "deny", "limit 9/second"};
static const uint8_t numbers[] = {6, 17, 132, 44, 89, 1};
static const uint16_t ports[] = {7, 53, 2000};
static const char *const asked4[] = {"10.1.1.1", "10.9.9.9", "192.0.2.1"};
static const char *const asked6[] = {"2001:db8::1", "fe80::1"};
static const char *const others4[] = {"10.1.1.1", "1.2.3.4", "198.51.100.1"};
static const char *const others6[] = {"2001:db8::1", "1::1", "fe80::2"};

#define PICK(words) ((words)[random_below(ARRAY_SIZE(words))])

/* Few of the extras in one policy, so that its rules meet. */
static size_t extras_from;

/* The set of which nothing is known takes long, so that few policies have it. */
static bool with_unknown;
static bool with_alarms;

static const char *extra_pick(void)
{
	if (random_below(3))
		return "";
	return extras[(extras_from + random_below(4)) % ARRAY_SIZE(extras)];
}

/* Random prefixes and addresses of both families; combinations that make no sense are drawn again.
 */
static struct rule random_small_rule(const struct policy_context *ctx)
{
	char line[RULE_TEXT_MAX];
	struct policy_error err;
	struct rule rule;
	bool found;

	do {
		bool ipv4 = random_below(2);
		const char *src = ipv4 ? PICK(peers4) : PICK(peers6);
		const char *dst = ipv4 ? PICK(peers4) : PICK(peers6);

		snprintf(line, sizeof(line), "rule %s%s%s%s%s%s%s%s%s%s%s%s%s%s%s %s%s%s",
			 PICK(prefixes), PICK(protocols), PICK(sports), PICK(dports),
			 *src && !random_below(5) ? " not" : "", *src ? " src" : "", src,
			 *dst && !random_below(5) ? " not" : "", *dst ? " dst" : "", dst,
			 PICK(shapes),
			 random_below(5)   ? ""
			 : random_below(2) ? " fragment"
					   : " not fragment",
			 random_below(8)   ? ""
			 : random_below(2) ? " new-source"
					   : " not new-source",
			 PICK(proofs), extra_pick(), PICK(actions),
			 random_below(10) ? "" : " for 1h", with_alarms ? PICK(whiles) : "");
	} while ((!with_unknown && strstr(line, "@c")) ||
		 statement_parse(line, ctx, &rule, &found, &err));
	return rule;
}

static bool in(const uint8_t addr[16], uint8_t len, const uint8_t inner[16])
{
	return prefix_contains(addr, len, inner);
}

static bool in_list(const struct rl_port_range *ranges, uint32_t count, uint16_t port)
{
	for (uint32_t i = 0; i < count; i++)
		if (port >= ranges[i].first && port <= ranges[i].last)
			return true;
	return false;
}

static bool is_known(const struct world_packet *p, enum rl_match_flag flag)
{
	switch (flag) {
	case RL_MATCH_SPORT:
	case RL_MATCH_DPORT:
		return p->has_ports;
	case RL_MATCH_SYN:
	case RL_MATCH_TCP_FLAGS:
		return p->proto == 6 && !p->later;
	case RL_MATCH_ICMP_TYPE:
		return !p->later;
	case RL_MATCH_PAYLOAD:
		return p->payload && !p->later &&
		       (p->proto == 6 || p->proto == 17 || p->proto == 1);
	default:
		return true;
	}
}

static bool same_family(const uint8_t addr[16], uint8_t len, const uint8_t other[16])
{
	return prefix_is_ipv4(addr, len) == prefix_is_ipv4(other, 128);
}

/* A policy in which some rules have expired, and which of its rules decided so far. */
struct trial {
	const struct policy *policy;
	bool by_dest;
	uint32_t expired;
	uint32_t decided;
	unsigned int alarms; /* that are on: 1: x, 2: y */
	int unknown; /* the longest member of c that holds the lookup address, or SET_NO_MEMBER */
};

static int home_len(const struct trial *t, const char *set, const uint8_t addr[16])
{
	int len = known_len(set, addr, NULL);

	return len == SET_UNKNOWN ? t->unknown : len;
}

/* One condition without `not`, as the manual says under Matches. */
static bool condition_holds(const struct trial *t, const struct rule *rule,
			    const struct world_packet *p, enum rl_match_flag flag)
{
	const struct match *m = &rule->match;
	const struct rl_extra *x = rule->extra;
	struct rl_port_range list[RL_PORT_RANGES_MAX];
	uint16_t icmp;

	switch (flag) {
	case RL_MATCH_PROTO:
		return m->proto == p->proto;
	case RL_MATCH_SPORT:
		return in_list(list, rule_ports(rule, RL_MATCH_SPORT, list), p->sport);
	case RL_MATCH_DPORT:
		return in_list(list, rule_ports(rule, RL_MATCH_DPORT, list), p->dport);
	case RL_MATCH_SRC:
		if (m->src_len == RL_LEN_SET)
			return t->by_dest ? p->peer_in >> (x->src_set[0] - 'a') & 1
					  : home_len(t, x->src_set, p->src) != SET_NO_MEMBER;
		return same_family(m->src, m->src_len, p->src) && in(m->src, m->src_len, p->src);
	case RL_MATCH_DST:
		if (m->dst_len == RL_LEN_SET)
			return t->by_dest ? home_len(t, x->dst_set, p->dst) != SET_NO_MEMBER
					  : p->peer_in >> (x->dst_set[0] - 'a') & 1;
		return same_family(m->dst, m->dst_len, p->dst) && in(m->dst, m->dst_len, p->dst);
	case RL_MATCH_SYN:
		return (p->flags & 0x12) == 0x02;
	case RL_MATCH_FRAGMENT:
		return p->fragment;
	case RL_MATCH_NEW_SOURCE:
		return p->is_new;
	case RL_MATCH_ESTABLISHED:
		return p->is_established;
	case RL_MATCH_TCP_FLAGS:
		return (p->flags & x->number[RL_NUMBER_TCP_FLAGS].last) ==
		       x->number[RL_NUMBER_TCP_FLAGS].first;
	case RL_MATCH_LENGTH:
		return p->length >= x->number[RL_NUMBER_LENGTH].first &&
		       p->length <= x->number[RL_NUMBER_LENGTH].last;
	case RL_MATCH_TTL:
		return p->ttl >= x->number[RL_NUMBER_TTL].first &&
		       p->ttl <= x->number[RL_NUMBER_TTL].last;
	case RL_MATCH_VLAN:
		return p->vlan >= x->number[RL_NUMBER_VLAN].first &&
		       p->vlan <= x->number[RL_NUMBER_VLAN].last;
	case RL_MATCH_DSCP:
		return p->dscp == x->number[RL_NUMBER_DSCP].first;
	case RL_MATCH_ICMP_TYPE:
		icmp = p->icmp_type << 8 | p->icmp_code;
		return icmp >= x->number[RL_NUMBER_ICMP_TYPE].first &&
		       icmp <= x->number[RL_NUMBER_ICMP_TYPE].last;
	case RL_MATCH_PAYLOAD:
		return (p->payload & x->payload_mask[0]) == x->payload[0];
	case RL_MATCH_FILTER:
		return p->filter;
	}
	return false;
}

static bool while_holds(const struct trial *t, const struct rule *rule)
{
	bool off;
	const char *name = rule_while(rule, &off);

	if (!strcmp(name, "on"))
		return !off;
	return !*name || (t->alarms >> (*name - 'x') & 1) != off;
}

static bool holds(const struct trial *t, const struct rule *rule, const struct world_packet *p)
{
	if (!while_holds(t, rule))
		return false;
	for (unsigned int flag = 1; flag <= rule->match.flags; flag <<= 1) {
		if (!(rule->match.flags & flag))
			continue;
		if (!is_known(p, flag) ||
		    condition_holds(t, rule, p, flag) != match_wants(&rule->match, flag))
			return false;
	}
	return true;
}

static bool has_prefix(const struct trial *t, const struct rule *rule, enum prefix_kind kind,
		       int len, const uint8_t home[16])
{
	if (kind != PREFIX_ADDR)
		return rule->kind == kind;
	if (rule->kind == PREFIX_SET)
		return home_len(t, rule->set, home) == len;
	return rule->kind == PREFIX_ADDR && rule->len == len && in(rule->addr, len, home);
}

/* The rules of the prefix, and of the first action of which one holds; that action, or none. */
static int decide_prefix(struct trial *t, const struct world_packet *p, enum prefix_kind kind,
			 int len)
{
	const uint8_t *home = t->by_dest ? p->dst : p->src;

	for (int action = RL_ACTION_ALLOW; action <= RL_ACTION_LIMIT; action++) {
		uint32_t hits = 0;

		for (size_t i = 0; i < t->policy->count; i++) {
			const struct rule *rule = &t->policy->rules[i];

			if (rule->action != action || t->expired >> i & 1 ||
			    !has_prefix(t, rule, kind, len, home))
				continue;
			hits |= holds(t, rule, p) ? 1u << i : 0;
		}
		t->decided |= hits;
		if (hits)
			return action;
	}
	return -1;
}

static void decide_packet(struct trial *t, const struct world_packet *p)
{
	static const uint8_t lens[] = {128, 112, 104, 32, 0};
	int action = -1;

	for (size_t i = 0; action < 0 && i < ARRAY_SIZE(lens); i++)
		action = decide_prefix(t, p, PREFIX_ADDR, lens[i]);
	if (action < 0)
		action = decide_prefix(t, p, PREFIX_ANY, 0);
	if (action < 0 || action == RL_ACTION_LIMIT)
		decide_prefix(t, p, PREFIX_DEVICE, 0);
}

/* Known and new, established and not. */
static void decide_kinds(struct trial *t, struct world_packet p)
{
	bool syn = (p.flags & 0x12) == 0x02;
	bool proven = (p.proto == 6 || p.proto == 17 || p.proto == 1) && !p.later && !syn;

	for (int kind = 0; kind < (proven ? 4 : 2); kind++) {
		p.is_new = kind & 1;
		p.is_established = kind & 2;
		decide_packet(t, &p);
	}
}

/* Values of a field that no rule of the policy asks about need not be tried. */
static bool asks(const struct trial *t, enum rl_match_flag flag)
{
	policy_for_each (t->policy, rule)
		if (rule->match.flags & flag)
			return true;
	return false;
}

/* The sets that rules name for the address that is not looked up, a bit each. */
static unsigned int sets_asked(const struct trial *t)
{
	unsigned int sets = 0;

	policy_for_each (t->policy, rule)
		if (match_names_set(&rule->match, t->by_dest ? RL_MATCH_SRC : RL_MATCH_DST))
			sets |= 1u
				<< ((t->by_dest ? rule->extra->src_set : rule->extra->dst_set)[0] -
				    'a');
	return sets;
}

static void decide_peers(struct trial *t, struct world_packet p)
{
	unsigned int sets = sets_asked(t), in = 0;

	do {
		p.peer_in = in;
		decide_kinds(t, p);
		in = (in - sets) & sets;
	} while (in);
}

static void decide_payloads(struct trial *t, struct world_packet p)
{
	static const uint8_t payloads[] = {0, 0x41, 0x42};

	for (int filter = 0; filter <= (int)asks(t, RL_MATCH_FILTER); filter++)
		for (int i = 0; i < (asks(t, RL_MATCH_PAYLOAD) ? 3 : 1); i++) {
			p.filter = filter;
			p.payload = payloads[i];
			decide_peers(t, p);
		}
}

static void decide_vlans(struct trial *t, struct world_packet p)
{
	for (int vlan = 0; vlan <= (int)asks(t, RL_MATCH_VLAN); vlan++) {
		p.vlan = vlan * 5;
		decide_payloads(t, p);
	}
}

static void decide_headers(struct trial *t, struct world_packet p)
{
	static const uint8_t types[][2] = {{0, 1}, {8, 0}, {8, 1}};

	for (int length = 0; length <= (int)asks(t, RL_MATCH_LENGTH); length++)
		for (int ttl = 0; ttl <= (int)asks(t, RL_MATCH_TTL); ttl++)
			for (int dscp = 0; dscp <= (int)asks(t, RL_MATCH_DSCP); dscp++)
				for (int i = 0; i < (asks(t, RL_MATCH_ICMP_TYPE) ? 3 : 1); i++) {
					p.length = length ? 100 : 60;
					p.ttl = ttl ? 64 : 5;
					p.dscp = dscp;
					p.icmp_type = types[i][0];
					p.icmp_code = types[i][1];
					decide_vlans(t, p);
				}
}

/* Whole, first fragment and later one, of TCP with several flags. In IPv6 a fragment's header is no
 * protocol, unless it is in a later fragment, where nothing reads it. */
static void decide_shapes(struct trial *t, struct world_packet p, bool ipv6)
{
	static const uint8_t flags[] = {0, 0x02, 0x10, 0x12, 0x11};
	bool ports_known = p.proto == 6 || p.proto == 17 || p.proto == 132;

	for (int shape = 0; shape < 3; shape++) {
		p.later = shape == 2;
		p.fragment = shape >= 1;
		p.has_ports = ports_known && !p.later;
		if (ipv6 && p.proto == 44 && !p.later)
			continue;
		for (size_t i = 0; i < (p.proto == 6 && !p.later ? ARRAY_SIZE(flags) : 1); i++) {
			p.flags = flags[i];
			decide_headers(t, p);
		}
	}
}

static void decide_all(struct trial *t, const char *addr, bool ipv6)
{
	struct world_packet p = {0};

	for (size_t i = 0; i < ARRAY_SIZE(others4); i++) {
		address_of(addr, t->by_dest ? p.dst : p.src);
		address_of(ipv6 ? others6[i] : others4[i], t->by_dest ? p.src : p.dst);
		for (size_t n = 0; n < ARRAY_SIZE(numbers); n++) {
			for (size_t j = 0; j < ARRAY_SIZE(ports) * ARRAY_SIZE(ports); j++) {
				p.proto = numbers[n];
				p.sport = ports[j % ARRAY_SIZE(ports)];
				p.dport = ports[j / ARRAY_SIZE(ports)];
				decide_shapes(t, p, ipv6);
			}
		}
	}
}

/* Does a rule name the set of which nothing is known, for the lookup address? */
static bool is_unknown(const struct policy *policy, bool by_dest)
{
	policy_for_each (policy, rule) {
		const char *own = rule->extra ? rule->extra->src_set : "";

		if (rule->extra && by_dest)
			own = rule->extra->dst_set;
		if (rule->set[0] == 'c' || own[0] == 'c')
			return true;
	}
	return false;
}

/* Every rule with `for` has expired or not, each for itself. */
static void decide_times(struct trial *t, const char *addr)
{
	const struct policy *policy = t->policy;
	uint32_t temporary = 0;

	for (size_t i = 0; i < policy->count; i++)
		temporary |= policy->rules[i].for_ns ? 1u << i : 0;
	do {
		decide_all(t, addr, strchr(addr, ':'));
		t->expired = (t->expired - temporary) & temporary;
	} while (t->expired);
}

static uint32_t decided_by_all(const struct policy *policy, const char *addr, bool by_dest)
{
	static const int lens4[] = {SET_NO_MEMBER, 128, 112, 104};
	static const int lens6[] = {SET_NO_MEMBER, 128, 32, 0};
	struct trial t = {.policy = policy, .by_dest = by_dest};

	for (size_t i = 0; i < (is_unknown(policy, by_dest) ? ARRAY_SIZE(lens4) : 1); i++) {
		t.unknown = strchr(addr, ':') ? lens6[i] : lens4[i];
		for (t.alarms = 0; t.alarms < (with_alarms ? 4 : 1); t.alarms++)
			decide_times(&t, addr);
	}
	return t.decided;
}

static uint32_t decided_by_search(const struct policy *policy, const char *addr, bool by_dest)
{
	struct asked asked = {.by_dest = by_dest, .members = &known, .alarms = &states};
	CLEARED_POLICY struct policy found = {0};
	uint32_t decided = 0;

	address_of(addr, asked.addr);
	assert_int_equal(rules_decide(policy, &asked, &found), 0);
	policy_for_each (&found, rule)
		decided |= 1u << (policy_find(policy, rule) - policy->rules);
	return decided;
}

/* Rules of a set of which nothing is known may be named that decide on nothing: what it is as a
 * prefix and as a match is not put together. */
static size_t too_many;

static void compare(const struct policy *policy, const char *addr, const struct policy_context *ctx)
{
	uint32_t wanted = decided_by_all(policy, addr, ctx->by_dest);
	uint32_t is = decided_by_search(policy, addr, ctx->by_dest);
	char line[RULE_TEXT_MAX];

	if (is == wanted)
		return;
	if (is_unknown(policy, ctx->by_dest) && (is & wanted) == wanted) {
		too_many++;
		return;
	}
	for (size_t i = 0; i < policy->count; i++) {
		rule_print(line, sizeof(line), &policy->rules[i], ctx);
		print_message("%s # named: %u, decides: %u\n", line, is >> i & 1, wanted >> i & 1);
	}
	fail_msg("%s%s", addr, ctx->by_dest ? ", by destination" : "");
}

TEST(test_random)
{
	size_t named = 0, hidden = 0;

	random_start(20);
	for (int i = 0; i < TURNS(POLICIES); i++) {
		const struct policy_context ctx = {.mtu = 1500, .by_dest = i % 2};
		const char *addr = random_below(2) ? PICK(asked4) : PICK(asked6);
		size_t count = 1 + random_below(RULES_MAX);
		CLEARED_POLICY struct policy policy = {0};

		extras_from = random_below(ARRAY_SIZE(extras));
		with_unknown = !random_below(20);
		with_alarms = !with_unknown && !random_below(4);
		while (policy.count < count) {
			struct rule rule = random_small_rule(&ctx);

			assert_int_equal(policy_put(&policy, &rule), 0);
		}
		compare(&policy, addr, &ctx);
		named += __builtin_popcount(decided_by_search(&policy, addr, ctx.by_dest));
		hidden += policy.count;
	}
	hidden -= named;
	assert_true(named > TURNS(POLICIES) && hidden > TURNS(POLICIES));
	assert_in_range(too_many, 0, POLICIES / 50);
}

/* As many rules as a prefix may have: an answer, in bounded time, that leaves none out. */
TEST(test_many)
{
	CLEARED_POLICY struct policy policy = {0}, found = {0};
	struct asked asked = {0};
	char line[RULE_TEXT_MAX];

	for (int i = 0; i < 1024; i++) {
		struct rule rule;

		snprintf(line, sizeof(line), "rule any udp not dport %d not sport %d,%d %s", i,
			 i + 2000, i + 4000,
			 i % 3   ? "limit 9/s"
			 : i % 2 ? "allow"
				 : "deny");
		rule = must_parse(line, &on_xdp);
		assert_int_equal(policy_append(&policy, &rule), 0);
	}
	assert_int_equal(policy_sort(&policy, NULL), 0);
	address_of("192.0.2.1", asked.addr);
	assert_int_equal(rules_decide(&policy, &asked, &found), 0);
	assert_in_range(found.count, 171, 1024);
}
