// SPDX-License-Identifier: GPL-2.0-only
/* Sources that become known while an alarm guards them: at what time, and after which trouble. */
#include "alarm_helpers.h"

/* ---- sources that become known */

/* Twice, three tenths apart: its source is known from then on. */
static void come_in_peace(const char *words)
{
	packets_of(words, 1);
	time_pass(3 * TENTH);
	packets_of(words, 1);
}

TEST(known_test)
{
	begin(ATTACK "any tcp new-source limit 1/hour per rule burst 2 while attack;"
		     "any icmp new-source deny");
	come_in_peace("ip4=10.0.0.1 tcp");
	expect("ip4=10.0.0.1 icmp", RL_REASON_UNMATCHED);
	attack_begins();
	expect("ip4=10.0.0.1 tcp", RL_REASON_UNMATCHED);
	expect("ip4=10.0.0.2 tcp", RL_REASON_WITHIN); /* let through, and still not known */
	expect("ip4=10.0.0.2 icmp", RL_REASON_DENIED);
	expect("ip4=10.0.0.2 tcp", RL_REASON_WITHIN);
	expect("ip4=10.0.0.2 tcp", RL_REASON_OVER);
	expect("ip4=10.0.0.1 tcp", RL_REASON_UNMATCHED);
	attack_ends();
	come_in_peace("ip4=10.0.0.2 tcp");
	expect("ip4=10.0.0.2 icmp", RL_REASON_UNMATCHED);
}

/* A limit that stands `while not` has nothing special. */
TEST(known_not_test)
{
	begin(ATTACK "any tcp new-source limit 1/hour per rule burst 2 while not attack;"
		     "any icmp new-source deny");
	expect("ip4=10.0.0.2 tcp", RL_REASON_WITHIN);
	expect("ip4=10.0.0.2 icmp", RL_REASON_UNMATCHED);
}

static const enum rl_table tables[] = {RL_TABLE_HOT, RL_TABLE_LRU, RL_TABLE_CPU};

/* A tenth with a packet of each of these. */
static void senders_tenth(uint32_t first, uint32_t count)
{
	for (uint32_t i = first; i < first + count; i++) {
		char words[64];

		snprintf(words, sizeof(words), "ip4=10.9.0.%u udp=1>9", i);
		packets_of(words, 1);
	}
	time_pass(TENTH);
}

/* How many of them pass, of a packet each; `alarm`: and does it go on with that. */
static uint32_t senders_pass(uint32_t first, uint32_t count)
{
	uint32_t passed = 0;

	for (uint32_t i = first; i < first + count; i++) {
		static struct frame frame;
		char words[64];

		snprintf(words, sizeof(words), "ip4=10.9.0.%u udp=1>9", i);
		frame_build(&frame, words);
		passed += harness_passes(h, &frame);
	}
	return passed;
}

/* When a source becomes known, which deny says: by its packet three tenths after the first, if no
 * tenth was over the rate since; after one, three durations later, and again by its second. */
static void ripe(enum rl_table table)
{
	begin_with(table, ATTACK "any tcp new-source deny while attack;any icmp new-source deny");
	packets_of("ip4=10.0.1.1 tcp", 1);
	time_pass(3 * TENTH - 1);
	packets_of("ip4=10.0.1.1 tcp", 1);
	expect("ip4=10.0.1.1 icmp", RL_REASON_DENIED);
	time_pass(1);
	packets_of("ip4=10.0.1.1 tcp", 1);
	expect("ip4=10.0.1.1 icmp", RL_REASON_UNMATCHED);

	packets_of("ip4=10.0.1.2 tcp", 1);
	tenths_of("ip4 udp", 1, 11);
	time_pass(2 * TENTH);
	packets_of("ip4=10.0.1.2 tcp", 1);
	expect("ip4=10.0.1.2 icmp", RL_REASON_DENIED);
	expect("ip4=10.0.1.1 icmp", RL_REASON_UNMATCHED);
	time_pass(31 * TENTH);
	packets_of("ip4=10.0.1.2 tcp", 1);
	expect("ip4=10.0.1.2 icmp", RL_REASON_DENIED);
	come_in_peace("ip4=10.0.1.2 tcp");
	expect("ip4=10.0.1.2 icmp", RL_REASON_UNMATCHED);
}

TEST(ripe_test)
{
	for (size_t i = 0; i < ARRAY_SIZE(tables); i++)
		ripe(tables[i]);
}

