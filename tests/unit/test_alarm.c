// SPDX-License-Identifier: GPL-2.0-only
/* Alarms in the policy language: statements and `while` as they are read and printed, each refusal
 * with its place, what two policies differ in, and random policies there and back.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "policy/alarm.h"
#include "policy/sets/set.h"
#include "policy_helpers.h"

#define LONGEST "a23456789012345678901234567890x" /* 31 */
#define TAIL    " over 99/second for 1s until under 50/second for 10s"
#define ATTACK  "alarm attack when" TAIL "\n"

static struct policy policy_of(const char *text)
{
	return must_parse_lines(text, &on_xdp);
}

/* ---- what is read */

static const struct {
	const char *text, *canonical; /* NULL: the same */
} statements[] = {
	{ATTACK, NULL},
	{"alarm  attack\twhen over 99/s for 1000ms until under 3000/min for 10 seconds  \n",
	 "alarm attack when over 99/second for 1s until under 3000/minute for 10s\n"},
	{"alarm a when" TAIL "\n", NULL},
	{"alarm " LONGEST " when" TAIL "\n", NULL},
	{"alarm a-b_c9 when" TAIL "\n", NULL},
	{"alarm when when" TAIL "\n", NULL},
	{"alarm a  manual#why\n", "alarm a manual # why\n"},
	{"rule any deny while manual\nalarm manual manual\n" ATTACK,
	 ATTACK "alarm manual manual\nrule any deny while manual\n"},
	{"alarm over when" TAIL "\nrule any deny while over\n", NULL},
	{"alarm for when" TAIL "\nrule any deny for 1h while for\n", NULL},
	/* what it counts */
	{"alarm a when dport 53 udp" TAIL "\n", "alarm a when udp dport 53" TAIL "\n"},
	{"alarm a when syn" TAIL "\n", "alarm a when tcp syn" TAIL "\n"},
	{"alarm a when not tcp not length 100-200 src 10.0.0.0/8" TAIL "\n",
	 "alarm a when not tcp src 10.0.0.0/8 not length 100-200" TAIL "\n"},
	{"alarm a when udp filter \"udp[8] = 0\" new-source established" TAIL "\n", NULL},
	{"set bad\nalarm a when src @bad" TAIL "\n", NULL},
	{"alarm a when not dst @bad" TAIL "\nset bad\n",
	 "set bad\nalarm a when not dst @bad" TAIL "\n"},
	/* rates: one unit, or bits */
	{"alarm a when over 100mbit for 2s until under 100mbit for 2s\n", NULL},
	{"alarm a when over 1mbyte/s for 2s until under 1000kbyte/s for 2s\n",
	 "alarm a when over 1mbyte/second for 2s until under 1mbyte/second for 2s\n"},
	{"alarm a when over 8mbit for 2s until under 1mbyte/s for 2s\n",
	 "alarm a when over 8mbit for 2s until under 8mbit for 2s\n"},
	{"alarm a when over 1mbyte/s for 2s until under 8mbit for 2s\n",
	 "alarm a when over 8mbit for 2s until under 8mbit for 2s\n"},
	{"alarm a when over 100m/s for 100ms until under 10/s for 1d\n",
	 "alarm a when over 100000000/second for 100ms until under 10/second for 1d\n"},
	{"alarm a when over 400gbit for 1d until under 400gbit for 1d\n", NULL},
	{"alarm a when over 1/minute for 10m until under 1/h for 10h\n",
	 "alarm a when over 1/minute for 10m until under 1/hour for 10h\n"},
	{"alarm a when over 10/s for 1s until under 10/s for 199ms\n",
	 "alarm a when over 10/second for 1s until under 10/second for 199ms\n"},
	{"alarm a when over 640byte/s for 1s until under 5120bit/s for 1s\n",
	 "alarm a when over 5kibit/second for 1s until under 5kibit/second for 1s\n"},
	/* comments and order */
	{"alarm a when" TAIL " # why, and how\n", NULL},
	{"alarm a when" TAIL "#x\n", "alarm a when" TAIL " # x\n"},
	{"rule any deny while b\nalarm b when" TAIL "\nset s\nalarm a when udp" TAIL "\n",
	 "set s\nalarm a when udp" TAIL "\nalarm b when" TAIL "\nrule any deny while b\n"},
	{"set attack\nrule @attack deny while attack\n" ATTACK,
	 "set attack\n" ATTACK "rule @attack deny while attack\n"},
	/* rules */
	{ATTACK "rule any deny while attack # why\n", NULL},
	{ATTACK "rule any deny while not attack\n", NULL},
	{ATTACK "rule any tcp syn allow while attack\n", NULL},
	{ATTACK "rule 10.0.0.0/8 deny while attack for 10m\n",
	 ATTACK "rule 10.0.0.0/8 deny for 10m while attack\n"},
	{ATTACK "rule any limit 9/s while attack per flow fleet\n",
	 ATTACK "rule any limit 9/second burst 5 per flow fleet while attack\n"},
	{ATTACK "rule device limit 9/second burst 5 over count for 1h while not attack\n", NULL},
	{ATTACK "rule any dscp cs0 deny while attack\n", NULL},
	{ATTACK "rule any udp dport 1,3 filter \"udp[8] = 0\" deny while attack\n", NULL},
	/* one identity */
	{ATTACK "rule any allow while attack\nrule any deny while attack\n",
	 ATTACK "rule any deny while attack\n"},
	{ATTACK "alarm b when" TAIL "\n"
		"rule any allow\nrule any deny while attack\nrule any allow while not attack\n"
		"rule any deny while b\n",
	 NULL},
	{ATTACK "rule any limit 9/s\nrule any limit 5/s while attack\nrule any limit 7/s while "
		"attack\n",
	 ATTACK "rule any limit 9/second burst 5\nrule any limit 7/second burst 5 while attack\n"},
};

