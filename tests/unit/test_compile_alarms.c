// SPDX-License-Identifier: GPL-2.0-only
/* Alarms and `while` as map entries: the numbers of a tenth, what stands where, what is refused,
 * which limits can meet, and which states the next policy takes over.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "compile/compiled.h"
#include "compile_helpers.h"
#include "policy/alarm.h"
#include "policy_helpers.h"

#define RATES " over 100/second for 1s until under 50/second for 1s;"

static void must_compile_text(const char *text, struct policy *policy, struct compiled *out)
{
	struct policy_errors errors;

	if (compile_first(text, &roomy, policy, out, &errors))
		fail_msg("%s: %s", text, errors.first[0].text);
	assert_layout(out, &roomy);
}

/* ---- numbers */

#define MS NS_PER_MS

static const struct phase_row {
	const char *name, *on, *off;
	struct {
		uint32_t tenths;
		uint64_t tenth_ns, limit;
	} phase[2];
} phases[] = {
	{"whole numbers", "100/s for 1s", "50/s for 2s", {{10, 100 * MS, 10}, {10, 200 * MS, 10}}},
	{"rests", "105/s for 1s", "105/s for 1s", {{10, 100 * MS, 10}, {10, 100 * MS, 11}}},
	{"more than one, and less than two",
	 "19/s for 1s",
	 "11/s for 1s",
	 {{10, 100 * MS, 1}, {10, 100 * MS, 2}}},
	{"short", "100/s for 100ms", "50/s for 199ms", {{1, 100 * MS, 10}, {1, 199 * MS, 10}}},
	{"no tenth of a millisecond",
	 "100/s for 250ms",
	 "40/s for 999ms",
	 {{2, 125 * MS, 12}, {9, 111 * MS, 5}}},
	{"long",
	 "1k/min for 1d",
	 "1/min for 1h",
	 {{10, 8640000 * MS, 144000}, {10, 360000 * MS, 6}}},
	{"bytes",
	 "9kbytes/s for 1s",
	 "8kbytes/s for 1s",
	 {{10, 100 * MS, 900}, {10, 100 * MS, 800}}},
	{"bits",
	 "99999bit/s for 1s",
	 "88889bit/s for 1s",
	 {{10, 100 * MS, 1249}, {10, 100 * MS, 1112}}},
	{"the most",
	 "400gbit for 1d",
	 "400gbit for 1d",
	 {{10, 8640000 * MS, 432000000000000}, {10, 8640000 * MS, 432000000000000}}},
};

ROWS(phase_test, phases, row)
{
	CLEARED_COMPILED struct compiled compiled;
	CLEARED_POLICY struct policy policy;
	char text[256];

	snprintf(text, sizeof(text), "alarm a when udp over %s until under %s", row->on, row->off);
	must_compile_text(text, &policy, &compiled);
	assert_non_null(compiled.alarms);
	for (int i = 0; i < 2; i++) {
		const struct rl_alarm_phase *phase = &compiled.alarms->alarm[0].phase[i];

		assert_int_equal(phase->tenths, row->phase[i].tenths);
		assert_int_equal(phase->tenth_ns, row->phase[i].tenth_ns);
		assert_int_equal(phase->limit, row->phase[i].limit);
	}
}

/* ---- what stands where */

