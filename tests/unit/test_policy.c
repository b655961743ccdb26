// SPDX-License-Identifier: GPL-2.0-only
/* From text to the model, and the model itself: defaults, whole texts, identity and order of rules,
 * put, find and remove. test_policy_roundtrip.c has the language, test_policy_errors.c the
 * refusals.
 */
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "policy_helpers.h"
#include "turns.h"

TEST(empty_test)
{
	static const char *const lines[] = {"", "\n", "\r\n", " \t ", "# rule", "  # rule any"};
	struct policy_error err;
	struct rule rule;

	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		bool found = true;

		assert_int_equal(statement_parse(lines[i], &on_xdp, &rule, &found, &err), 0);
		assert_false(found);
	}
}

/* The joined word is short, however far apart its two halves stand. */
TEST(far_apart_test)
{
	char line[4096];
	struct rule rule;

	snprintf(line, sizeof(line), "rule any limit 10%3000skbytes/second burst 9%900skbytes", "",
		 "");
	rule = must_parse(line, &on_xdp);
	assert_int_equal(rule.limit.amount, 10000);
	assert_int_equal(rule.limit.size, 9000);
	assert_int_equal(rule.limit.unit, RL_BYTES);
}

TEST(defaults_test)
{
	struct rule rule = must_parse("rule 10.0.0.0/8 limit 1000/second", &on_xdp);

	assert_int_equal(rule.kind, PREFIX_ADDR);
	assert_int_equal(rule.len, 104);
	assert_int_equal(rule.action, RL_ACTION_LIMIT);
	assert_int_equal(rule.limit.algorithm, RL_TOKEN_BUCKET);
	assert_int_equal(rule.limit.amount, 1000);
	assert_int_equal(rule.limit.period_ns, NS_PER_SECOND);
	assert_int_equal(rule.limit.size, 100);
	assert_int_equal(rule.limit.key, RL_KEY_SOURCE);
	assert_int_equal(rule.limit.over, RL_OVER_DROP);
	assert_int_equal(rule.line, 0);
	assert_int_equal(rule.for_ns, 0);
}

TEST(division_test)
{
	static const struct {
		const char *line;
		uint8_t share[2], keep_for;
		uint32_t keep;
	} rows[] = {
		{"rule any limit 1k/s", {0, 0}, RL_KEEP_NONE, 0},
		{"rule any limit 1k/s share", {60, 30}, RL_KEEP_NONE, 0},
		{"rule any limit 1k/s share per source", {60, 30}, RL_KEEP_NONE, 0},
		{"rule any limit 1k/s share 20/30/50", {20, 30}, RL_KEEP_NONE, 0},
		{"rule any limit 1k/s keep 20 for established", {0, 0}, RL_KEEP_ESTABLISHED, 20},
		{"rule any limit 1k/s keep 20 for known", {0, 0}, RL_KEEP_KNOWN, 20},
		{"rule any limit 1k/s keep 20 for @gold", {0, 0}, RL_KEEP_SET, 20},
		{"rule any limit 10mbit keep 10kbyte for known", {0, 0}, RL_KEEP_KNOWN, 80000},
		{"rule any limit 10mbyte/s keep 80kbit for known", {0, 0}, RL_KEEP_KNOWN, 10000},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct rule rule = must_parse(rows[i].line, &on_xdp);

		assert_memory_equal(rule.limit.share, rows[i].share, 2);
		assert_int_equal(rule.limit.keep_for, rows[i].keep_for);
		assert_int_equal(rule.limit.keep, rows[i].keep);
		assert_string_equal(rule.keep_set, rows[i].keep_for == RL_KEEP_SET ? "gold" : "");
		assert_int_equal(rule.limit.size_other, 0);
		assert_false(rule.size_cut);
	}
}