TEST(test_statements)
{
	for (size_t i = 0; i < ARRAY_SIZE(statements); i++)
		must_round_trip(statements[i].text, statements[i].canonical ?: statements[i].text,
				&on_xdp);
}

TEST(test_model)
{
	struct policy policy = policy_of(
		"\n  alarm attack when udp dport 53 src @s over 2k/second for 500ms until "
		"under 1k/s for 1m # why\nset s\nrule 10.0.0.0/8 deny for 1h while  not attack");
	const struct policy_alarm *alarm = policy_alarm_find(&policy, "attack");
	const struct rule *rule = &policy.rules[0];
	bool off;

	assert_int_equal(policy.alarm_count, 1);
	assert_null(policy_alarm_find(&policy, "attac"));
	assert_non_null(alarm);
	assert_int_equal(alarm->line, 2);
	assert_int_equal(alarm->column, 9);
	assert_string_equal(alarm->comment, "why");
	assert_int_equal(alarm->unit, RL_PACKETS);
	assert_int_equal(alarm->phase[0].amount, 2000);
	assert_int_equal(alarm->phase[0].period_ns, NS_PER_SECOND);
	assert_int_equal(alarm->phase[0].for_ns, 500 * NS_PER_MS);
	assert_int_equal(alarm->phase[1].amount, 1000);
	assert_int_equal(alarm->phase[1].for_ns, NS_PER_MINUTE);
	assert_int_equal(alarm->counts.kind, PREFIX_ANY);
	assert_int_equal(alarm->counts.action, RL_ACTION_COUNT);
	assert_int_equal(alarm->counts.match.flags, RL_MATCH_PROTO | RL_MATCH_DPORT | RL_MATCH_SRC);
	assert_string_equal(alarm->counts.extra->src_set, "s");
	assert_string_equal(rule_while(rule, &off), "attack");
	assert_true(off);
	assert_int_equal(rule->while_column, 40);
	assert_string_equal(rule_while(&alarm->counts, &off), "");
	assert_false(off);
	policy_clear(&policy);
}

TEST(test_tenths)
{
	static const struct {
		uint64_t ms;
		uint32_t tenths;
	} rows[] = {{100, 1}, {199, 1}, {200, 2}, {999, 9}, {1000, 10}, {1001, 10}, {86400000, 10}};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_int_equal(alarm_tenths(rows[i].ms * NS_PER_MS), rows[i].tenths);
}

