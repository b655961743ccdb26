// SPDX-License-Identifier: GPL-2.0-only
/* From a policy to map entries and back: groups, plain verdicts, parents; policies that do not fit.
 * test_compile_swap.c tests the state that a rule keeps across swaps, test_numbers.c its numbers.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "compile_helpers.h"
#include "policy/sets/set.h"
#include "policy_helpers.h"
#include "turns.h"

/* ---- what becomes of a policy */

static const struct layout_row {
	const char *name, *policy, *dump;
} layouts[] = {
	{"nothing", "", ""},
	{"any deny", "rule any deny", "any[deny]"},
	{"device deny", "rule device udp deny", "device[deny]"},
	{"any and device", "rule any limit 9/s; rule device limit 99/s",
	 "device[limit] any[limit]"},
	{"a plain deny", "rule 203.0.113.7 deny", "203.0.113.7 deny"},
	{"a plain allow", "rule 2001:db8::/32 allow", "2001:db8::/32 allow"},
	{"a lone limit is a group", "rule 203.0.113.7 limit 9/s", "203.0.113.7[limit]"},
	{"a lone deny with a match is a group", "rule 203.0.113.7 udp deny", "203.0.113.7[deny]"},
	{"deny beside a match is a group", "rule 10.0.0.0/8 deny; rule 10.0.0.0/8 tcp allow",
	 "10.0.0.0/8[allow deny]"},
	{"allow, deny, limit, as written",
	 "rule any tcp allow; rule any udp deny; rule any limit 9/s", "any[allow deny limit]"},
	{"allow, deny, limit, written the other way",
	 "rule any limit 9/s; rule any udp deny; rule any tcp allow", "any[allow deny limit]"},
	{"allow, deny, limit, mixed",
	 "rule any udp deny; rule any limit 9/s; rule any syn allow; rule any limit 1mbit; "
	 "rule any gre deny; rule any tcp allow",
	 "any[allow allow deny deny limit limit]"},
	{"eight",
	 "rule any proto 0 deny; rule any proto 1 deny; rule any proto 2 deny; rule any "
	 "proto 3 deny; rule any proto 4 deny; rule any proto 5 deny; rule any proto 6 "
	 "deny; rule any proto 7 deny",
	 "any[deny deny deny deny deny deny deny deny]"},
	{"side by side", "rule 10.0.0.0/8 deny; rule 11.0.0.0/8 deny",
	 "10.0.0.0/8 deny 11.0.0.0/8 deny"},
	{"one inside the other", "rule 10.1.0.0/16 allow; rule 10.0.0.0/8 deny",
	 "10.0.0.0/8 deny 10.1.0.0/16 allow"},
	{"three inside one another",
	 "rule 10.0.0.0/8 deny; rule 10.1.0.0/16 allow; rule 10.1.2.0/24 deny",
	 "10.0.0.0/8 deny 10.1.0.0/16 allow 10.1.2.0/24 deny"},
	{"back to the outer one",
	 "rule 10.0.0.0/8 deny; rule 10.1.0.0/16 deny; rule 10.1.2.3 deny; rule 10.2.0.0/16 deny; "
	 "rule 12.0.0.0/8 deny",
	 "10.0.0.0/8 deny 10.1.0.0/16 deny 10.1.2.3 deny 10.2.0.0/16 deny 12.0.0.0/8 deny"},
	{"all IPv4 around", "rule 0.0.0.0/0 limit 9/s; rule 10.1.2.3 deny",
	 "0.0.0.0/0[limit] 10.1.2.3 deny"},
	{"all IPv6 around", "rule ::/0 limit 9/s; rule 2001:db8::1 deny",
	 "::/0[limit] 2001:db8::1 deny"},
	{"all IPv6 is not around IPv4", "rule ::/0 deny; rule 10.0.0.0/8 deny",
	 "10.0.0.0/8 deny ::/0 deny"},
	{"nor is what lies around the mapped range",
	 "rule ::/0 deny; rule ::/80 deny; rule 0.0.0.0/0 deny; rule 10.0.0.0/8 deny",
	 "0.0.0.0/0 deny 10.0.0.0/8 deny ::/0 deny ::/80 deny"},
	{"the same bits, both families", "rule 0.0.0.0/0 deny; rule ::/96 deny; rule ::/0 allow",
	 "0.0.0.0/0 deny ::/0 allow ::/96 deny"},
	{"the last address", "rule 255.255.255.255 deny; rule 255.255.255.254/31 allow",
	 "255.255.255.254/31 allow 255.255.255.255 deny"},
	{"the first address", "rule 0.0.0.0 deny; rule 0.0.0.0/0 allow; rule 0.0.0.0/1 deny",
	 "0.0.0.0/0 allow 0.0.0.0/1 deny 0.0.0.0 deny"},
};

