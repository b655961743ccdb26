// SPDX-License-Identifier: GPL-2.0-only
/* Parsing that must succeed, and the round trip: the printed text parses to the same rule. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/services.h"
#include "base/units.h"
#include "policy/alarm.h"
#include "policy/sets/set.h"
#include "policy_helpers.h"

const struct policy_context on_xdp = {.mtu = 1500};
const struct policy_context on_tc = {.mtu = 1500, .tc = true};
const struct policy_context on_tc_for_xdp = {.mtu = 1500, .tc = true, .at_xdp = true};
const struct policy_context on_egress = {.mtu = 1500, .tc = true, .by_dest = true, .leaving = true};
const struct policy_context on_jumbo = {.mtu = 9000};

/* In place of /etc/services, so that no test depends on it. */
int service_port(const char *name, const char *protocol, uint16_t *out)
{
	static const struct {
		const char *name, *protocol;
		uint16_t port;
	} services[] = {
		{"domain", "tcp", 53},     {"domain", "udp", 53},     {"http", "tcp", 80},
		{"http-alt", "tcp", 8080}, {"http-alt", "udp", 8080}, {"ntp", "udp", 123},
		{"m3ua", "sctp", 2905},    {"torn", "tcp", 601},      {"torn", "udp", 514},
	};

	for (size_t i = 0; i < ARRAY_SIZE(services); i++)
		if (!strcmp(name, services[i].name) && !strcmp(protocol, services[i].protocol)) {
			*out = services[i].port;
			return 0;
		}
	return -ENOENT;
}

static void assert_same_rule(const struct rule *a, const struct rule *b)
{
	uint64_t most = DURATION_MAX_NS / NS_PER_SECOND;
	uint64_t left = a->for_ns / NS_PER_SECOND + !!(a->for_ns % NS_PER_SECOND);

	assert_int_equal(a->kind, b->kind);
	assert_int_equal(a->action, b->action);
	assert_int_equal(a->len, b->len);
	assert_string_equal(a->set, b->set);
	assert_string_equal(a->keep_set, b->keep_set);
	assert_memory_equal(a->addr, b->addr, sizeof(a->addr));
	assert_memory_equal(&a->match, &b->match, sizeof(a->match));
	assert_ptr_equal(a->extra, b->extra);
	assert_memory_equal(&a->limit, &b->limit, sizeof(a->limit));
	assert_true((left < most ? left : most) * NS_PER_SECOND == b->for_ns);
	assert_int_equal(rule_compare(a, b), 0);
}

struct rule must_parse(const char *line, const struct policy_context *ctx)
{
	struct policy_error err = {0};
	struct rule rule;
	bool found = false;

	if (statement_parse(line, ctx, &rule, &found, &err))
		fail_msg("%s\n%u: %s", line, err.column, err.text);
	assert_true(found);
	return rule;
}

struct policy must_parse_lines(const char *text, const struct policy_context *ctx)
{
	struct policy policy = {0};
	struct policy_errors errors;

	if (policy_parse(text, strlen(text), ctx, NULL, &policy, &errors))
		fail_msg("%s\n%u:%u: %s", text, errors.first[0].line, errors.first[0].column,
			 errors.first[0].text);
	return policy;
}

static void line_append(const char *line, void *arg)
{
	char *text = arg;

	assert_true(strlen(text) + strlen(line) + 2 < 65536);
	sprintf(text + strlen(text), "%s\n", line);
}

void must_fail(const char *text, const struct policy_context *ctx, struct policy_errors *errors)
{
	struct policy policy = {0};

	if (policy_parse(text, strlen(text), ctx, NULL, &policy, errors) != -EINVAL)
		fail_msg("%s is accepted", text);
	assert_null(policy.rules);
	assert_null(policy.sets);
	assert_null(policy.alarms);
	for (size_t i = 0; i < policy_errors_kept(errors); i++)
		for (const char *c = errors->first[i].text; *c; c++)
			assert_in_range(*c, ' ', '~');
}

void must_fail_each(const struct refusal *rows, size_t count)
{
	for (const struct refusal *row = rows; row < rows + count; row++) {
		struct policy_errors errors;
		const struct policy_error *err = &errors.first[0];

		must_fail(row->text, &on_xdp, &errors);
		if (errors.count != 1 || err->line != row->line || err->column != row->column ||
		    err->other != row->other || !strstr(err->text, row->said))
			fail_msg("%s\n%zu errors, %u:%u, other %u: %s", row->text, errors.count,
				 err->line, err->column, err->other, err->text);
	}
}

char *must_print(const struct policy *policy, const struct policy_context *ctx)
{
	char *text = calloc(1, 65536);

	assert_non_null(text);
	policy_lines(policy, ctx, line_append, text);
	return text;
}

size_t must_round_trip(const char *text, const char *canonical, const struct policy_context *ctx)
{
	CLEARED_POLICY struct policy policy = must_parse_lines(text, ctx), again;
	char *first = must_print(&policy, ctx), *second;

	if (canonical && strcmp(first, canonical) != 0)
		fail_msg("is\n%swanted\n%s", first, canonical);
	again = must_parse_lines(first, ctx);
	second = must_print(&again, ctx);
	assert_string_equal(first, second);
	if (canonical)
		assert_int_equal(policy_diff(&policy, &again, NULL, NULL), 0);
	assert_int_equal(policy_sets_diff(&policy, &again, NULL, NULL), 0);
	assert_int_equal(policy_alarms_diff(&policy, &again, NULL, NULL), 0);
	free(second);
	free(first);
	return again.alarm_count;
}

/* The comment is UTF-8 without control characters, and stays what it is. */
static void comment_round_trip(const struct rule *rule, const struct policy_context *ctx)
{
	char line[STATEMENT_TEXT_MAX];
	struct rule again;

	assert_true(strlen(rule->comment) <= RL_COMMENT_MAX);
	for (const char *c = rule->comment; *c; c++)
		assert_true((unsigned char)*c >= ' ' && *c != 0x7f);
	assert_true(mbstowcs(NULL, rule->comment, 0) != (size_t)-1);
	statement_print(line, rule, ctx);
	again = must_parse(line, ctx);
	assert_string_equal(again.comment, rule->comment);
	assert_false(again.comment_cut);
}

void round_trip(const char *line, const struct policy_context *ctx, char printed[RULE_TEXT_MAX])
{
	struct rule first = must_parse(line, ctx), second;
	char again[RULE_TEXT_MAX];
	int len = rule_print(printed, RULE_TEXT_MAX, &first, ctx);

	assert_int_equal(len, strlen(printed));
	second = must_parse(printed, ctx);
	assert_same_rule(&first, &second);
	rule_print(again, sizeof(again), &second, ctx);
	assert_string_equal(printed, again);
	assert_string_equal(second.comment, "");
	comment_round_trip(&first, ctx);
}