/* The longest text of each match together: a buffer of ALARM_TEXT_MAX holds it. */
TEST(test_longest)
{
	char text[4096], ports[256] = "", comment[RL_COMMENT_MAX + 1], *printed;
	CLEARED_POLICY struct policy policy;

	for (int i = 0; i < RL_PORT_RANGES_MAX; i++)
		sprintf(ports + strlen(ports), "%s%d-%d", i ? "," : "", 10000 + 10 * i,
			10001 + 10 * i);
	memset(comment, 'x', RL_COMMENT_MAX);
	comment[RL_COMMENT_MAX] = '\0';
	snprintf(
		text, sizeof(text),
		"alarm " LONGEST " when tcp not sport %s not dport %s "
		"not src 2001:db8:1111:2222:3333:4444:5555:aaaa/127 "
		"not dst 2001:db8:1111:2222:3333:4444:5555:7776/127 not syn "
		"not flags fin,syn,rst,psh,ack,urg,ece/fin,syn,rst,psh,ack,urg,ece "
		"not length 10000-20000 not ttl 100-200 not dscp af11 not fragment "
		"not payload 512 00112233445566778899aabbccddee00/fffffffffffffffffffffffffffffff0 "
		"not filter \"len = %0*d\" not new-source not established "
		"over 18446744073709551615byte/4611686018427387903ns for 86399999999999ns "
		"until under 18446744073709551614byte/4611686018427387903ns for 86399999999999ns "
		"# %s\n",
		ports, ports, RL_FILTER_MAX - 6, 0, comment);
	policy = policy_of(text);
	printed = must_print(&policy, &on_xdp);
	assert_string_equal(printed, text);
	assert_in_range(strlen(printed), 1300, ALARM_TEXT_MAX - 1);
	free(printed);
}

/* ---- what is refused */

#define A "alarm a when"