ROWS(layout_test, layouts, row)
{
	struct force force = {.ctx = roomy};
	CLEARED_POLICY struct policy policy = must_parse_policy(row->policy);
	struct compiled compiled;
	char dump[DUMP_MAX];

	for (uint32_t generation = 0; generation < 3; generation++) {
		must_compile(&policy, &force, false, &compiled);
		compiled_dump(&compiled, dump);
		assert_string_equal(dump, row->dump);
		assert_true(compiled.header.generation == generation + 1);
		assert_true(compiled.header.half == !force.header.half);
		force.header = compiled.header;
		compiled_clear(&compiled);
	}
}

/* ---- there and back */

static void assert_same_policy(const struct policy *a, const struct policy *b)
{
	assert_int_equal(a->count, b->count);
	assert_int_equal(policy_sets_diff(a, b, NULL, NULL), 0);
	for (size_t i = 0; i < a->count; i++) {
		struct rule expected = a->rules[i], *found = &b->rules[i];

		assert_int_equal(expected.kind, found->kind);
		assert_int_equal(expected.action, found->action);
		assert_int_equal(expected.len, found->len);
		assert_memory_equal(expected.addr, found->addr, sizeof(expected.addr));
		assert_string_equal(expected.set, found->set);
		assert_ptr_equal(expected.extra, found->extra);
		assert_memory_equal(&expected.match, &found->match, sizeof(expected.match));
		assert_memory_equal(&expected.limit, &found->limit, sizeof(expected.limit));
		assert_true(expected.for_ns == found->for_ns);
		assert_true(expected.expires_ns == found->expires_ns);
		assert_int_equal(expected.counter_id, found->counter_id);
		assert_int_equal(expected.limit_id, found->limit_id);
	}
}

/* Has no prefix so many limits that one packet might meet too many? Those of a prefix stand side by
 * side, and an address may be in all sets besides. */
static bool limits_fit(const struct policy *policy)
{
	size_t limits = 0, of_sets = 0, most = 0;

	policy_for_each (policy, rule) {
		limits = rule > policy->rules && same_prefix(rule - 1, rule) ? limits : 0;
		limits += rule->action == RL_ACTION_LIMIT;
		if (rule->kind == PREFIX_SET)
			of_sets += rule->action == RL_ACTION_LIMIT;
		else if (rule->kind == PREFIX_ADDR && limits)
			most = limits > most ? limits : most;
		if (limits > RL_GROUP_MAX)
			return false;
	}
	return most + of_sets <= RL_GROUP_MAX;
}

static struct policy random_policy(void)
{
	size_t most = 1 + random_below(25);
	struct policy policy = must_parse_policy(
		"set bad file /x every 1h # y;set worse max 9;"
		"alarm attack when udp over 99/s for 1s until under 50/s for 1s;"
		"alarm busy when src @bad over 9mbit for 1s until under 1mbit for 9s # z");
	char line[RULE_TEXT_MAX];

	while (policy.count < most) {
		struct rule rule;

		random_rule(line, &on_xdp);
		rule = must_parse(line, &on_xdp);
		assert_int_equal(policy_put(&policy, &rule), 0);
	}
	return policy;
}

