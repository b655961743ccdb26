// SPDX-License-Identifier: GPL-2.0-only
/* Alarms that something else than packets changes: what the next policy takes over, what is
 * restored and read, and those that the command turns.
 */
#include <errno.h>

#include "kernel/state/alarms.h"
#include "alarm_helpers.h"

/* ---- the next policy */

/* Rules change beside alarms that do not: nothing is lost, also while another half has its maps. */
TEST(same_test)
{
	begin_anew(ATTACK "any tcp deny while attack");
	for (int i = 0; i < 10; i++) {
		packets_of("ip4 udp", 5);
		harness_policy(h, i % 2 ? ATTACK "any tcp deny while attack"
					: ATTACK "any tcp deny while attack;any icmp allow");
		packets_of("ip4 udp", 6);
		time_pass(TENTH);
	}
	assert_true(is_on("attack"));
	assert_int_equal(alarm_at("attack").counted, 110);
	expect("ip4 tcp", RL_REASON_DENIED);
	harness_policy(h, "any icmp allow");
	harness_policy(h, ATTACK "any tcp deny while attack");
	assert_false(is_on("attack"));
	assert_int_equal(alarm_at("attack").counted, 0);
	attack_begins();
	expect("ip4 tcp", RL_REASON_DENIED);
}

TEST(carried_test)
{
	struct alarm_now before;

	begin_anew(ATTACK "any tcp deny while attack");
	attack_begins();
	packets_of("ip4 udp", 3);
	before = alarm_at("attack");
	harness_policy(h, "alarm another when icmp" RATES ATTACK
			  "any tcp deny while attack;any icmp allow");
	assert_true(is_on("attack"));
	assert_int_equal(alarm_at("attack").since_ns, before.since_ns);
	assert_int_equal(alarm_at("attack").changes, before.changes);
	assert_int_equal(alarm_at("attack").counted, before.counted);
	assert_int_equal(alarm_at("another").counted, 0);
	assert_false(is_on("another"));
	expect("ip4 tcp", RL_REASON_DENIED);
	/* The tenth under way goes on too: 3 and 2 are not under 5. */
	packets_of("ip4 udp", 2);
	time_pass(TENTH);
	tenths_of("ip4 udp", 4, 4);
	assert_true(is_on("attack"));
	tenths_of("ip4 udp", 1, 4);
	assert_false(is_on("attack"));

	/* Another rate, another alarm. */
	attack_begins();
	harness_policy(h, "alarm attack when udp over 100/second for 1s until under 60/second for "
			  "500ms;any tcp deny while attack");
	assert_false(is_on("attack"));
	assert_int_equal(alarm_at("attack").counted, 0);
	expect("ip4 tcp", RL_REASON_UNMATCHED);

	/* Another match. */
	begin_anew(ATTACK);
	attack_begins();
	harness_policy(h, "alarm attack when udp dport 1-65535" RATES);
	assert_false(is_on("attack"));
	harness_policy(h, "any tcp allow");
	expect("ip4 tcp", RL_REASON_ALLOWED);
}

TEST(restored_test)
{
	struct policy before = {0};

	begin(ATTACK "any tcp deny while attack");
	attack_begins();
	assert_int_equal(instance_policy_read(&h->instance, &before), 0);
	assert_int_equal(before.alarm_count, 1);
	h->instance.on_trial = true;
	harness_policy(h, "alarm a when icmp" RATES ATTACK "any icmp deny while attack");
	expect("ip4 tcp", RL_REASON_UNMATCHED);
	expect("ip4 icmp", RL_REASON_DENIED);
	assert_int_equal(instance_policy_restore(&h->instance, &before), 0);
	h->instance.on_trial = false;
	policy_clear(&before);
	assert_true(is_on("attack"));
	expect("ip4 tcp", RL_REASON_DENIED);
	attack_ends();
	expect("ip4 tcp", RL_REASON_UNMATCHED);
}

/* A state is read as it was written, and goes on when it is written back. */
TEST(read_test)
{
	CLEARED_POLICY struct policy first = {0}, second = {0};

	begin("set bad;alarm b when udp dport 53,99 src @bad over 10mbit for 2s until under 1mbit "
	      "for 10s # DNS;" ATTACK "10.1.2.3 deny while attack;10.1.2.3 tcp deny;"
	      "any limit 1k/second while not b;@bad tcp deny while b");
	assert_int_equal(instance_policy_read(&h->instance, &first), 0);
	assert_int_equal(first.alarm_count, 2);
	assert_string_equal(first.alarms[1].comment, "DNS");
	assert_int_equal(first.count, 4);
	attack_begins();
	assert_int_equal(instance_policy_write(&h->instance, &first, true, NULL, NULL), 0);
	assert_true(is_on("attack"));
	assert_int_equal(instance_policy_read(&h->instance, &second), 0);
	assert_int_equal(policy_diff(&first, &second, NULL, NULL), 0);
	assert_int_equal(second.alarm_count, 2);
}

/* ---- from outside */

#define PULLED "alarm zz manual;any tcp deny while zz;"

