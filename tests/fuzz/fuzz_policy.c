// SPDX-License-Identifier: GPL-2.0-only
/* The policy language. A policy that parses prints, and its printed text parses to the same policy,
 * also by way of the map entries; one that does not parse has an error with a column inside its
 * line. The first byte selects the kind of instance for the policy.
 */
#include "fuzz.h"

#include <errno.h>

#include "base/services.h"
#include "base/units.h"
#include "compile/compile.h"
#include "policy/lint/lint.h"
#include "policy/policy.h"
#include "policy/sets/set.h"

static const struct policy_context contexts[] = {
	{.mtu = 1500},
	{.mtu = 1500, .tc = true},
	{.mtu = 1500, .tc = true, .by_dest = true, .leaving = true},
	{.mtu = 9000},
};

/* In place of /etc/services. */
int service_port(const char *name, const char *protocol, uint16_t *out)
{
	bool tcp = !strcmp(protocol, "tcp"), udp = !strcmp(protocol, "udp");

	if (!strcmp(name, "http") && tcp)
		*out = 80;
	else if (!strcmp(name, "domain") && (tcp || udp))
		*out = 53;
	else if (!strcmp(name, "syslog") && (tcp || udp))
		*out = tcp ? 601 : 514;
	else
		return -ENOENT;
	return 0;
}

static size_t line_length(const char *text, size_t size, uint32_t number)
{
	const char *end = text + size, *newline;

	while ((newline = memchr(text, '\n', end - text)) && --number)
		text = newline + 1;
	require(newline || number <= 1);
	return (newline ? newline : end) - text;
}

static void error_check(const struct policy_error *err, const char *text, size_t size)
{
	require(err->line >= 1);
	require(err->column >= 1);
	require(err->column <= line_length(text, size, err->line) + 1);
	require(fuzz_is_plain(err->text));
	require(strlen(err->text) + 1 < sizeof(err->text)); /* nothing was cut off */
}

static void errors_check(const struct policy_errors *errors, const char *text, size_t size)
{
	require(errors->count);
	for (size_t i = 0; i < policy_errors_kept(errors); i++) {
		error_check(&errors->first[i], text, size);
		/* One line may name several unknown sets. */
		require(!i || errors->first[i - 1].line <= errors->first[i].line);
		require(errors->first[i].other < errors->first[i].line);
	}
}

static void line_write(const char *line, void *file)
{
	for (const char *c = line; *c; c++)
		require((unsigned char)*c >= ' ');
	fprintf(file, "%s\n", line);
}

/* Returns the policy as text, to be freed. The remaining life of a rule is printed in whole
 * seconds. */
static char *policy_text(const struct policy *policy, const struct policy_context *ctx)
{
	char *text = NULL;
	size_t size;
	FILE *file = open_memstream(&text, &size);

	require(file);
	policy_for_each (policy, rule) {
		char line[STATEMENT_TEXT_MAX];
		int len = rule_print(line, sizeof(line), rule, ctx);

		require(len > 0 && len < RULE_TEXT_MAX && (size_t)len == strlen(line));
		require(fuzz_is_plain(line));
	}
	policy_lines(policy, ctx, line_write, file);
	require(!fclose(file));
	return text;
}

static uint64_t seconds_left(const struct rule *rule)
{
	uint64_t seconds = rule->for_ns / NS_PER_SECOND + !!(rule->for_ns % NS_PER_SECOND);
	uint64_t most = DURATION_MAX_NS / NS_PER_SECOND;

	return seconds < most ? seconds : most;
}

static void same_check(const struct policy *a, const struct policy *b)
{
	require(a->count == b->count);
	require(!policy_sets_diff(a, b, NULL, NULL));
	for (size_t i = 0; i < a->count; i++) {
		const struct rule *left = &a->rules[i], *right = &b->rules[i];

		require(!rule_compare(left, right));
		require(left->action == right->action);
		require(!memcmp(&left->match, &right->match, sizeof(left->match)));
		require(left->extra == right->extra); /* one copy of each */
		require(!memcmp(&left->limit, &right->limit, sizeof(left->limit)));
		require(seconds_left(left) == seconds_left(right));
	}
}