TEST(entries_test)
{
	CLEARED_COMPILED struct compiled compiled;
	const struct rl_rule *rules;
	CLEARED_POLICY struct policy policy;

	must_compile_text("alarm b when icmp over 1mbit for 1s until under 1mbit for 1s # why;"
			  "alarm a when udp dport 1,9" RATES
			  "rule any deny while a;rule any tcp limit 9/s while not b;"
			  "rule 10.0.0.0/8 deny while b;rule 10.1.0.0/16 deny",
			  &policy, &compiled);
	rules = compiled.rules;
	assert_int_equal(compiled.header.alarms.count, 2);
	assert_int_equal(compiled.alarms->count, 2);
	assert_string_equal(compiled.alarms->alarm[1].name, "b");
	assert_string_equal(compiled.alarms->alarm[1].comment, "why");
	assert_int_equal(compiled.alarms->alarm[1].unit, RL_BITS);
	assert_int_equal(compiled.header.uses & (RL_USE_ALARMS | RL_USE_EXTRAS),
			 RL_USE_ALARMS | RL_USE_EXTRAS);
	rules += compiled.header.alarms.first - roomy.rules_max;
	assert_int_equal(rules[0].match.proto, 17);
	assert_true(rules[0].extra);
	assert_int_equal(rules[0].flags, 0);
	assert_int_equal(rules[1].match.proto, 1);
	assert_int_equal(rules[1].flags, RL_RULE_BYTES);
	assert_int_equal(compiled.header.any.match_mode, RL_MATCH_MODE_EACH);
	rules = compiled.rules + compiled.header.any.first - roomy.rules_max;
	assert_int_equal(rules[0].alarm, 0);
	assert_int_equal(rules[0].flags & (RL_RULE_WHILE | RL_RULE_WHILE_NOT), RL_RULE_WHILE);
	assert_int_equal(rules[1].alarm, 1);
	assert_int_equal(rules[1].flags & (RL_RULE_WHILE | RL_RULE_WHILE_NOT), RL_RULE_WHILE_NOT);
	/* No plain verdict, but the one without the word. */
	assert_int_equal(compiled.prefixes[0].value.range.count, 1);
	assert_int_equal(compiled.prefixes[1].value.range.count, 0);
}

/* Those that count come first, and those alone have a rule. */
TEST(manual_test)
{
	CLEARED_COMPILED struct compiled compiled;
	const struct rl_rule *rules;
	CLEARED_POLICY struct policy policy;

	must_compile_text("alarm a manual # why;alarm b when udp" RATES "alarm c manual;"
			  "alarm d when tcp" RATES "rule any tcp deny while a;"
			  "rule any udp deny while b;rule any icmp deny while d",
			  &policy, &compiled);
	assert_int_equal(compiled.header.alarms.count, 2);
	assert_int_equal(compiled.alarms->count, 4);
	for (int i = 0; i < 4; i++) {
		assert_string_equal(compiled.alarms->alarm[i].name,
				    ((const char *[]){"b", "d", "a", "c"})[i]);
		assert_int_equal(compiled.alarms->alarm[i].manual, i >= 2);
	}
	assert_string_equal(compiled.alarms->alarm[2].comment, "why");
	rules = compiled.rules + compiled.header.alarms.first - roomy.rules_max;
	assert_int_equal(rules[0].match.proto, 17);
	assert_int_equal(rules[1].match.proto, 6);
	rules = compiled.rules + compiled.header.any.first - roomy.rules_max;
	for (int i = 0; i < 3; i++) /* tcp, udp, icmp in the order of rules */
		assert_int_equal(rules[i].alarm, rules[i].match.proto == 6    ? 2
						 : rules[i].match.proto == 17 ? 0
									      : 1);
}

/* Parts that a policy with alarms does not need: rl_extra is not read for the sake of `while`, an
 * alarm is no verdict, and without `while` refusals are cached as they were. */