static const struct refusal refusals[] = {
	{"alarm", 1, 6, "\"alarm\" must be followed by the name of an alarm"},
	{"alarm # a", 1, 7, "must be followed by the name of an alarm"},
	{"alarm Attack when" TAIL, 1, 7, "\"Attack\" is not the name of an alarm: write a"},
	{"alarm @a when" TAIL, 1, 7, "\"@a\" is not the name of an alarm"},
	{"alarm 9a when" TAIL, 1, 7, "is not the name of an alarm"},
	{"alarm \x1b[31m when" TAIL, 1, 7, "\"\\x1b[31m\" is not the name of an alarm"},
	{"alarm " LONGEST "y when" TAIL, 1, 7, "is not the name of an alarm"},
	{"alarm not when" TAIL, 1, 7, "\"not\" is a word of the language"},
	{"alarm a", 1, 8,
	 "\"a\" must be followed by when or manual: write for example when udp over"},
	{"alarm a over 9/s", 1, 9, "\"over\" is not when or manual"},
	{"alarm manual", 1, 13, "\"manual\" must be followed by when or manual"},
	{"alarm a manual over 9/s", 1, 16,
	 "\"over\" follows the end of an alarm: remove it, for a manual alarm counts nothing"},
	{"alarm a manual manual", 1, 16, "\"manual\" follows the end of an alarm"},
	{"alarm a manual\nalarm a when" TAIL, 2, 7, "the alarm a is there already", 1},
	{A, 1, 13, "\"when\" must be followed by a match or over"},
	{A " udp", 1, 17, "\"udp\" must be followed by a match or over"},
	{A " deny" TAIL, 1, 14, "\"deny\" is not a match or over"},
	{A " port 53" TAIL, 1, 14, "unknown match \"port\": did you mean dport?"},
	{A " udp udp" TAIL, 1, 18, "repeats an earlier word"},
	{A " icmp dport 5" TAIL, 1, 19, "has no ports"},
	{A " http" TAIL, 1, 14, "unknown match \"http\": did you mean tcp dport http?"},
	{A " any udp" TAIL, 1, 14, "\"any\" is not a match or over"},
	{A " over", 1, 18, "\"over\" must be followed by a rate"},
	{A " over 9", 1, 19, "\"9\" has no period: write 9/second"},
	{A " over 0/s for 1s", 1, 19, "\"0/s\" is out of range: write an amount from 1"},
	{A " over 1kbps for 1s", 1, 19, "is ambiguous (bits or bytes)"},
	{A " over 200m/s for 1s", 1, 19, "is too high: write at most 100m/second"},
	{A " over 500gbit for 1s", 1, 19, "is too high: write at most 400gbit"},
	{A " over 1/2d for 1s", 1, 19, "is too low: write at least 1/day"},
	{A " over 99/s", 1, 23, "\"99/s\" must be followed by for and a duration"},
	{A " over 99/s until", 1, 24, "\"until\" is not for and a duration"},
	{A " over 99/s for", 1, 27, "\"for\" must be followed by a duration"},
	{A " over 99/s for 10", 1, 28, "\"10\" is not a duration"},
	{A " over 99/s for 99ms", 1, 28, "\"99ms\" is too short: an alarm looks at the rate every"},
	{A " over 99/s for 1 day until under 50/s for 86401 s", 1, 55,
	 "\"86401 s\" is too long: write 1d or less"},
	{A " over 99/s for 1s", 1, 30, "\"1s\" must be followed by until: write when the alarm"},
	{A " over 99/s for 1s under", 1, 31, "\"under\" is not until"},
	{A " over 99/s for 1s until", 1, 36, "\"until\" must be followed by under"},
	{A " over 99/s for 1s until over 9/s", 1, 37, "\"over\" is not under"},
	{A " over 99/s for 1s until under", 1, 42, "\"under\" must be followed by a rate"},
	{A " over 99/s for 1s until under 50/s for 1s udp", 1, 55, "\"udp\" follows the end"},
	/* both together */
	{A " over 99/s for 1s until under 1mbit for 1s", 1, 43,
	 "\"1mbit\" is in bits or bytes, but the rate after over is in packets: write both in"},
	{A " over 9mbit for 1s until under 99/s for 1s", 1, 44,
	 "\"99/s\" is in packets, but the rate after over is in bits or bytes"},
	{A " over 99/s for 1s until under 100/s for 1s", 1, 43,
	 "\"100/s\" is more than 99/second, at which the alarm goes on, so it would go on and off "
	 "without end: write 99/second or less"},
	{A " over 99/s for 1s until under 5941/min for 1s", 1, 43, "is more than 99/second"},
	{A " over 1kbyte/s for 1s until under 8001bit/s for 1s", 1, 47, "is more than 8kbit"},
	{A " over 18446744073709551615byte/53375d for 1d until under 1kbit for 1s", 1, 19,
	 "is too large to be written in bits, as the other rate is: write both in bytes"},
	/* less than a packet in a tenth */
	{A " over 9/s for 1s until under 9/s for 1d", 1, 19,
	 "\"9/s\" is less than one packet in 100ms, the time in which an alarm counts: write for "
	 "2s or longer"},
	{A " over 1/min for 1s until under 1/h for 1d", 1, 19, "write for 10m or longer"},
	{A " over 9/s for 2s until under 9/s for 900ms", 1, 42, "in 100ms, the time"},
	{A " over 99/s for 2s until under 1/s for 9s", 1, 43,
	 "\"1/s\" is less than one packet in 900ms, the time in which an alarm counts: write for "
	 "10s or longer"},
	{A " over 639byte/s for 1s until under 9byte/s for 1d", 1, 19, "write for 2s or longer"},
	{A " over 5119bit/s for 1s until under 9byte/s for 1d", 1, 19, "write for 2s or longer"},
	{A " over 99/s for 1s until under 9/day for 1d", 1, 43,
	 "\"9/day\" is too low for an alarm: write at least ten packets a day"},
	/* rules */
	{ATTACK "rule any while attack deny", 2, 10, "\"while\" stands after the action"},
	{ATTACK "rule any deny while", 2, 20, "\"while\" must be followed by the name of an alarm"},
	{ATTACK "rule any deny while not", 2, 24, "\"not\" must be followed by the name"},
	{ATTACK "rule any deny while not not", 2, 25, "\"not\" is a word of the language"},
	{ATTACK "rule any deny while @attack", 2, 21, "is not the name of an alarm"},
	{ATTACK "rule any deny while attack while attack", 2, 28, "repeats an earlier word"},
	{ATTACK "rule any deny while attack udp", 2, 28,
	 "\"udp\" is not allowed after deny: only \"for DURATION\" and \"while ALARM\" are"},
	{ATTACK "rule any limit 9/s when attack", 2, 20,
	 "unknown option \"when\": did you mean "
	 "while?"},
	{ATTACK "rule any deny if attack", 2, 15, "unknown option \"if\": did you mean while?"},
	{ATTACK "rule any deny while atack", 2, 21,
	 "unknown alarm \"atack\": did you mean attack?"},
	{ATTACK "rule any deny for 1h while not zzz", 2, 32,
	 "unknown alarm \"zzz\": add a line \"alarm zzz when ...\""},
	{"set attack\nrule any deny while attack", 2, 21, "unknown alarm \"attack\": add a line"},
	{"alarm a when src @bad" TAIL, 1, 18, "unknown set \"bad\": add a line \"set bad\""},
	{"rule device deny while attack\n" ATTACK, 1, 13, "needs a match"},
	/* twice */
	{ATTACK "\n" ATTACK, 3, 7, "the alarm attack is there already: remove one of the two", 1},
};