TEST(key_test)
{
	static const struct {
		const char *line;
		uint8_t key, len4, len6;
		const struct policy_context *ctx;
	} rows[] = {
		{"rule any limit 1/s", RL_KEY_SOURCE, 32, 64, &on_xdp},
		{"rule any limit 1/s", RL_KEY_DEST, 32, 64, &on_egress},
		{"rule device limit 1/s", RL_KEY_RULE, 0, 0, &on_egress},
		{"rule any limit 1/s per source/24", RL_KEY_SOURCE, 24, 64, &on_xdp},
		{"rule any limit 1/s per dest/24,56", RL_KEY_DEST, 24, 56, &on_xdp},
		{"rule any limit 1/s per source+dport", RL_KEY_SOURCE_DPORT, 32, 64, &on_xdp},
		{"rule any limit 1/s per source+dest", RL_KEY_SOURCE_DEST, 32, 128, &on_xdp},
		{"rule any limit 1/s per flow", RL_KEY_FLOW, 32, 128, &on_xdp},
		{"rule any limit 1/s per rule", RL_KEY_RULE, 0, 0, &on_xdp},
		{"rule any limit 1/s share", RL_KEY_RULE, 0, 0, &on_xdp},
		{"rule any limit 1/s share per source/24,56", RL_KEY_SOURCE, 24, 56, &on_xdp},
		{"rule any limit 1/s share per dest", RL_KEY_DEST, 32, 64, &on_egress},
		{"rule any limit 1/s burst 2 keep 1 for known", RL_KEY_RULE, 0, 0, &on_xdp},
		{"rule any limit 1/s per dport+source", RL_KEY_SOURCE_DPORT, 32, 64, &on_xdp},
		{"rule any limit 1/s per source/24,56+dport", RL_KEY_SOURCE_DPORT, 24, 56, &on_xdp},
		{"rule any limit 1/s per dest/9,8+source/9,8", RL_KEY_SOURCE_DEST, 9, 8, &on_xdp},
		{"rule any limit 1/s per source+dest+sport+dport+proto", RL_KEY_FLOW, 32, 128,
		 &on_xdp},
		{"rule any limit 1/s per dest+dport", RL_KEY_PARTS, 32, 64, &on_xdp},
		{"rule any limit 1/s per sport+dport", RL_KEY_PARTS, 0, 0, &on_xdp},
		{"rule any limit 1/s per source/24,56+dest", RL_KEY_PARTS, 24, 56, &on_xdp},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct rule rule = must_parse(rows[i].line, rows[i].ctx);

		assert_int_equal(rule.limit.key, rows[i].key);
		assert_int_equal(rule.limit.key_len4, rows[i].len4);
		assert_int_equal(rule.limit.key_len6, rows[i].len6);
	}
}

TEST(text_test)
{
	static const char text[] = "# a policy\r\n"
				   "rule any limit 10/s\r\n"
				   "\r\n"
				   "rule 10.0.0.0/8 deny\r\n"
				   "rule device limit 1gbit\n"
				   "rule any limit 20/s burst 7\n"
				   "rule 10.0.0.0/8 allow\n"
				   "rule any limit 1mbit\n"
				   "rule any limit 30/s";
	static const struct {
		uint32_t line;
		uint8_t kind, action;
	} expected[] = {
		{5, PREFIX_DEVICE, RL_ACTION_LIMIT},
		{9, PREFIX_ANY, RL_ACTION_LIMIT},
		{8, PREFIX_ANY, RL_ACTION_LIMIT},
		{7, PREFIX_ADDR, RL_ACTION_ALLOW},
	};
	static const uint32_t pairs[] = {2, 6, 4, 7, 6, 9};
	struct policy policy = {0}, replaced = {0};
	struct policy_errors errors;

	assert_int_equal(policy_parse(text, strlen(text), &on_xdp, &replaced, &policy, &errors), 0);
	assert_int_equal(policy.count, ARRAY_SIZE(expected));
	for (size_t i = 0; i < ARRAY_SIZE(expected); i++) {
		assert_int_equal(policy.rules[i].line, expected[i].line);
		assert_int_equal(policy.rules[i].kind, expected[i].kind);
		assert_int_equal(policy.rules[i].action, expected[i].action);
	}
	assert_int_equal(replaced.count, ARRAY_SIZE(pairs));
	for (size_t i = 0; i < replaced.count; i++)
		assert_int_equal(replaced.rules[i].line, pairs[i]);
	policy_clear(&replaced);
	policy_clear(&policy);
	assert_null(policy.rules);
}

