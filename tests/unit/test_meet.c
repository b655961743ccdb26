// SPDX-License-Identifier: GPL-2.0-only
/* meeting.h tells by their matches whether limits have a packet in common, of hundreds as well. All
 * packets of a small world: test_index.c.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "compile/meeting.h"
#include "compile_helpers.h"
#include "policy_helpers.h"

static void order(const struct policy *policy, const struct rule **out)
{
	for (size_t i = 0; i < policy->count; i++)
		out[i] = &policy->rules[i];
}

static const struct meet_row {
	const char *name;
	const char *same;  /* eight limits with these matches, and keys of their own */
	const char *other; /* both with `while` behind the matches */
	bool meet;
} meets[] = {
	{"the same port", "udp dport 53", "udp dport 53-60", true},
	{"another port", "udp dport 53", "udp dport 54", false},
	{"another protocol", "udp", "tcp", false},
	{"not the same protocol", "udp", "not udp", false},
	{"ports of any protocol", "udp", "dport 53", true},
	{"ports where there are none", "icmp", "dport 53", false},
	{"a list", "dport 1,5,9", "dport 5-7", true},
	{"between those of a list", "dport 1,5,9", "dport 6-8", false},
	{"not a list", "dport 1,5,9", "not dport 1,5,9", false},
	{"not all of a list", "dport 1,5,9", "not dport 1,9", true},
	{"the address in a network", "src 10.0.0.0/8", "src 10.1.2.3", true},
	{"another address", "src 10.0.0.1", "src 10.0.0.2", false},
	{"not the network", "src 10.0.0.1", "not src 10.0.0.0/8", false},
	{"not a part of the network", "src 10.0.0.0/8", "not src 10.0.0.0/9", true},
	{"of another family", "src 10.0.0.0/8", "dst ::/0", false},
	{"a SYN", "tcp syn", "flags syn/syn,ack", true},
	{"no SYN", "tcp syn", "not syn", false},
	{"flags that differ", "flags fin/fin", "flags none", false},
	{"later fragments have no ports", "dport 53", "fragment", true},
	{"lengths", "length 0-100", "length 100-200", true},
	{"no length is above 65535", "not length 0-999", "not length 100-65535", false},
	{"no sctp has a payload", "sctp", "not payload 0 11", false},
	{"lengths apart", "length 0-99", "length 100-200", false},
	{"hop limits apart", "ttl 1", "not ttl 0-9", false},
	{"classes", "dscp ef", "dscp cs1", false},
	{"the code of a type", "icmp icmp-type echo-request", "icmp icmp-type 8 code 0", true},
	{"another type", "icmp icmp-type echo-request", "icmp icmp-type 0", false},
	{"the same number of another protocol", "icmp icmp-type 128", "icmp6 icmp-type 128", false},
	{"other bytes at the same place", "udp payload 0 ff01", "udp payload 1 02", false},
	{"bytes at another place", "udp payload 0 ff01", "udp payload 2 02", true},
	{"bits that agree", "udp payload 0 f0/f0", "udp payload 0 0f/0f", true},
	{"a known source", "new-source", "not new-source", false},
	{"established, and a SYN", "established", "tcp syn", false},
	{"not established", "established", "not established", false},
	{"the same alarm", "udp while a", "udp while a", true},
	{"an alarm on and off", "udp while a", "udp while not a", false},
	{"another alarm off", "udp while a", "udp while not b", true},
	{"an alarm, and always", "udp while not a", "udp", true},
	{"a payload while an alarm is on", "udp payload 0 ff01 while a", "udp payload 1 02", false},
	{"a payload, and an alarm off", "udp payload 0 ff while a", "udp payload 1 02 while not a",
	 false},
	{"not a payload, and an alarm off", "udp not payload 0 ff while a",
	 "udp payload 0 fe while not a", false},
};

/* Appends a limit with these matches, and `while` at its end. */
static void line_add(char text[4096], const char *matches, const char *limit)
{
	const char *tail = strstr(matches, " while ");
	int len = tail ? (int)(tail - matches) : (int)strlen(matches);

	snprintf(text + strlen(text), 4096 - strlen(text), "rule any %.*s limit %s%s\n", len,
		 matches, limit, tail ? tail : "");
}

ROWS(meet_row_test, meets, row)
{
	/* Limits of one match differ by their key. */
	static const char *const limits[] = {
		"9/s per source",       "9/s per dest",       "9/s per source+dport",
		"9/s per flow",         "9/s per rule",       "9/s per source+dest",
		"9/s per source/24,48", "9/s per dest/24,48",
	};
	const struct rule *rules[9];
	CLEARED_POLICY struct policy policy;
	struct meeting met;
	char text[4096] = "alarm a when over 99/s for 1s until under 99/s for 1s\n"
			  "alarm b when over 99/s for 1s until under 99/s for 1s\n";

	for (size_t i = 0; i < ARRAY_SIZE(limits); i++)
		line_add(text, row->same, limits[i]);
	line_add(text, row->other, "9kbyte/s");
	policy = must_parse_policy(text);
	assert_int_equal(policy.count, 9);
	order(&policy, rules);
	assert_int_equal(limits_meet(rules, 9, false, &met), row->meet ? -E2BIG : 0);
}