TEST(uses_test)
{
	static const struct {
		const char *text;
		uint64_t uses; /* of those below */
	} rows[] = {
		{"alarm a when" RATES "rule any limit 1/s", RL_USE_ALARMS | RL_USE_REFUSALS4},
		{"alarm a when" RATES "rule any limit 1/s while a", RL_USE_ALARMS},
		{"alarm a when" RATES "rule any deny while a", RL_USE_ALARMS},
		/* A condition whose numbers are all 0. */
		{"alarm a when" RATES "rule any dscp cs0 deny while a",
		 RL_USE_ALARMS | RL_USE_EXTRAS},
		{"alarm a when" RATES "rule device limit 1/s", RL_USE_ALARMS | RL_USE_REFUSES},
		{"alarm a when" RATES "rule device limit 1/s while not a", RL_USE_ALARMS},
		{"alarm a when length 20-99" RATES, RL_USE_ALARMS | RL_USE_EXTRAS},
		{"alarm a when udp payload 0 11" RATES,
		 RL_USE_ALARMS | RL_USE_EXTRAS | RL_USE_PAYLOAD},
		{"alarm a when filter \"udp\"" RATES,
		 RL_USE_ALARMS | RL_USE_EXTRAS | RL_USE_FILTERS},
		{"alarm a when established" RATES, RL_USE_ALARMS | RL_USE_PROOF},
		{"alarm a when new-source" RATES, RL_USE_ALARMS | RL_USE_NEW_SOURCE},
		{"alarm a manual;rule any limit 1/s while a", RL_USE_MANUAL},
		{"alarm a manual;rule any dscp cs0 deny while a", RL_USE_MANUAL | RL_USE_EXTRAS},
		{"alarm a manual;alarm b when" RATES "rule any deny while a", RL_USE_ANY_ALARMS},
		{"rule any limit 1/s", RL_USE_REFUSALS4},
	};
	const uint64_t asked = RL_USE_ANY_ALARMS | RL_USE_REFUSALS4 | RL_USE_REFUSES |
			       RL_USE_EXTRAS | RL_USE_PAYLOAD | RL_USE_FILTERS | RL_USE_PROOF |
			       RL_USE_NEW_SOURCE;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct compile_context ctx = roomy;
		struct policy_errors errors;
		CLEARED_COMPILED struct compiled compiled;
		CLEARED_POLICY struct policy policy;

		ctx.hot = true;
		assert_int_equal(compile_first(rows[i].text, &ctx, &policy, &compiled, &errors), 0);
		if ((compiled.header.uses & asked) != rows[i].uses)
			fail_msg("%s: %#jx, wanted %#jx", rows[i].text,
				 (uintmax_t)compiled.header.uses & asked, (uintmax_t)rows[i].uses);
	}
}

/* ---- what is refused */

TEST(refused_test)
{
	struct compile_context ctx = roomy;
	struct policy_errors errors;
	struct compiled compiled;
	struct policy policy;

	/* As many elements as the rules array has, and one more. */
	ctx.rules_max = 3;
	assert_int_equal(compile_first("alarm a when" RATES "alarm b when" RATES
				       "rule any deny while a",
				       &ctx, &policy, &compiled, &errors),
			 0);
	compiled_clear(&compiled);
	policy_clear(&policy);
	ctx.rules_max = 2;
	assert_int_equal(compile_first("alarm a when" RATES "alarm b when" RATES
				       "rule any deny while a",
				       &ctx, &policy, &compiled, &errors),
			 -E2BIG);
	assert_non_null(strstr(errors.first[0].text, "too many limits, rules with matches, and "
						     "alarms (at most 2): remove some"));
	policy_clear(&policy);

	/* A rule that came without its alarm. */
	policy = must_parse_policy("alarm a when" RATES "rule any deny while a");
	policy.alarm_count = 0;
	assert_int_equal(policy_compile(&policy, &(struct policy){0}, &(struct rl_policy_header){0},
					false, &roomy, &compiled, &errors),
			 -ENOENT);
	assert_non_null(strstr(errors.first[0].text, "unknown alarm \"a\": apply a policy with"));
	policy_clear(&policy);
	policy = must_parse_policy("alarm attack when" RATES "rule any deny while attack");
	policy.alarms[0].name[5] = 'c'; /* attacc */
	assert_int_equal(policy_compile(&policy, &(struct policy){0}, &(struct rl_policy_header){0},
					false, &roomy, &compiled, &errors),
			 -ENOENT);
	assert_non_null(strstr(errors.first[0].text, "\"attack\": did you mean attacc?"));
	policy_clear(&policy);

	/* An alarm that came without its set. */
	policy = must_parse_policy("set bad;alarm a when src @bad" RATES);
	policy.set_count = 0;
	assert_int_equal(policy_compile(&policy, &(struct policy){0}, &(struct rl_policy_header){0},
					false, &roomy, &compiled, &errors),
			 -ENOENT);
	assert_non_null(strstr(errors.first[0].text, "unknown set \"bad\": apply a policy with"));
	policy_clear(&policy);
}

/* Limits of `per source/N`, from the first N on, behind which stands what a packet meets. */
static void limits_say(char *text, const char *behind, int first, int count)
{
	for (int i = first; i < first + count; i++)
		sprintf(text + strlen(text), "rule any limit 9/s per source/%d%s;", i, behind);
}

/* Eight while it is on and eight while it is not are eight; nine are too many, and so are five of
 * one alarm and four of another. */