TEST(text_empty_test)
{
	CLEARED_POLICY struct policy policy = {0};
	struct policy_errors errors;

	assert_int_equal(policy_parse(NULL, 0, &on_xdp, NULL, &policy, &errors), 0);
	assert_int_equal(policy.count, 0);
}

/* A line per rule, at random places and with every tenth twice. */
TEST(million_test)
{
	const uint32_t lines = TURNS(1000000);
	char *text = malloc((size_t)lines * 64);
	CLEARED_POLICY struct policy policy = {0};
	struct policy_errors errors;
	size_t size = 0;

	assert_non_null(text);
	for (uint32_t i = 0; i < lines; i++) {
		uint32_t n = (i % 10 ? i : i / 2) * 2654435761u;

		size += sprintf(text + size, "rule %u.%u.%u.%u limit %u/second burst 20\n", n >> 24,
				n >> 16 & 255, n >> 8 & 255, n & 255, i + 1);
	}
	if (policy_parse(text, size, &on_xdp, NULL, &policy, &errors))
		fail_msg("%u: %s", errors.first[0].line, errors.first[0].text);
	assert_in_range(policy.count, lines / 2, lines);
	for (size_t i = 1; i < policy.count; i++)
		assert_true(rule_compare(&policy.rules[i - 1], &policy.rules[i]) < 0);
	free(text);
}

TEST(identity_test)
{
	static const struct {
		const char *a, *b;
		bool same;
	} rows[] = {
		{"rule any allow", "rule any deny", true},
		{"rule any allow", "rule any allow for 1h", true},
		{"rule any allow", "rule any limit 1/s", false},
		{"rule any allow", "rule any tcp allow", false},
		{"rule any tcp dport 1 deny", "rule any tcp dport 2 deny", false},
		{"rule any src 10.0.0.1 deny", "rule any src 10.0.0.2 deny", false},
		{"rule any dst 10.0.0.1 deny", "rule any dst 10.0.0.2 deny", false},
		{"rule any deny", "rule 0.0.0.0/0 deny", false},
		{"rule any deny", "rule ::/0 deny", false},
		{"rule 0.0.0.0/0 deny", "rule ::/0 deny", false},
		{"rule any udp deny", "rule any proto udp allow", true},
		{"rule 10.0.0.0/8 deny", "rule 10.0.0.0/9 deny", false},
		{"rule any limit 1/s", "rule any limit fixed-window 2/s over count", true},
		{"rule any limit 1/s", "rule any limit 1mbit", false},
		{"rule any limit 1mbyte/s", "rule any limit 1mbit", true},
		{"rule any limit 1/s", "rule any limit 1/s per flow", false},
		{"rule any limit 1/s", "rule any limit 1/s per source/24", false},
		{"rule any limit 1/s", "rule any limit 1/s per source/32,48", false},
		{"rule any established deny", "rule any not established deny", false},
		{"rule any established deny", "rule any established allow", true},
		{"rule any deny", "rule any established deny", false},
		{"rule any limit 1/s", "rule any limit 1/s over drop unless established", true},
		{"rule any syn limit 1/s over challenge", "rule any syn limit 1/s", true},
		{"rule any limit 1/s share", "rule any limit 2/s per rule", true},
		{"rule any limit 1/s share", "rule any limit 9/s share 50/30/20", true},
		{"rule any limit 1/s share", "rule any limit 9/s keep 1 for known", true},
		{"rule any limit 9/s keep 1 for @a", "rule any limit 9/s keep 1 for @b", true},
		{"rule any limit 1/s share", "rule any limit 1/s", false},
		{"rule any limit 1/s share per source", "rule any limit 1/s", true},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct rule a = must_parse(rows[i].a, &on_xdp), b = must_parse(rows[i].b, &on_xdp);

		assert_int_equal(!rule_compare(&a, &b), rows[i].same);
		assert_int_equal(rule_compare(&a, &b) < 0, rule_compare(&b, &a) > 0);
	}
}