/* `count` limits, each by a line of its own. */
static int many_meet(void (*line)(char *out, size_t size, uint32_t i), uint32_t count)
{
	static const struct rule *rules[RL_INDEXED_MAX];
	CLEARED_POLICY struct policy policy = {0};
	struct meeting met;
	int ret;

	for (uint32_t i = 0; i < count; i++) {
		char text[512];
		struct rule rule;

		line(text, sizeof(text), i);
		rule = must_parse(text, &on_xdp);
		assert_int_equal(policy_put(&policy, &rule), 0);
	}
	assert_int_equal(policy.count, count);
	order(&policy, rules);
	ret = limits_meet(rules, count, false, &met);
	return ret;
}

static void line_of_ports(char *out, size_t size, uint32_t i)
{
	snprintf(out, size, "rule any %s %u limit 9/s", i < 300 ? "sport" : "dport", 1000 + i);
}

/* Lists that reach far, and have no port in common. */
static void line_of_lists(char *out, size_t size, uint32_t i)
{
	static const char *const more[] = {"", " ttl 0-64", " not ttl 64", " not length 0-36"};

	if (i % 8 == 0)
		snprintf(out, size, "rule any tcp sport %u-%u%s limit 9/s", 10 * i, 10 * i + 9,
			 more[i / 8 % 4]);
	else
		snprintf(out, size, "rule any dport %u,%u-%u,%u,%u%s limit 9/s", i, 10000 + 2 * i,
			 10001 + 2 * i, 20000 + i, 60000 - i, more[i % 4]);
}

/* One of each condition meets one of each other, ports as well. */
static void line_of_kinds(char *out, size_t size, uint32_t i)
{
	static const char *const words[] = {"dscp",  "ttl",   "length", "dport",
					    "sport", "proto", "vlan"};

	snprintf(out, size, "rule any %s %u limit 9/s", words[i % 7], 20 + i / 7);
}

/* Two hundred limits of other bytes, as many of other flags, and ports. */
static void line_of_bytes(char *out, size_t size, uint32_t i)
{
	static const char *const flags[] = {"fin", "syn", "rst", "psh", "ack", "urg", "ece", "cwr"};

	if (i % 3 == 0)
		snprintf(out, size, "rule any tcp payload %u %02x limit 9/s", i % 2, i / 3 & 0xff);
	else if (i % 3 == 1 && i < 24)
		snprintf(out, size, "rule any tcp flags %s limit 9/s", flags[i / 3]);
	else
		snprintf(out, size, "rule any tcp dport %u,%u limit 9/s", i, 65535 - i);
}

/* Seven limits of some ports, eight of all others. */
static void line_of_not(char *out, size_t size, uint32_t i)
{
	snprintf(out, size, "rule any udp %s limit 9/s%s",
		 i < 7 ? "dport 1,3,5,7,9,11,13,15" : "not dport 1,3,5,7,9,11,13,15",
		 (const char *[]){"", " per rule", " per dest", " per flow", " per sport",
				  " per dport", " per proto", " per source/24", " per dest/24",
				  " per source+dest", " per source+proto", " per source+sport",
				  " per source+dport", " per dest+dport", " per dest+sport"}[i]);
}

/* Networks inside others, and four that are left out. */
static void line_of_dst(char *out, size_t size, uint32_t i)
{
	if (i < 4)
		snprintf(out, size, "rule any not dst 10.%u.0.0/16 limit 9/s", i);
	else
		snprintf(out, size, "rule any dst 10.%u.%u.0/%u limit 9/s", i / 64, i % 64 * 4,
			 i % 8 ? 24u : 22u);
}

/* Where there are hundreds, none with as many others as may not be, it is known of all. */
TEST(meet_many_test)
{
	static const struct {
		void (*line)(char *out, size_t size, uint32_t i);
		uint32_t count;
	} policies[] = {
		{line_of_ports, RL_INDEXED_MAX},
		{line_of_lists, RL_INDEXED_MAX},
		{line_of_kinds, 264},
		{line_of_bytes, 600},
		{line_of_not, 15},
		{line_of_dst, 256},
	};

	for (size_t i = 0; i < ARRAY_SIZE(policies); i++)
		assert_int_equal(many_meet(policies[i].line, policies[i].count), 0);
}