TEST(test_refusals)
{
	must_fail_each(refusals, ARRAY_SIZE(refusals));
}

TEST(test_too_many)
{
	char text[4096] = "";
	struct policy policy;

	for (int i = 0; i < RL_ALARMS_MAX; i++)
		sprintf(text + strlen(text), "alarm a%d when" TAIL "\n", i);
	policy = policy_of(text);
	assert_int_equal(policy.alarm_count, RL_ALARMS_MAX);
	assert_string_equal(policy.alarms[1].name, "a1");
	assert_string_equal(policy.alarms[2].name, "a10");
	policy_clear(&policy);
	sprintf(text + strlen(text), "\nalarm one-more when" TAIL "\n");
	must_fail_each(&(struct refusal){text, RL_ALARMS_MAX + 2, 7, "a policy has at most 16"}, 1);
}

/* Single rules, and files of rules for a policy in force. */
TEST(test_rules_alone)
{
	struct policy live = policy_of(ATTACK "rule any deny while attack\n"), out = {0};
	static const char accepted[] = "rule any tcp deny while not attack";
	struct policy_context ctx = on_xdp;
	struct policy_errors errors;
	struct policy_error err;
	struct rule rule;
	bool found;

	ctx.known = &live;
	assert_int_equal(policy_parse(accepted, strlen(accepted), &ctx, NULL, &out, &errors), 0);
	assert_int_equal(out.count, 1);
	policy_clear(&out);
	assert_int_equal(statement_parse(ATTACK, &on_xdp, &rule, &found, &err), -EINVAL);
	assert_int_equal(err.column, 1);
	assert_non_null(strstr(err.text, "stands in a policy, not among rules"));
	must_fail(ATTACK, &ctx, &errors);
	assert_non_null(strstr(errors.first[0].text, "stands in a policy, not among rules"));
	must_fail("rule any deny\nrule any udp deny while zzz", &ctx, &errors);
	assert_int_equal(errors.first[0].line, 2);
	assert_int_equal(errors.first[0].column, 25);
	assert_non_null(strstr(errors.first[0].text,
			       "unknown alarm \"zzz\": apply a policy with a line \"alarm zzz when "
			       "...\" first"));
	policy_clear(&live);
}

/* Which rules of `policy` words select. */
TEST(test_selectors)
{
	struct policy policy = policy_of(ATTACK "rule any tcp deny\n"
						"rule any tcp deny while attack\n"
						"rule any tcp allow while not attack\n"
						"rule any tcp limit 9/s while attack\n");
	static const struct {
		const char *words, *first; /* the first rule */
		size_t count;
	} rows[] = {
		{"any tcp", "any tcp deny", 1},
		{"any tcp deny", "any tcp deny", 1},
		{"any tcp allow", "", 0},
		{"any tcp while attack", "any tcp deny while attack", 2},
		{"any tcp deny while attack", "any tcp deny while attack", 1},
		{"any tcp while not attack", "any tcp allow while not attack", 1},
		{"any tcp limit 5/s while attack", "any tcp limit 9/second burst 5 while attack",
		 1},
		{"any tcp while other", "", 0},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct policy_error err;
		struct rule selector;
		char text[RULE_TEXT_MAX] = "";
		const struct rule *first;
		size_t count;

		if (selector_parse(rows[i].words, &on_xdp, &selector, &err))
			fail_msg("%s: %s", rows[i].words, err.text);
		first = policy_select(&policy, &selector, &count);
		if (first)
			rule_format(text, first, &on_xdp);
		assert_string_equal(text, rows[i].first);
		assert_int_equal(count, rows[i].count);
	}
	policy_clear(&policy);
}