/* Each line is before the next. */
TEST(order_test)
{
	static const char *const lines[] = {
		"rule device tcp deny",
		"rule device limit 1/s",
		"rule any deny",
		"rule any tcp allow",
		"rule any tcp dport 22 deny",
		"rule any tcp dport 80 allow",
		"rule any tcp dport 256 deny",
		"rule any tcp established deny",
		"rule any tcp not established deny",
		"rule any limit 1/s",
		"rule any limit 1mbit",
		"rule any limit 1/s per flow",
		"rule any tcp limit 1/s",
		"rule 0.0.0.0/0 deny",
		"rule 10.0.0.0/8 deny",
		"rule 10.0.0.0/9 deny",
		"rule 10.0.0.0 limit 1/s",
		"rule 10.0.0.1 deny",
		"rule 255.255.255.255 deny",
		"rule ::/0 deny",
		"rule ::/80 deny",
		"rule ::1 deny",
		"rule ::fffe:0:0/95 deny",
		"rule 2001:db8::/32 deny",
		"rule 2001:db8::/33 deny",
		"rule 2001:db8:: deny",
	};

	for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
		for (size_t j = 0; j < ARRAY_SIZE(lines); j++) {
			struct rule a = must_parse(lines[i], &on_xdp),
				    b = must_parse(lines[j], &on_xdp);
			int order = rule_compare(&a, &b);

			assert_int_equal((order > 0) - (order < 0), (i > j) - (i < j));
		}
}

static void put(struct policy *policy, const char *line)
{
	struct rule rule = must_parse(line, &on_xdp);

	assert_int_equal(policy_put(policy, &rule), 0);
}

static size_t remove_selected(struct policy *policy, const char *words)
{
	struct policy_error err;
	struct rule selector;

	assert_int_equal(selector_parse(words, &on_xdp, &selector, &err), 0);
	return policy_remove(policy, &selector);
}

TEST(put_find_test)
{
	CLEARED_POLICY struct policy policy = {0};
	struct rule wanted = must_parse("rule any limit 9/s", &on_xdp);
	char line[64];

	assert_null(policy_find(&policy, &wanted));
	for (unsigned int i = 0; i < 1000; i++) {
		snprintf(line, sizeof(line), "rule 10.0.%u.%u deny", i * 7 % 10, i * 37 % 100);
		put(&policy, line);
	}
	put(&policy, "rule any limit 5/s");
	put(&policy, "rule any limit 6/s");
	for (size_t i = 1; i < policy.count; i++)
		assert_true(rule_compare(&policy.rules[i - 1], &policy.rules[i]) < 0);
	assert_non_null(policy_find(&policy, &wanted));
	assert_int_equal(policy_find(&policy, &wanted)->limit.amount, 6);
	wanted = must_parse("rule any limit 9/s per flow", &on_xdp);
	assert_null(policy_find(&policy, &wanted));
}