/* The same senders from peace into the alarm: while that makes up its mind, all of them pass, and
 * none is known for it; nor when it is off and on again. Those that came before are. */
static void senders(enum rl_table table)
{
	begin_with(table, ATTACK "device new-source limit 1/hour burst 3 while attack");
	come_in_peace("ip4=10.0.0.1 icmp");
	time_pass(4 * TENTH);
	for (int i = 0; i < 10; i++)
		senders_tenth(1, 20);
	assert_true(is_on("attack"));
	assert_int_equal(senders_pass(1, 20), 3);
	expect("ip4=10.0.0.1 icmp", RL_REASON_UNMATCHED);
	expect("ip4=10.0.0.2 icmp", RL_REASON_OVER);
	attack_ends();
	assert_int_equal(senders_pass(1, 20), 20);
	for (int i = 0; i < 10; i++)
		senders_tenth(1, 20);
	assert_true(is_on("attack"));
	assert_int_equal(senders_pass(1, 20), 0);
	expect("ip4=10.0.0.1 icmp", RL_REASON_UNMATCHED);

	/* In peace they become known as everybody does, and stay so in the next attack. */
	attack_ends();
	assert_int_equal(senders_pass(1, 10), 10);
	time_pass(4 * TENTH);
	assert_int_equal(senders_pass(1, 10), 10);
	for (int i = 0; i < 10; i++)
		senders_tenth(11, 30);
	assert_true(is_on("attack"));
	assert_int_equal(senders_pass(1, 10), 10);
	assert_int_equal(senders_pass(11, 30), 0);
}

TEST(senders_test)
{
	for (size_t i = 0; i < ARRAY_SIZE(tables); i++)
		senders(tables[i]);
}

/* Pulses that turn it on: those of the first are as little known as those of the last. */
TEST(pulses_test)
{
	begin_anew(ATTACK "device new-source limit 1/hour burst 1 while attack");
	for (int i = 0; i < 3; i++) {
		assert_false(is_on("attack"));
		senders_tenth(1 + 40 * i, 40);
		packets_of("ip4=10.8.0.1 udp", 70);
		time_pass((i < 2 ? 9 : 1) * TENTH);
	}
	assert_true(is_on("attack"));
	assert_int_equal(senders_pass(1, 120), 1);
	assert_int_equal(alarm_at("attack").changes, 1);
}

/* Two bursts, however large, turn none on, as often as they come; a mean over the rate does. */
TEST(bursts_test)
{
	begin_anew(ATTACK);
	for (int i = 0; i < 6; i++) {
		packets_of("ip4 udp", 2000);
		time_pass(16 * TENTH);
	}
	assert_false(is_on("attack"));
	begin_anew(ATTACK);
	for (int i = 0; i < 3; i++) {
		tenths_of("ip4 udp", 9, 12);
		assert_int_equal(is_on("attack"), i == 2);
		time_pass(TENTH);
	}
	assert_true(is_on("attack"));
	packets_of("ip4 udp", 1);
	assert_int_equal(alarm_at("attack").changes, 1);
}

/* While it is on, who is known stays so for as long as it sends, and a stranger becomes so by an
 * established packet alone, whatever lets the others pass. */
TEST(long_test)
{
	for (size_t i = 0; i < ARRAY_SIZE(tables); i++) {
		begin_with(tables[i], ATTACK "any icmp allow;"
					     "device new-source limit 1/hour burst 1 while attack");
		harness_sockets(h, RL_SIMULATED_NONE);
		come_in_peace("ip4=10.0.0.9 tcp");
		attack_begins();
		for (int minutes = 0; minutes < 24; minutes += 4) {
			for (int tenth = 0; tenth < 2400; tenth++)
				tenths_of("ip4=10.9.1.1 udp", 1, 5);
			expect("ip4=10.0.0.9 tcp", RL_REASON_UNMATCHED);
		}
		assert_true(is_on("attack"));
		expect("ip4=10.0.0.2 icmp", RL_REASON_ALLOWED);
		expect("ip4=10.0.0.2 tcp", RL_REASON_OVER);
		expect("ip4=10.0.0.3 tcp", RL_REASON_OVER);
		harness_sockets(h, RL_SIMULATED_ESTABLISHED);
		expect("ip4=10.0.0.2 icmp", RL_REASON_ALLOWED);
		harness_sockets(h, RL_SIMULATED_NONE);
		expect("ip4=10.0.0.2 tcp", RL_REASON_UNMATCHED);
		attack_ends();
		attack_begins();
		expect("ip4=10.0.0.2 tcp", RL_REASON_UNMATCHED);
	}
}