/* ---- the model */

static void diff_append(const struct policy_alarm *from, const struct policy_alarm *to, void *arg)
{
	const struct policy_alarm *there = from ? from : to;
	char *said = arg;

	assert_non_null(there);
	sprintf(said + strlen(said), "%s%s;", !from ? "+" : to ? "" : "-", there->name);
}

TEST(test_diff)
{
	static const struct {
		const char *from, *to, *said;
	} rows[] = {
		{"", "", ""},
		{"alarm a when" TAIL "\nalarm b when" TAIL "\n",
		 "alarm b when" TAIL "\n\nalarm a when" TAIL "\n", ""},
		{"", ATTACK, "+attack;"},
		{ATTACK, "", "-attack;"},
		{"alarm b when" TAIL "\nalarm c when" TAIL "\n",
		 "alarm a when" TAIL "\nalarm c when" TAIL "\nalarm d when" TAIL "\n", "+a;-b;+d;"},
		{ATTACK, "alarm attack when udp" TAIL "\n", "attack;"},
		{"alarm a when dport 1,2" TAIL "\n", "alarm a when dport 1,3" TAIL "\n", "a;"},
		{"alarm a when over 9k/s for 1s until under 9k/s for 1s",
		 "alarm a when over 9000/second for 1000ms until under 9k/s for 1s", ""},
		{"alarm a when over 9k/s for 1s until under 9k/s for 1s",
		 "alarm a when over 9k/s for 1s until under 9k/s for 2s", "a;"},
		{"alarm a when over 8kbit for 1s until under 8kbit for 1s",
		 "alarm a when over 8kbyte/s for 1s until under 8kbyte/s for 1s", "a;"},
		{"alarm a when" TAIL " # x\n", "alarm a when" TAIL " # y\n", "a;"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEARED_POLICY struct policy from = policy_of(rows[i].from),
					     to = policy_of(rows[i].to);
		char said[256] = "";
		size_t count = 0;

		for (const char *c = rows[i].said; *c; c++)
			count += *c == ';';
		assert_int_equal(policy_alarms_diff(&from, &to, diff_append, said), count);
		assert_string_equal(said, rows[i].said);
	}
}

TEST(test_copy)
{
	CLEARED_POLICY struct policy from =
		policy_of("alarm b when" TAIL "\nalarm d when" TAIL "\n");
	struct policy to = policy_of("alarm a when" TAIL "\nalarm c when" TAIL "\n"
				     "alarm d when udp" TAIL "\n");
	char *text;

	assert_int_equal(policy_names_copy(&to, &from), 0);
	text = must_print(&to, &on_xdp);
	assert_string_equal(text, "alarm a when" TAIL "\nalarm b when" TAIL "\nalarm c when" TAIL
				  "\nalarm d when" TAIL "\n");
	free(text);
	policy_clear(&to);
}

/* ---- at random */

#define ROUNDS 300

TEST(test_random)
{
	static const struct policy_context *const contexts[] = {&on_xdp, &on_tc, &on_egress};
	size_t named = 0;

	random_start(83);
	for (int i = 0; i < ROUNDS; i++) {
		const struct policy_context *ctx = contexts[i % ARRAY_SIZE(contexts)];
		char text[32 * RULE_TEXT_MAX] = "set bad\nset worse\n", line[RULE_TEXT_MAX];

		for (uint64_t n = random_below(16); n; n--) {
			random_rule(line, ctx);
			sprintf(text + strlen(text), "%s\n", line);
			named += strstr(line, " while ") != NULL;
		}
		random_alarm(line, "busy", ctx);
		sprintf(text + strlen(text), "%s\n", line);
		random_alarm(line, "attack", ctx);
		sprintf(text + strlen(text), "%s", line);
		assert_int_equal(must_round_trip(text, NULL, ctx), 2);
	}
	assert_true(named > ROUNDS / 2);
}