TEST(remove_test)
{
	static const struct {
		const char *words;
		size_t removed;
	} rows[] = {
		{"10.0.0.2", 0},
		{"any tcp", 0},
		{"any udp", 1},
		{"any deny", 0},
		{"any allow", 1},
		{"any limit 99/s", 1},
		{"any limit 99/s", 0},
		{"any limit 99gbit over count", 1},
		{"any", 2},
		{"10.0.0.1", 2},
		{"device limit 1/s over ban 1h", 1}, /* which no statement may say */
	};
	CLEARED_POLICY struct policy policy = {0};

	put(&policy, "rule any allow");
	put(&policy, "rule any udp deny");
	put(&policy, "rule any limit 1/s");
	put(&policy, "rule any limit 1/s per flow");
	put(&policy, "rule any limit 1/s per rule");
	put(&policy, "rule any limit 1mbit");
	put(&policy, "rule 10.0.0.1 deny");
	put(&policy, "rule 10.0.0.1 limit 1/s");
	put(&policy, "rule device limit 1/s");
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_int_equal(remove_selected(&policy, rows[i].words), rows[i].removed);
	assert_int_equal(policy.count, 0);
}

TEST(selector_test)
{
	struct policy_error err;
	struct rule rule;
	char text[RULE_TEXT_MAX];

	assert_int_equal(selector_parse("10.0.0.0/8 tcp", &on_xdp, &rule, &err), 0);
	assert_int_equal(rule.action, RL_ACTION_COUNT);
	rule_print(text, sizeof(text), &rule, &on_xdp);
	assert_string_equal(text, "rule 10.0.0.0/8 tcp");
	assert_int_equal(selector_parse("any deny for 1h", &on_xdp, &rule, &err), 0);
	assert_int_equal(rule.action, RL_ACTION_DENY);
	assert_int_equal(
		selector_parse("any limit 1/s over ban 1h source", &on_egress, &rule, &err), 0);
	assert_int_equal(rule.limit.ban_source, 1);
}

/* `syn` and `tcp syn` are one rule, for what replaces it and for what names it. */
TEST(syn_test)
{
	static const char text[] = "rule any syn limit 9/s\nrule any tcp syn limit 5/s\n"
				   "rule 192.0.2.1 syn deny\nrule 192.0.2.1 tcp syn allow\n";
	struct policy policy = {0}, replaced = {0};
	struct policy_errors errors;
	struct policy_error err;
	struct rule selector;
	size_t count;

	assert_int_equal(policy_parse(text, strlen(text), &on_xdp, &replaced, &policy, &errors), 0);
	assert_int_equal(replaced.count, 2 * 2);
	policy_clear(&replaced);
	assert_int_equal(policy.count, 2);
	assert_int_equal(policy.rules[0].limit.amount, 5);
	assert_int_equal(policy.rules[1].action, RL_ACTION_ALLOW);
	assert_int_equal(selector_parse("any syn", &on_xdp, &selector, &err), 0);
	assert_ptr_equal(policy_select(&policy, &selector, &count), &policy.rules[0]);
	policy_clear(&policy);
}

/* ---- differences */

static const struct diff_row {
	const char *from, *to;
	const char *said; /* `-rule` and `+rule`, with ';' behind each */
} diff_rows[] = {
	{"", "", ""},
	{"rule any deny", "rule any deny", ""},
	{"", "rule any deny", "+any deny;"},
	{"rule any deny", "", "-any deny;"},
	{"rule any deny", "rule any allow", "-any deny;+any allow;"},
	{"rule any deny", "rule any udp deny", "-any deny;+any udp deny;"},
	{"rule any limit 9/s", "rule any limit 9/s burst 6",
	 "-any limit 9/second burst 5;"
	 "+any limit 9/second burst 6;"},
	{"rule any limit 60/m", "rule any limit 60/m per source", ""},
	{"rule any limit 9/s keep 1 for @a", "rule any limit 9/s keep 1 for @a", ""},
	{"rule any limit 9/s keep 1 for @a", "rule any limit 9/s keep 1 for @b",
	 "-any limit 9/second burst 5 keep 1 for @a;+any limit 9/second burst 5 keep 1 for @b;"},
	{"rule any limit 9/s", "rule any limit 9/s per dest",
	 "-any limit 9/second burst 5;+any limit 9/second burst 5 per dest;"},
	{"rule any deny # a", "rule any deny # b", "-any deny # a;+any deny # b;"},
	{"rule any deny # a", "rule any deny", "-any deny # a;+any deny;"},
	{"rule any deny for 60s", "rule any deny for 58s", ""},
	{"rule any deny for 60s", "rule any deny for 57s", "-any deny for 1m;+any deny for 57s;"},
	{"rule any deny for 1s", "rule any deny", "-any deny for 1s;+any deny;"},
	{"rule any deny", "rule any deny for 1s", "-any deny;+any deny for 1s;"},
	{"rule 10.0.0.1 deny;rule 10.0.0.3 deny;rule 10.0.0.4 deny",
	 "rule any deny;rule 10.0.0.2 deny;rule 10.0.0.3 deny;rule 10.0.0.4 allow",
	 "+any deny;-10.0.0.1 deny;+10.0.0.2 deny;-10.0.0.4 deny;+10.0.0.4 allow;"},
};