/* Where the rules with new-source have other matches, packets of another shape make nobody known:
 * a stranger sends `stray`, which passes, and then what the rule asks for. With --table lru it
 * stays known: the rows where it becomes so are the last. */
static const struct stray {
	const char *name, *rules, *stray, *asked;
	bool known;
} stray_rows[] = {
	{"a port", "any udp dport 9 new-source deny", "ip4=10.1.2.3 icmp", "ip4=10.1.2.3 udp=1>9",
	 false},
	{"another port", "any udp dport 9 new-source deny", "ip4=10.1.2.3 udp=1>8",
	 "ip4=10.1.2.3 udp=1>9", false},
	{"of the device", "device udp dport 9 new-source deny", "ip4=10.1.2.3 tcp=1>9",
	 "ip4=10.1.2.3 udp=1>9", false},
	{"IPv6", "any udp dport 9 new-source deny", "ip6=2001:db8::7 tcp",
	 "ip6=2001:db8::8 udp=1>9", false},
	{"a list", "any udp dport 9,11 new-source deny", "ip4=10.1.2.3 udp=1>10",
	 "ip4=10.1.2.3 udp=1>9", false},
	{"not", "any not tcp new-source deny", "ip4=10.1.2.3 tcp", "ip4=10.1.2.3 icmp", false},
	{"length", "any udp length 0-40 new-source deny", "ip4=10.1.2.3 udp data=99",
	 "ip4=10.1.2.3 udp", false},
	{"without new-source", "any udp dport 9 not new-source allow;any udp dport 9 deny",
	 "ip4=10.1.2.3 tcp", "ip4=10.1.2.3 udp=1>9", false},
	{"while an alarm is on", ATTACK "any tcp dport 9 new-source deny while attack",
	 "ip4=10.1.2.3 udp", "ip4=10.1.2.3 tcp=1>9", false},
	{"one of two rules",
	 "any udp dport 9 new-source deny;any udp dport 8 new-source limit 1/hour burst 1",
	 "ip4=10.1.2.3 udp=1>8", "ip4=10.1.2.3 udp=1>9", true},
	{"a rule without", "any udp dport 9 new-source deny;device new-source limit 1/hour burst 1",
	 "ip4=10.1.2.3 icmp", "ip4=10.1.2.3 udp=1>9", true},
	{"established is none",
	 "any not established new-source limit 1/hour burst 1 over drop;any udp dport 9 new-source deny",
	 "ip4=10.1.2.3 icmp", "ip4=10.1.2.3 udp=1>9", true},
	{"none but new-source", "any new-source limit 1/hour burst 1", "ip4=10.1.2.3 icmp",
	 "ip4=10.1.2.3 udp", true},
};

ROWS(stray_test, stray_rows, row)
{
	static struct frame frame;

	for (size_t i = 0; i < ARRAY_SIZE(tables); i++) {
		begin_with(tables[i], row->rules);
		packets_of(row->stray, 3);
		if (strstr(row->rules, ATTACK)) {
			time_pass(4 * TENTH);
			attack_begins();
		}
		frame_build(&frame, row->asked);
		assert_int_equal(harness_passes(h, &frame), row->known);
	}
}

/* Rules are changed one at a time: which packets make a source known is of all of them. */
TEST(stray_changes_test)
{
	begin("any udp dport 9 new-source deny");
	expect("ip4=10.1.2.3 tcp", RL_REASON_UNMATCHED);
	expect("ip4=10.1.2.3 udp=1>9", RL_REASON_DENIED);
	harness_policy(
		h, "any udp dport 9 new-source deny;10.0.0.0/8 new-source limit 9/hour burst 9");
	expect("ip4=10.1.2.3 tcp", RL_REASON_WITHIN);
	harness_policy(h, "any udp dport 9 new-source deny");
	expect("ip4=10.1.2.3 udp=1>9", RL_REASON_UNMATCHED);
	expect("ip4=10.1.2.4 tcp", RL_REASON_UNMATCHED);
	expect("ip4=10.1.2.4 udp=1>9", RL_REASON_DENIED);
}
