// SPDX-License-Identifier: GPL-2.0-only
/* Properties that a rule keeps when one policy replaces another: counter id, limit id, expiry. */
#include <errno.h>

#include "base/units.h"
#include "compile_helpers.h"
#include "policy_helpers.h"

/* ---- one rule after another */

static const struct keep_row {
	const char *name, *before, *after;
	bool keeps_slot, keeps_limit;
} keeps[] = {
	{"the same", "any limit 9/s", "any limit 9/s", true, true},
	{"another rate", "any limit 9/s", "any limit 7/13s", true, true},
	{"another burst", "any limit 9/s burst 9", "any limit 9/s burst 99", true, true},
	{"another consequence", "any limit 9/s", "any limit 9/s over count", true, true},
	{"bits and bytes are one unit", "any limit 1mbit", "any limit 1mbyte/s", true, true},
	{"an expiry", "any limit 9/s", "any limit 9/s for 1h", true, true},
	{"another algorithm", "any limit 9/s", "any limit leaky-bucket 9/s", true, false},
	{"another algorithm of one family", "any limit fixed-window 9/s",
	 "any limit sliding-window 9/s", true, false},
	{"packets to bytes", "any limit 9/s", "any limit 1mbit", false, false},
	{"another key", "any limit 9/s", "any limit 9/s per dest", false, false},
	{"another length of the key", "any limit 9/s", "any limit 9/s per source/24", false, false},
	{"another match", "any tcp limit 9/s", "any udp limit 9/s", false, false},
	{"a longer prefix", "10.0.0.0/8 limit 9/s", "10.0.0.0/9 limit 9/s", false, false},
	{"any and device", "any limit 9/s per rule", "device limit 9/s", false, false},
	{"allow to deny", "10.0.0.0/8 allow", "10.0.0.0/8 deny", true, true},
	{"limit to deny", "10.0.0.0/8 limit 9/s", "10.0.0.0/8 deny", false, false},
};

ROWS(keep_test, keeps, row)
{
	struct force force = {.ctx = roomy};
	char before[RULE_TEXT_MAX], after[RULE_TEXT_MAX];
	uint32_t slot, limit_id, used;

	snprintf(before, sizeof(before), "rule %s", row->before);
	snprintf(after, sizeof(after), "rule %s", row->after);
	force_put(&force, before, false);
	slot = force_find(&force, before)->counter_id;
	limit_id = force_find(&force, before)->limit_id;
	used = force.header.next_limit_id;
	force_put(&force, after, false);
	assert_int_equal(force_find(&force, after)->counter_id == slot, row->keeps_slot);
	assert_int_equal(force_find(&force, after)->limit_id == limit_id, row->keeps_limit);
	if (!row->keeps_limit && force_find(&force, after)->action == RL_ACTION_LIMIT)
		assert_true(force_find(&force, after)->limit_id >= used);
	force_clear(&force);
}

/* A comment has an id while it is the same text behind the same rule; no id is used twice. */
TEST(comment_test)
{
	static const struct {
		const char *text;
		uint32_t group, plain;
	} rows[] = {
		{"rule any limit 9/s # a; rule 10.0.0.1 deny # b", 1, 2},
		{"rule any limit 8/s # a; rule 10.0.0.1 allow # b", 1, 2},
		{"rule any limit 8/s # a; rule 10.0.0.1 allow # c", 1, 3},
		{"rule any limit 8/s; rule 10.0.0.1 allow # c", 0, 3},
		{"rule any limit 8/s # a; rule 10.0.0.1 allow", 4, 0},
	};
	struct force force = {.ctx = roomy};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		force_put(&force, rows[i].text, false);
		assert_int_equal(force_find(&force, "rule any limit 9/s")->comment_id,
				 rows[i].group);
		assert_int_equal(force_find(&force, "rule 10.0.0.1 deny")->comment_id,
				 rows[i].plain);
	}
	force_clear(&force);
}

/* Limits of one prefix are told apart by key and unit, and keep their own ids. */
TEST(beside_test)
{
	struct force force = {.ctx = roomy};
	uint32_t packets, bytes;

	force_put(&force, "rule any limit 9/s; rule any limit 1mbit", false);
	packets = force_find(&force, "rule any limit 9/s")->limit_id;
	bytes = force_find(&force, "rule any limit 1mbit")->limit_id;
	assert_int_not_equal(packets, bytes);
	force_put(&force, "rule any limit 2mbit; rule any limit 3/s per rule; rule any limit 8/s",
		  false);
	assert_int_equal(force_find(&force, "rule any limit 9/s")->limit_id, packets);
	assert_int_equal(force_find(&force, "rule any limit 1mbit")->limit_id, bytes);
	force_clear(&force);
}