TEST(identity_test)
{
	unsigned int compiled_count = 0;

	random_start(20240612);
	for (unsigned int i = 0; i < TURNS(20000); i++) {
		struct policy policy = random_policy(), back = {0}, none = {0};
		struct rl_policy_header header = {.half = random_below(2),
						  .rules_begin = random_below(2) * roomy.rules_max,
						  .generation = i};
		CLEARED_COMPILED struct compiled compiled = {0};
		struct policy_errors errors;
		int ret =
			policy_compile(&policy, &none, &header, false, &roomy, &compiled, &errors);

		if (ret || limits_fit(&policy))
			assert_int_equal(ret, limits_fit(&policy) ? 0 : -E2BIG);
		if (!ret) {
			assert_layout(&compiled, &roomy);
			assert_int_equal(policy_decompile(&compiled, &roomy, &back), 0);
			assert_same_policy(&policy, &back);
			compiled_count++;
		}
		policy_clear(&policy);
		policy_clear(&back);
	}
	assert_true(compiled_count > TURNS(10000));
}

/* Inconsistent maps are not decompiled to a policy. */
TEST(bad_maps_test)
{
	struct policy policy = must_parse_policy("rule 10.0.0.0/8 limit 9/s; rule any udp deny");
	struct force force = {.ctx = roomy};
	struct policy out = {0};
	CLEARED_COMPILED struct compiled good;

	must_compile(&policy, &force, false, &good);
	struct rl_range *const ranges[] = {&good.header.any, &good.prefixes[0].value.range};
	for (size_t i = 0; i < ARRAY_SIZE(ranges); i++) {
		static const struct rl_range wrong[] = {
			{.first = 0, .count = 1},    {.first = 999, .count = 1},
			{.first = 1002, .count = 1}, {.first = 1000, .count = 3},
			{.first = 1001, .count = 2}, {.first = 1000, .count = 9},
			{.first = -1u, .count = 2},
		};
		struct rl_range right = *ranges[i];

		for (size_t k = 0; k < ARRAY_SIZE(wrong); k++) {
			*ranges[i] = wrong[k];
			assert_int_equal(policy_decompile(&good, &roomy, &out), -EBADMSG);
			assert_null(out.rules);
		}
		*ranges[i] = right;
	}
	good.prefixes[0].key.len = RL_FAMILY_BITS - 1;
	assert_int_equal(policy_decompile(&good, &roomy, &out), -EBADMSG);
	good.prefixes[0].key.len = RL_FAMILY_BITS + 129;
	assert_int_equal(policy_decompile(&good, &roomy, &out), -EBADMSG);
	policy_clear(&policy);
}

/* ---- what does not fit */

/* `count` times the line, %u counting from 0. */
static char *repeat(const char *line, unsigned int count)
{
	char *text = calloc(count + 1, 128);

	assert_non_null(text);
	for (unsigned int i = 0; i < count; i++) {
		size_t used = strlen(text);

		snprintf(text + used, 127, line, i);
		text[strlen(text)] = '\n'; /* calloc: a terminator follows */
	}
	return text;
}

/* Prefixes inside one another, the shortest first: IPv4 /1 to /32, and 33 of IPv6. */
static char *nest(unsigned int family, unsigned int count)
{
	char *text = calloc(count + 1, 128);

	assert_non_null(text);
	for (unsigned int i = 0; i < count; i++) {
		size_t used = strlen(text);

		snprintf(text + used, 128, "rule %s/%u deny\n",
			 family == 4 ? "0.0.0.0" : "2000::", i + (family == 4 ? 0 : 3));
	}
	return text;
}

static int compile_text(const char *text, const struct compile_context *ctx,
			struct policy_errors *errors)
{
	const struct rl_policy_header header = {0};
	struct policy policy = must_parse_policy(text), none = {0};
	CLEARED_COMPILED struct compiled compiled = {0};
	int ret = policy_compile(&policy, &none, &header, false, ctx, &compiled, errors);

	if (ret)
		assert_null(compiled.rules);
	else
		assert_layout(&compiled, ctx);
	policy_clear(&policy);
	return ret;
}