static void turn(const char *name, bool on, uint64_t for_ns)
{
	bool was_on;

	assert_int_equal(alarm_pull(&h->instance, &(struct alarm_pull){name, on, for_ns}, &was_on),
			 0);
	time_pass(NS_PER_SECOND / 50); /* each CPU looks once in a tick */
}

/* To the tenth, whether packets come or not; a time that begins anew, no time, and `off`. */
TEST(manual_test)
{
	begin_anew(PULLED);
	expect("ip4 tcp", RL_REASON_UNMATCHED);
	turn("zz", true, 10 * TENTH);
	for (int i = 0; i < 9; i++) {
		expect("ip4 tcp", RL_REASON_DENIED);
		time_pass(TENTH);
	}
	expect("ip4 tcp", RL_REASON_DENIED);
	assert_int_equal(alarm_at("zz").changes, 1);
	time_pass(TENTH);
	expect("ip4 tcp", RL_REASON_UNMATCHED);
	assert_int_equal(alarm_at("zz").changes, 2);

	turn("zz", true, 3 * TENTH);
	time_pass(2 * TENTH);
	turn("zz", true, 3 * TENTH);
	time_pass(2 * TENTH);
	expect("ip4 tcp", RL_REASON_DENIED);
	assert_int_equal(alarm_at("zz").changes, 3);
	time_pass(2 * TENTH);
	assert_false(is_on("zz"));
	turn("zz", true, 0);
	time_pass(NS_PER_DAY);
	expect("ip4 tcp", RL_REASON_DENIED);
	assert_int_equal(alarm_at("zz").changes, 5);
	turn("zz", false, 0);
	expect("ip4 tcp", RL_REASON_UNMATCHED);
	turn("zz", false, 0);
	assert_int_equal(alarm_at("zz").changes, 6);

	/* It ended with no packet to see it, and is turned on anew. */
	turn("zz", true, TENTH);
	time_pass(5 * TENTH);
	turn("zz", true, TENTH);
	assert_int_equal(alarm_at("zz").changes, 9);
	expect("ip4 tcp", RL_REASON_DENIED);
}

/* Those that count stand first, whatever their names are, and count as they did. */
TEST(manual_beside_test)
{
	begin_anew("alarm aa manual;" ATTACK PULLED
		   "any icmp deny while attack;any udp dport 9 deny while aa");
	turn("aa", true, 10 * NS_PER_SECOND);
	attack_begins();
	expect("ip4 icmp", RL_REASON_DENIED);
	expect("ip4 udp=1>9", RL_REASON_DENIED);
	expect("ip4 tcp", RL_REASON_UNMATCHED);
	assert_int_equal(alarm_at("attack").counted, 111);
	assert_int_equal(alarm_at("aa").counted, 0);
	turn("zz", true, 0);
	attack_ends();
	expect("ip4 icmp", RL_REASON_UNMATCHED);
	expect("ip4 tcp", RL_REASON_DENIED);
	assert_int_equal(alarm_at("attack").counted, 111);

	/* The other half, other numbers. */
	harness_policy(h,
		       "alarm ab manual;" PULLED "alarm aa manual;any udp dport 9 deny while aa");
	expect("ip4 udp=1>9", RL_REASON_DENIED);
	expect("ip4 tcp", RL_REASON_DENIED);
	time_pass(10 * NS_PER_SECOND);
	expect("ip4 udp=1>9", RL_REASON_UNMATCHED);
	expect("ip4 tcp", RL_REASON_DENIED);
	assert_false(is_on("ab"));
}

/* A guard that has no end is uneasy no longer than it is on. */
TEST(manual_guard_test)
{
	begin_anew("alarm zz manual;any new-source deny while zz;any udp allow");
	turn("zz", true, 0);
	expect("ip4=10.9.0.1 udp", RL_REASON_ALLOWED);
	time_pass(4 * NS_PER_SECOND);
	expect("ip4=10.9.0.1 udp", RL_REASON_ALLOWED);
	expect("ip4=10.9.0.1 tcp", RL_REASON_DENIED);
	turn("zz", false, 0);
	expect("ip4=10.9.0.2 udp", RL_REASON_ALLOWED);
	time_pass(31 * TENTH);
	expect("ip4=10.9.0.2 udp", RL_REASON_ALLOWED);
	turn("zz", true, 0);
	expect("ip4=10.9.0.2 tcp", RL_REASON_UNMATCHED);
	expect("ip4=10.9.0.1 tcp", RL_REASON_DENIED);
	turn("zz", false, 0);
}

TEST(manual_wrong_test)
{
	bool was_on;

	begin_anew(ATTACK PULLED);
	assert_int_equal(alarm_pull(&h->instance, &(struct alarm_pull){"attack", true, 0}, &was_on),
			 -ENOENT);
	assert_int_equal(alarm_pull(&h->instance, &(struct alarm_pull){"z", true, 0}, &was_on),
			 -ENOENT);
	harness_policy(h, "any tcp allow");
	assert_int_equal(alarm_pull(&h->instance, &(struct alarm_pull){"zz", true, 0}, &was_on),
			 -ENOENT);
}