/* A rule that was removed and added again is new: its counters and its state start afresh. */
TEST(return_test)
{
	struct force force = {.ctx = roomy};
	uint32_t limit_id;

	force_put(&force, "rule any limit 9/s", false);
	limit_id = force_find(&force, "rule any limit 9/s")->limit_id;
	force_put(&force, "", false);
	force_put(&force, "rule any limit 9/s", false);
	assert_true(force_find(&force, "rule any limit 9/s")->limit_id > limit_id);
	force_clear(&force);
}

/* ---- many policies one after the other */

static struct policy random_policy(void)
{
	static const char *const limits[] = {"9/s", "leaky-bucket 9/s", "1mbit", "9/s per rule"};
	struct policy policy = {0};
	char line[RULE_TEXT_MAX];

	for (size_t i = random_below(25); i > 0; i--) {
		unsigned int host = random_below(24);
		struct rule rule;

		if (random_below(2))
			snprintf(line, sizeof(line), "rule 10.0.0.%u %s", host,
				 random_below(2) ? "allow" : "deny");
		else
			snprintf(line, sizeof(line), "rule 10.0.0.%u limit %s%s", host,
				 limits[random_below(ARRAY_SIZE(limits))],
				 random_below(9) ? "" : " for 1h");
		rule = must_parse(line, &on_xdp);
		assert_int_equal(policy_put(&policy, &rule), 0);
	}
	return policy;
}

static bool uses_slot(const struct policy *policy, uint32_t slot)
{
	policy_for_each (policy, rule)
		if (rule->counter_id == slot)
			return true;
	return false;
}

static void assert_fresh(const struct compiled *compiled, uint32_t slot, size_t times)
{
	size_t found = 0;

	for (size_t i = 0; i < compiled->fresh_count; i++)
		found += compiled->fresh[i] == slot;
	assert_int_equal(found, times);
}

/* The counter id is kept if the rule's identity is in force; otherwise it was unused before and is
 * on the list of fresh ones. */
static void check_rule(const struct force *force, const struct compiled *compiled,
		       const struct rule *rule)
{
	const struct rule *old = policy_find(&force->policy, rule);
	bool limit = rule->action == RL_ACTION_LIMIT;

	assert_true(rule->counter_id < force->ctx.slots_max);
	if (old)
		assert_int_equal(rule->counter_id, old->counter_id);
	else
		assert_false(uses_slot(&force->policy, rule->counter_id));
	assert_fresh(compiled, rule->counter_id, old ? 0 : 1);
	if (!limit)
		assert_int_equal(rule->limit_id, 0);
	else if (old && old->limit.algorithm == rule->limit.algorithm)
		assert_int_equal(rule->limit_id, old->limit_id);
	else
		assert_true(rule->limit_id >= force->header.next_limit_id);
	assert_true(rule->limit_id < compiled->header.next_limit_id);
}

static void check_swap(const struct force *force, const struct compiled *compiled,
		       const struct policy *next)
{
	size_t fresh = 0;

	policy_for_each (next, rule) {
		check_rule(force, compiled, rule);
		fresh += !policy_find(&force->policy, rule);
		for (const struct rule *other = next->rules; other < rule; other++) {
			assert_int_not_equal(other->counter_id, rule->counter_id);
			if (rule->limit_id)
				assert_int_not_equal(other->limit_id, rule->limit_id);
		}
	}
	assert_int_equal(compiled->fresh_count, fresh);
	assert_true(compiled->header.next_limit_id >= force->header.next_limit_id);
	assert_true(compiled->header.generation == force->header.generation + 1);
	assert_true(compiled->header.half != force->header.half);
}

TEST(swaps_test)
{
	struct force force = {.ctx = roomy};

	force.ctx.slots_max = 50; /* just room for two policies */
	random_start(20240613);
	for (unsigned int i = 0; i < 5000; i++) {
		struct policy next = random_policy(), back = {0};
		CLEARED_COMPILED struct compiled compiled;

		force.ctx.now_ns += random_below(NS_PER_HOUR / 2);
		must_compile(&next, &force, random_below(2), &compiled);
		check_swap(&force, &compiled, &next);
		assert_int_equal(policy_decompile(&compiled, &force.ctx, &back), 0);
		policy_clear(&force.policy);
		force.policy = back;
		force.header = compiled.header;
		policy_clear(&next);
	}
	force_clear(&force);
}

/* Counter slots of the policy in force are not reused until it is gone. */
TEST(slots_full_test)
{
	struct policy next = must_parse_policy("rule 10.0.0.4 deny; rule 10.0.0.5 deny");
	struct force force = {.ctx = roomy};
	struct compiled compiled = {0};
	struct policy_errors errors;

	force.ctx.slots_max = 4;
	force_put(&force, "rule 10.0.0.1 deny; rule 10.0.0.2 deny; rule 10.0.0.3 deny", false);
	assert_int_equal(policy_compile(&next, &force.policy, &force.header, false, &force.ctx,
					&compiled, &errors),
			 -E2BIG);
	assert_null(compiled.fresh);
	force_put(&force, "rule 10.0.0.1 deny; rule 10.0.0.3 deny; rule 10.0.0.4 deny", false);
	force_put(&force, "rule 10.0.0.1 deny; rule 10.0.0.4 deny; rule 10.0.0.5 deny", false);
	policy_clear(&next);
	force_clear(&force);
}