static const struct fit_row {
	const char *name, *line; /* repeated; NULL: nested prefixes of the family */
	unsigned int family, fits;
	struct compile_context ctx; /* 0: roomy's */
	unsigned int refused_line;  /* 0: the error names no line */
	const char *says;
} fits[] = {
	{"rules of any",
	 "rule any dport %u deny",
	 0,
	 1024,
	 {.rules_max = 2000},
	 1025,
	 "too many rules for one prefix"},
	{"rules of device",
	 "rule device sport %u deny",
	 0,
	 1024,
	 {.rules_max = 2000},
	 1025,
	 "for one prefix (at most 1024)"},
	{"rules of a prefix",
	 "rule 10.0.0.1 dport %u deny",
	 0,
	 1024,
	 {.rules_max = 2000},
	 1025,
	 "10.0.0.1 dport 1024 deny"},
	{"limits that one packet meets",
	 "rule any dport 0-%u limit 9/s",
	 0,
	 8,
	 {0},
	 1,
	 "rule any dport 0 limit 9/second burst 5: a packet of \"tcp dport 0\" would meet this limit "
	 "and 8 others of its prefix (at most 8): remove one, or narrow their matches"},
	{"nested IPv4 prefixes", NULL, 4, 32, {0}, 0, "too many nested prefixes (at most 32)"},
	{"nested IPv6 prefixes", NULL, 6, 32, {0}, 0, "too many nested prefixes (at most 32)"},
	{"prefixes", "rule 10.0.0.%u deny", 0, 5, {.prefixes_max = 5}, 6, "--prefixes"},
	{"rules",
	 "rule 10.0.0.%u limit 9/s",
	 0,
	 7,
	 {.rules_max = 7},
	 8,
	 "(at most 7): detach, then attach with --prefixes N, which makes room for N of them, up to 131072"},
	{"rules of one group", "rule any proto %u deny", 0, 3, {.rules_max = 3}, 1, "(at most 3)"},
	{"slots", "rule 10.0.0.%u deny", 0, 6, {.slots_max = 6}, 7, "--prefixes"},
};

ROWS(fit_test, fits, row)
{
	struct compile_context ctx = roomy;

	ctx.rules_max = row->ctx.rules_max ? row->ctx.rules_max : ctx.rules_max;
	ctx.prefixes_max = row->ctx.prefixes_max ? row->ctx.prefixes_max : ctx.prefixes_max;
	ctx.slots_max = row->ctx.slots_max ? row->ctx.slots_max : ctx.slots_max;
	for (unsigned int more = 0; more < 2; more++) {
		unsigned int count = row->fits + more;
		char *text = row->line ? repeat(row->line, count) : nest(row->family, count);
		struct policy_errors errors;

		assert_int_equal(compile_text(text, &ctx, &errors), more ? -E2BIG : 0);
		free(text);
		if (!more)
			continue;
		assert_int_equal(errors.first[0].line, row->refused_line);
		if (!strstr(errors.first[0].text, row->says))
			fail_msg("\"%s\" does not say \"%s\"", errors.first[0].text, row->says);
	}
}

/* No option makes room for more than RULES_MAX. */
TEST(rules_max_test)
{
	struct compile_context ctx = roomy;
	struct policy_errors errors;
	char *text = NULL;
	size_t size;
	FILE *file = open_memstream(&text, &size);

	assert_non_null(file);
	for (unsigned int i = 0; i <= RULES_MAX; i++)
		fprintf(file, "rule 10.%u.%u.%u limit 9/s\n", i >> 16, i >> 8 & 255, i & 255);
	assert_int_equal(fclose(file), 0);
	ctx.rules_max = RULES_MAX;
	ctx.prefixes_max = ctx.slots_max = 2 * RULES_MAX;
	assert_int_equal(compile_text(text, &ctx, &errors), -E2BIG);
	assert_non_null(strstr(errors.first[0].text, "(at most 131072): remove some"));
	free(text);
}

/* With room for more rules than one prefix may have. */
static struct compile_context spacious(void)
{
	struct compile_context ctx = roomy;

	ctx.rules_max = ctx.prefixes_max = 4000;
	ctx.slots_max = 8000;
	return ctx;
}