static void warning_check(const struct rule *rule, const char *text, void *arg)
{
	const struct policy *policy = arg;

	require(rule >= policy->rules && rule < policy->rules + policy->count);
	require(rule->limit.ban_ns || rule->comment_cut || rule->size_cut ||
		rule->match.flags & (RL_MATCH_ESTABLISHED | RL_MATCH_FILTER) ||
		rule->limit.over >= RL_OVER_UNLESS || rule->kind == PREFIX_DEVICE ||
		(rule->action == RL_ACTION_DENY && !rule->match.flags));
	require(fuzz_is_plain(text));
}

static bool is_set_line(const struct policy *policy, uint32_t line)
{
	for (size_t i = 0; i < policy->set_count; i++)
		if (policy->sets[i].line == line)
			return true;
	return false;
}

static void lint_check(const struct rule *rule, const char *text, void *arg)
{
	const struct policy *policy = arg;

	require(!rule || is_set_line(policy, rule->line) ||
		(policy->count && rule >= policy->rules && rule < policy->rules + policy->count));
	require(fuzz_is_plain(text));
}

static void print_check(const struct policy *policy, const struct policy_context *ctx)
{
	char *text = policy_text(policy, ctx), *again;
	struct policy_errors errors;
	struct policy second = {0};

	require(!policy_parse(text, strlen(text), ctx, NULL, &second, &errors));
	same_check(policy, &second);
	for (size_t i = 0; i < second.count; i++)
		require(!strcmp(policy->rules[i].comment, second.rules[i].comment));
	again = policy_text(&second, ctx);
	require(!strcmp(text, again));
	free(again);
	free(text);
	policy_clear(&second);
}

/* The map entries decompile to the same policy. */
static void compile_check(struct policy *policy, const struct policy_context *ctx)
{
	const struct compile_context context = {
		.rules_max = 64,
		.prefixes_max = 64,
		.slots_max = 128,
		.tick_ns = 4 * NS_PER_MS,
		.cpus = 2,
		.possible_cpus = 2,
		.hot = true,
		.hook = !ctx->tc       ? RL_HOOK_XDP
			: ctx->leaving ? RL_HOOK_EGRESS
				       : RL_HOOK_INGRESS,
		.log_max = RL_SLIDING_LOG_MAX,
		.now_ns = NS_PER_DAY,
		.text = ctx,
	};
	const struct rl_policy_header nothing = {.next_limit_id = 1};
	const struct policy empty = {0};
	struct compiled compiled = {0};
	struct policy_errors errors;
	struct policy back = {0};

	if (policy_compile(policy, &empty, &nothing, false, &context, &compiled, &errors)) {
		require(errors.count);
		for (size_t i = 0; i < policy_errors_kept(&errors); i++)
			require(fuzz_is_plain(errors.first[i].text));
	} else {
		require(!policy_decompile(&compiled, &context, &back));
		same_check(policy, &back);
	}
	compiled_clear(&compiled);
	policy_clear(&back);
}

/* One statement by itself, as the command line has it. */
static void selector_check(const char *text, const struct policy_context *ctx)
{
	struct policy_error err = {0};
	struct rule rule;

	if (selector_parse(text, ctx, &rule, &err)) {
		require(err.column >= 1 && err.column <= strlen(text) + 1);
		require(fuzz_is_plain(err.text));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct policy_context *ctx;
	static const struct policy_source source = {.name = "policy"};
	struct policy policy = {0}, replaced = {0};
	struct policy_errors errors;
	char *text, *words;

	if (!size)
		return 0;
	ctx = &contexts[data[0] % ARRAY_COUNT(contexts)];
	text = (char *)fuzz_copy(data + 1, size - 1);
	words = fuzz_string(data + 1, size - 1);
	if (policy_parse(text, size - 1, ctx, &replaced, &policy, &errors)) {
		errors_check(&errors, text, size - 1);
	} else {
		print_check(&policy, ctx);
		policy_warn(&policy, ctx, warning_check, &policy);
		compile_check(&policy, ctx);
		require(!policy_lint(&policy, ctx, &source, lint_check, &policy));
	}
	selector_check(words, ctx);
	policy_clear(&replaced);
	policy_clear(&policy);
	extra_forget();
	free(words);
	free(text);
	return 0;
}