/* Statements apart by ';'. */
static struct policy policy_of(const char *text)
{
	struct policy policy = {0};
	char *lines = strdup(text), *rest = lines;

	assert_non_null(lines);
	for (char *line; (line = strsep(&rest, ";"));) {
		struct rule rule = {0};

		if (!*line)
			continue;
		rule = must_parse(line, &on_xdp);
		assert_int_equal(policy_put(&policy, &rule), 0);
	}
	free(lines);
	return policy;
}

static void diff_say(const struct rule *from, const struct rule *to, void *arg)
{
	char line[STATEMENT_TEXT_MAX], *said = arg;

	if (from) {
		statement_format(line, from, &on_xdp);
		sprintf(said + strlen(said), "-%s;", line);
	}
	if (to) {
		statement_format(line, to, &on_xdp);
		sprintf(said + strlen(said), "+%s;", line);
	}
}

TEST(diff_test)
{
	for (size_t i = 0; i < ARRAY_SIZE(diff_rows); i++) {
		CLEARED_POLICY struct policy from = policy_of(diff_rows[i].from);
		CLEARED_POLICY struct policy to = policy_of(diff_rows[i].to);
		char said[8 * STATEMENT_TEXT_MAX] = "";
		size_t count = policy_diff(&from, &to, diff_say, said);

		assert_string_equal(said, diff_rows[i].said);
		assert_int_equal(count > 0, *said != '\0');
	}
}

/* ---- warnings */

#define FORGED     "a single packet with a forged"
#define UNLIMITED  "passes without any limit"
#define LEAVING    "UDP is established only if its socket is"
#define CLIENTS    "servers of this machine get no new clients"
#define PATH_MTU   "path MTU discovery fails"
#define ADD_SYN    "those of open connections too: add syn"
#define QUERIES    "write udp dport 53"
#define DENIES_ALL "denies every packet that no other rule allows"
#define LOWER      "one source can use up this limit of all"
#define INNOCENT   "innocent sources"
#define TEN        "characters"