/* The rules that are too many: those after the 1024th by line; in a change of single rules the new
 * one. */
TEST(one_too_many_test)
{
	char *lines = repeat("rule any dport 2%03u deny", 1000),
	     *last = repeat("rule any sport 2%03u deny", 24);
	struct force force = {.ctx = spacious()};
	struct compiled compiled = {0};
	struct policy_errors errors;
	struct policy next;
	char *text = NULL, *full = NULL;

	assert_true(asprintf(&full, "%s%s", lines, last) > 0);
	assert_true(asprintf(&text, "%srule any dport 1 deny; rule any dport 10 deny", full) > 0);
	next = must_parse_policy(text);
	assert_int_equal(compile_text(text, &force.ctx, &errors), -E2BIG);
	assert_int_equal(errors.count, 2);
	assert_int_equal(errors.first[0].line, 1025);
	assert_non_null(strstr(errors.first[0].text, "rule any dport 1 deny: too many"));
	assert_int_equal(errors.first[1].line, 1026);
	assert_non_null(strstr(errors.first[1].text, "rule any dport 10 deny: too many"));
	force_put(&force, full, false);
	policy_for_each (&next, rule)
		if (rule->match.dport_first == 10) {
			assert_int_equal(policy_remove(&next, rule), 1);
			break;
		}
	policy_for_each (&next, rule)
		rule->line = 0;
	assert_int_equal(policy_compile(&next, &force.policy, &force.header, false, &force.ctx,
					&compiled, &errors),
			 -E2BIG);
	assert_int_equal(errors.first[0].line, 0);
	assert_non_null(strstr(errors.first[0].text, "rule any dport 1 deny: too many"));
	policy_clear(&next);
	force_clear(&force);
	free(text);
	free(full);
	free(last);
	free(lines);
}

/* Many more are refused as one too many is. */
TEST(crowd_test)
{
	char *text = repeat("rule any dport %u limit 5/second", 2000);
	struct compile_context ctx = spacious();
	struct policy_errors errors;

	assert_int_equal(compile_text(text, &ctx, &errors), -E2BIG);
	assert_int_equal(errors.count, 2000 - RL_INDEXED_MAX);
	assert_int_equal(errors.first[0].line, RL_INDEXED_MAX + 1);
	free(text);
}

/* Every rule that this instance cannot hold is named, by line; nothing of the policy is compiled.
 */
TEST(many_unfit_test)
{
	static const struct {
		uint32_t line;
		const char *says;
	} wanted[] = {
		{1, "10.0.0.0/8 limit sliding-log 100/second: too many packets"},
		{2, "fixed-window 1000/100ms fleet: fixed-window with fleet has too short"},
		{1028, "too many rules for one prefix (at most 1024)"},
	};
	char *text, begin[] = "rule 10.0.0.0/8 limit sliding-log 100/second\n"
			      "rule any limit fixed-window 1000/100ms fleet\n"
			      "rule 10.0.0.0/8 limit 1mbit\n";
	char *crowd = repeat("rule 2001:db8::/32 tcp dport %u deny", 1025);
	struct compile_context ctx = spacious();
	struct policy_errors errors;

	ctx.log_max = 64;
	assert_true(asprintf(&text, "%s%s", begin, crowd) > 0);
	free(crowd);
	assert_int_equal(compile_text(text, &ctx, &errors), -EOPNOTSUPP);
	assert_int_equal(errors.count, ARRAY_SIZE(wanted));
	for (size_t i = 0; i < ARRAY_SIZE(wanted); i++) {
		assert_int_equal(errors.first[i].line, wanted[i].line);
		if (!strstr(errors.first[i].text, wanted[i].says))
			fail_msg("\"%s\" does not say \"%s\"", errors.first[i].text,
				 wanted[i].says);
	}
	free(text);
}

/* ---- rules of older versions */

/* Bans that no statement may express any more, in force since an older version: they are read,
 * printed and kept when another rule is added. */