TEST(meet_test)
{
	static const struct {
		int on, off, other, always, wanted;
	} rows[] = {
		{8, 8, 0, 0, 0},      {8, 0, 0, 1, -E2BIG}, {7, 7, 0, 1, 0},
		{9, 0, 0, 0, -E2BIG}, {5, 3, 4, 0, -E2BIG}, {4, 3, 4, 0, 0},
		{0, 9, 0, 0, -E2BIG},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char text[4096] = "alarm a when" RATES "alarm b when" RATES;
		struct policy_errors errors;
		struct compiled compiled;
		CLEARED_POLICY struct policy policy;
		int ret;

		limits_say(text, " while a", 1, rows[i].on);
		limits_say(text, " while not a", 1, rows[i].off);
		limits_say(text, " while b", 1, rows[i].other);
		limits_say(text, "", 1, rows[i].always);
		ret = compile_first(text, &roomy, &policy, &compiled, &errors);
		if (ret != rows[i].wanted)
			fail_msg("row %zu: %d", i, ret);
		if (!ret)
			compiled_clear(&compiled);
	}
}

/* ---- the next policy */

TEST(back_test)
{
	struct force force = {.ctx = roomy};
	CLEARED_POLICY struct policy written;
	const char *text =
		"set bad;alarm b when icmp over 1mbit for 1s until under 1mbit for 2s # why;"
		"alarm aa manual # who;alarm z manual;"
		"alarm a when udp dport 1,9 src @bad filter \"udp\"" RATES
		"rule any deny while a;rule any deny while not a;rule any deny;"
		"rule @bad limit 9/s while b;rule 10.0.0.0/8 allow for 1h while b";

	written = must_parse_policy(text);
	for (int i = 0; i < 2; i++) {
		char *wanted, *got;

		force_put(&force, text, true);
		wanted = must_print(&written, &on_xdp);
		got = must_print(&force.policy, &on_xdp);
		assert_string_equal(got, wanted);
		free(wanted);
		free(got);
	}
	force_clear(&force);
}

/* Whatever its number was; a measured one of its name is another. */
TEST(inherit_manual_test)
{
	struct policy in_force = must_parse_policy("alarm a manual;alarm c manual # x;"
						   "alarm d when udp" RATES "alarm e manual");
	struct policy next = must_parse_policy("alarm a when udp" RATES "alarm c manual # y;"
					       "alarm d when udp" RATES "alarm e manual");
	static const uint8_t wanted[] = {0, 1, 3, 4};
	struct compiled compiled = {0};

	alarms_inherit(&next, &in_force, &compiled);
	assert_memory_equal(compiled.alarm_from, wanted, sizeof(wanted));
	assert_false(compiled.alarms_same);
	alarms_inherit(&in_force, &in_force, &compiled);
	assert_true(compiled.alarms_same);
	policy_clear(&in_force);
	policy_clear(&next);
}

TEST(inherit_test)
{
	struct policy in_force = must_parse_policy(
		"alarm b when udp" RATES "alarm c when" RATES "alarm d when tcp" RATES
		"alarm e when over 100/second for 1s until under 50/second for 1s # why;"
		"alarm f when over 8kbit for 1s until under 8kbit for 1s");
	struct policy next = must_parse_policy(
		"alarm a when udp" RATES "alarm b when udp" RATES "alarm c when tcp" RATES
		"alarm d when tcp over 100/second for 1s until under 50/second for 2s;"
		"alarm e when over 100/second for 1s until under 50/second for 1s # because;"
		"alarm f when over 1kbytes/s for 1s until under 1kbytes/s for 1s");
	static const uint8_t wanted[] = {0, 1, 0, 0, 4, 0};
	struct compiled compiled = {0};

	alarms_inherit(&next, &in_force, &compiled);
	assert_memory_equal(compiled.alarm_from, wanted, sizeof(wanted));
	assert_false(compiled.alarms_same);
	alarms_inherit(&in_force, &in_force, &compiled);
	assert_true(compiled.alarms_same);
	next.alarm_count = 0;
	alarms_inherit(&in_force, &next, &compiled);
	assert_false(compiled.alarms_same);
	policy_clear(&in_force);
	policy_clear(&next);
}