/* ---- expiry */

static const struct expiry_row {
	const char *name, *before, *after;
	uint64_t later_ns; /* between the two */
	bool keep;
	uint64_t expires_ns; /* after the first was written; 0 = never */
} expiries[] = {
	{"new", NULL, "any deny for 1h", 0, false, NS_PER_HOUR},
	{"added again", "any deny for 1h", "any deny for 1h", NS_PER_MINUTE, false,
	 NS_PER_HOUR + NS_PER_MINUTE},
	{"fed back at once", "any deny for 1h", "any deny for 1h", 1, true, NS_PER_HOUR},
	{"fed back, rounded up", "any deny for 1h", "any deny for 3541s", 59 * NS_PER_SECOND + 5,
	 true, NS_PER_HOUR},
	{"fed back two seconds late", "any deny for 1h", "any deny for 3600s", 2 * NS_PER_SECOND,
	 true, NS_PER_HOUR},
	{"more than two seconds late", "any deny for 1h", "any deny for 3600s",
	 2 * NS_PER_SECOND + 1, true, NS_PER_HOUR + 2 * NS_PER_SECOND + 1},
	{"two seconds early", "any deny for 1h", "any deny for 3598s", 0, true, NS_PER_HOUR},
	{"more than two seconds early", "any deny for 1h", "any deny for 3597999999999ns", 0, true,
	 3597999999999ull},
	{"for ever after all", "any deny for 1h", "any deny", 0, true, 0},
	{"no longer for ever", "any deny", "any deny for 1h", NS_PER_SECOND, true,
	 NS_PER_HOUR + NS_PER_SECOND},
	{"plain verdict", NULL, "10.0.0.1 deny for 90s", 0, false, 90 * NS_PER_SECOND},
	{"limit", NULL, "10.0.0.1 limit 9/s for 90s", 0, false, 90 * NS_PER_SECOND},
	{"another rate with the same expiry", "any limit 9/s for 1h", "any limit 8/s for 1h", 1,
	 true, NS_PER_HOUR},
	{"the longest", NULL, "any deny for 4611686018427387904ns", 0, false, 1ull << 62},
};

ROWS(expiry_test, expiries, row)
{
	struct force force = {.ctx = roomy};
	char line[RULE_TEXT_MAX];
	uint64_t expected = row->expires_ns ? roomy.now_ns + row->expires_ns : 0;
	const struct rule *rule;

	if (row->before) {
		snprintf(line, sizeof(line), "rule %s", row->before);
		force_put(&force, line, false);
	}
	force.ctx.now_ns += row->later_ns;
	snprintf(line, sizeof(line), "rule %s", row->after);
	force_put(&force, line, row->keep);
	rule = force_find(&force, line);
	assert_true(rule->expires_ns == expected);
	assert_true(rule->for_ns == (expected ? expected - force.ctx.now_ns : 0));
	force_clear(&force);
}

/* A rule printed and parsed again hourly for a day expires at its original time. */
TEST(expiry_drift_test)
{
	struct force force = {.ctx = roomy};
	uint64_t expires_ns;

	force_put(&force, "rule any deny for 2d", false);
	expires_ns = force.policy.rules->expires_ns;
	for (unsigned int i = 0; i < 24; i++) {
		char line[RULE_TEXT_MAX];

		force.ctx.now_ns += NS_PER_HOUR - i * 123456789;
		force.policy.rules->for_ns = expires_ns - force.ctx.now_ns;
		rule_print(line, sizeof(line), force.policy.rules, &on_xdp);
		force_put(&force, line, true);
		assert_true(force.policy.rules->expires_ns == expires_ns);
	}
	force_clear(&force);
}

/* Gone at the nanosecond, from every kind of place. */
TEST(vanish_test)
{
	struct policy policy = must_parse_policy(
		"rule any deny for 10s; rule any tcp allow; rule device udp deny for 10s; rule "
		"10.0.0.1 deny for 10s; rule 10.0.0.2 deny; rule 10.0.0.3 limit 9/s for 10s");
	struct force force = {.ctx = roomy};
	CLEARED_COMPILED struct compiled compiled;
	struct policy back = {0};

	must_compile(&policy, &force, false, &compiled);
	force.ctx.now_ns += 10 * NS_PER_SECOND - 1;
	assert_int_equal(policy_decompile(&compiled, &force.ctx, &back), 0);
	assert_int_equal(back.count, 6);
	assert_true(back.rules[0].for_ns == 1);
	policy_clear(&back);
	force.ctx.now_ns++;
	assert_int_equal(policy_decompile(&compiled, &force.ctx, &back), 0);
	assert_int_equal(back.count, 2);
	policy_clear(&back);
	policy_clear(&policy);
}