static const struct warn_row {
	const char *line;
	const char *said[2];
} warn_rows[] = {
	{"rule any filter \"tcp[13] = 3\" deny", {"match no IPv6: write flags or payload"}},
	{"rule ::/0 not filter \"udp[8] = 4\" allow", {"match no IPv6"}},
	{"rule 0.0.0.0/0 filter \"tcp[13] = 3\" deny", {NULL}},
	{"rule any filter \"udp[8] = 4\" allow", {NULL}},
	{"rule any filter \"tcp[13] = 3 or ip6[53] = 3\" deny", {NULL}},
	{"rule any allow # " TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN, {NULL}},
	{"rule any allow # " TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN ".",
	 {"longer than 120 bytes"}},
	{"rule any limit 1kbyte/s burst 80007bit", {"not a whole number of bytes"}},
	{"rule any limit leaky-bucket 1kbyte/s queue 80001bit", {"not a whole number of bytes"}},
	{"rule any limit 1kbyte/s burst 80008bit", {NULL}},
	{"rule any limit 1kbyte/s burst 80007byte", {NULL}},
	{"rule any limit 80kbit burst 80007bit", {NULL}},
	{"rule any limit 9/s over ban 1h", {FORGED}},
	{"rule any tcp syn limit 9/s over ban 1h", {FORGED}},
	{"rule any tcp dport 22 syn limit sliding-log 6/minute over ban 1h source", {FORGED}},
	{"rule any udp dport 53 limit 9/s over ban 1h", {FORGED}},
	{"rule any icmp limit 9/s over ban 1h", {FORGED}},
	{"rule 2001:db8::/32 icmp6 limit 9/s over ban 1h", {FORGED}},
	{"rule any proto 89 limit 9/s over ban 1h", {FORGED}},
	{"rule any fragment limit 9/s over ban 1h", {FORGED}},
	{"rule 192.0.2.7 udp limit 9/s over ban 1h", {FORGED}},
	{"rule any tcp limit 900/s over ban 1h", {NULL}},
	{"rule any tcp dport 25 limit 900/s over ban 1h source", {NULL}},
	{"rule any tcp syn limit 9/s over drop", {NULL}},
	{"rule any udp limit 9/s over count", {NULL}},
	{"rule any udp deny", {NULL}},
	{"rule any deny", {DENIES_ALL}},
	{"rule 0.0.0.0/0 deny", {DENIES_ALL}},
	{"rule any limit 9/s\nrule 10.0.0.0/8 deny", {NULL}},
	{"rule device limit 9/s\nrule any limit 99/s", {LOWER}},
	{"rule device limit 9/s\nrule any limit 599/minute", {LOWER}},
	{"rule device limit 9/s\nrule any udp limit 99/s", {LOWER}},
	{"rule device udp limit 9/s\nrule any udp dport 53 limit 99/s", {LOWER}},
	{"rule device limit 9/s\nrule any limit 540/minute", {NULL}},
	{"rule device limit 9/s\nrule any limit 9/s", {NULL}},
	{"rule device udp limit 9/s\nrule any limit 99/s", {NULL}},
	{"rule device limit 9mbit\nrule any limit 99/s", {NULL}},
	{"rule device limit 9/s over count\nrule any limit 99/s", {NULL}},
	{"rule device new-source limit 9/s\nrule any limit 99/s", {NULL}},
	{"rule device limit 9/s per source\nrule any limit 99/s", {NULL}},
	{"rule device limit 9/s\nrule any limit 99/s per rule", {NULL}},
	{"rule device limit 9/s share\nrule any limit 99/s", {NULL}},
	{"rule device limit 9/s\nrule any limit 99/s share per source", {NULL}},
	{"rule device limit 9/s keep 1 for known\nrule any limit 99/s", {LOWER}},
	{"rule device udp limit 9/s over ban 1h source", {INNOCENT, FORGED}},
	{"rule device tcp limit 9/s over ban 1h source", {INNOCENT}},
	{"rule device tcp limit 9/s per source over ban 1h source", {NULL}},
	{"rule any tcp limit 9/s per rule over ban 1h source", {INNOCENT}},
	{"rule any tcp limit 9/s per source/0,64 over ban 1h source", {INNOCENT}},
	{"rule 192.0.2.0/24 tcp limit 9/s per source/24,0 over ban 1h source", {NULL}},
	{"rule 2001:db8::/32 tcp limit 9/s per source/0,64 over ban 1h source", {NULL}},
	{"rule any tcp limit 9/s per dest over ban 1h source", {INNOCENT}},
	{"rule any tcp limit 9/s per dest over ban 1h", {NULL}},
	{"rule 192.0.2.7 tcp limit 9/s per rule over ban 1h source", {NULL}},
	{"rule 192.0.2.7 tcp limit 9/s per rule over ban 1h", {NULL}},
	{"rule 2001:db8::/64 tcp limit 9/s per rule over ban 1h", {NULL}},
	{"rule any established allow", {UNLIMITED}},
	{"rule 192.0.2.7 tcp dport 22 established allow", {UNLIMITED}},
	{"rule any established limit 9/s per flow", {NULL}},
	{"rule any not established allow", {NULL}},
	{"rule any not established deny", {CLIENTS}},
	{"rule any tcp dport 22 not established deny", {CLIENTS}},
	{"rule any udp not established deny", {CLIENTS}},
	{"rule any udp sport 53 not established deny", {NULL}},
	{"rule any tcp syn not established deny", {NULL}},
	{"rule any gre not established deny", {NULL}},
	{"rule any fragment not established deny", {NULL}},
	{"rule any icmp not established deny", {PATH_MTU}},
	{"rule any icmp6 not established deny", {PATH_MTU}},
	{"rule any not established limit 9/s", {NULL}},
	{"rule any limit 9/s over drop unless established", {NULL}},
	{"rule any tcp syn limit 9/s over challenge", {NULL}},
	{"rule any tcp limit 9/s over challenge", {ADD_SYN}},
	{"rule device limit 9/s over challenge", {ADD_SYN}},
	{"rule any udp dport 53 limit 9/s over truncate", {NULL}},
	{"rule any udp limit 9/s over truncate", {QUERIES}},
	{"rule any dport 53 limit 9/s over truncate", {QUERIES}},
};