TEST(old_bans_test)
{
	static const char *const lines[] = {
		"rule device limit 10/second burst 5 over ban 1h",
		"rule any udp limit 10/second burst 5 per rule over ban 1h",
		"rule any limit 10/second burst 5 over ban 1h source",
	};
	CLEARED_POLICY struct policy policy = {0}, back = {0};
	struct force force = {.ctx = roomy};
	struct policy_error err;
	CLEARED_COMPILED struct compiled compiled;
	char text[RULE_TEXT_MAX];

	force.ctx.text = &on_egress;
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		struct rule rule;
		bool found;

		assert_int_equal(statement_parse(lines[i], &on_egress, &rule, &found, &err),
				 -EINVAL);
		assert_int_equal(selector_parse(strchr(lines[i], ' ') + 1, &on_egress, &rule, &err),
				 0);
		assert_int_equal(policy_put(&policy, &rule), 0);
	}
	must_compile(&policy, &force, false, &compiled);
	assert_int_equal(policy_decompile(&compiled, &force.ctx, &back), 0);
	assert_same_policy(&policy, &back);
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		rule_print(text, sizeof(text), &back.rules[i], &on_egress);
		assert_string_equal(text, lines[i == 0 ? 0 : 3 - i]);
	}
}

/* ---- the maps for states that a policy needs */

static const struct uses_row {
	const char *name, *policy;
	bool hot; /* is there a hot table? */
	uint64_t uses;
} uses_rows[] = {
	{"hot: a bucket of a flow needs no LRU", "rule any limit 9/s per flow", true, RL_USE_HOT},
	{"hot: a bucket of a source", "rule any limit 9/s", true, RL_USE_HOT},
	{"hot: of a prefix", "rule 10.0.0.0/8 limit 9/s", true, RL_USE_HOT | RL_USE_PREFIXES},
	{"hot: a prefix without limits", "rule 10.0.0.0/8 deny", true, RL_USE_PREFIXES},
	{"hot: a window of a flow", "rule any limit fixed-window 9/s per flow", true,
	 RL_USE_HOT | RL_USE_FLOWS},
	{"hot: a window of a source", "rule any limit fixed-window 9/s", true,
	 RL_USE_HOT | RL_USE_SOURCES},
	{"hot: a window of a rule", "rule any limit fixed-window 9/s per rule", true, 0},
	{"hot: both", "rule any limit 9/s per flow; rule any limit fixed-window 9/s per flow", true,
	 RL_USE_HOT | RL_USE_FLOWS},
	{"hot: a sliding window of a flow", "rule any limit sliding-window 9/s per flow", true,
	 RL_USE_HOT | RL_USE_WINDOWS},
	{"hot: a sliding log", "rule any limit sliding-log 9/s", true, RL_USE_HOT | RL_USE_LOGS},
	{"hot: a bucket of a rule", "rule any limit 9/s per rule", true, RL_USE_SHARED},
	{"hot: a bucket of the device", "rule device limit 9/s", true, RL_USE_SHARED},
	{"hot: shared among sources", "rule device limit 9/s share per source", true, RL_USE_HOT},
	{"hot: shared among classes", "rule device limit 9/s share", true, RL_USE_HOT},
	{"hot: a fleet's bucket of a flow", "rule any limit 9/s per flow fleet", true,
	 RL_USE_FLOWS},
	{"no hot table: a bucket of a flow", "rule any limit 9/s per flow", false, RL_USE_FLOWS},
	{"no hot table: a bucket of a source", "rule any limit 9/s", false, RL_USE_SOURCES},
	{"no hot table: a bucket of the device", "rule device limit 9/s", false, RL_USE_SHARED},
};

ROWS(uses_test, uses_rows, row)
{
	const uint64_t asked =
		RL_USE_FLOWS | RL_USE_WINDOWS | RL_USE_LOGS | RL_USE_SHARED | RL_USE_TABLES;
	struct force force = {.ctx = roomy};
	CLEARED_POLICY struct policy policy = must_parse_policy(row->policy);
	CLEARED_COMPILED struct compiled compiled;

	force.ctx.hot = row->hot;
	must_compile(&policy, &force, false, &compiled);
	assert_int_equal(compiled.header.uses & asked, row->uses);
}