struct warnings {
	const struct warn_row *row;
	size_t count;
};

static void warning_note(const struct rule *rule, const char *text, void *arg)
{
	struct warnings *warnings = arg;
	const char *wanted = warnings->count < 2 ? warnings->row->said[warnings->count] : NULL;

	assert_int_equal(rule->line, 2);
	if (!wanted || !strstr(text, wanted))
		fail_msg("%s: said: %s", warnings->row->line, text);
	warnings->count++;
}

static size_t warnings_count(const struct warn_row *row, const struct policy_context *ctx)
{
	struct warnings warnings = {.row = row};
	CLEARED_POLICY struct policy policy;
	char text[RULE_TEXT_MAX];

	snprintf(text, sizeof(text), "rule 192.0.2.99 deny\n%s\n", row->line);
	policy = must_parse_lines(text, ctx);
	policy_warn(&policy, ctx, warning_note, &warnings);
	return warnings.count;
}

TEST(warn_test)
{
	for (size_t i = 0; i < ARRAY_SIZE(warn_rows); i++) {
		const struct warn_row *row = &warn_rows[i];

		print_message("# %s\n", row->line);
		assert_int_equal(warnings_count(row, &on_xdp), !!row->said[0] + !!row->said[1]);
	}
}

/* Where the rules' prefixes are destinations, all senders send to an address of ours. */
TEST(warn_by_dest_test)
{
	static const struct warn_row row = {
		"rule 192.0.2.7 tcp limit 9/s per rule over ban 1h source", {INNOCENT}};
	static const struct policy_context by_dest = {.mtu = 1500, .by_dest = true};

	assert_int_equal(warnings_count(&row, &by_dest), 1);
}

/* At egress, where this machine sends. */
TEST(warn_leaving_test)
{
	static const struct warn_row told[] = {
		{"rule any established limit 9/s", {LEAVING}},
		{"rule any limit 9/s over drop unless established", {LEAVING}},
		{"rule any icmp not established limit 9/s", {LEAVING}},
	};
	static const struct warn_row silent[] = {
		{"rule any tcp established limit 9/s", {NULL}},
		{"rule any gre not established limit 9/s", {NULL}},
		{"rule any limit 9/s", {NULL}},
	};

	for (size_t i = 0; i < ARRAY_SIZE(told); i++)
		assert_int_equal(warnings_count(&told[i], &on_egress), 1);
	for (size_t i = 0; i < ARRAY_SIZE(silent); i++)
		assert_int_equal(warnings_count(&silent[i], &on_egress), 0);
}
