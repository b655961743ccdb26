// SPDX-License-Identifier: GPL-2.0-only
/* Policies from text to compiled, and compiled to text. */
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "compile_helpers.h"
#include "policy_helpers.h"

typedef unsigned __int128 u128;

const struct compile_context roomy = {
	.rules_max = 1000,
	.prefixes_max = 1000,
	.slots_max = 2000,
	.batches_max = 2000,
	.tick_ns = 4 * NS_PER_MS,
	.cpus = 1,
	.possible_cpus = 1,
	.log_max = RL_SLIDING_LOG_MAX,
	.now_ns = 2 * NS_PER_HOUR,
	.text = &on_xdp,
};

struct policy must_parse_policy(const char *text)
{
	struct policy_errors errors;
	struct policy policy = {0};
	char *lines = strdup(text);

	assert_non_null(lines);
	for (char *c = lines; *c; c++)
		if (*c == ';')
			*c = '\n';
	if (policy_parse(lines, strlen(lines), &on_xdp, NULL, &policy, &errors))
		fail_msg("%s\n%u:%u: %s", text, errors.first[0].line, errors.first[0].column,
			 errors.first[0].text);
	free(lines);
	return policy;
}

void must_compile(struct policy *next, const struct force *force, bool keep, struct compiled *out)
{
	struct policy_errors errors;

	if (policy_compile(next, &force->policy, &force->header, keep, &force->ctx, out, &errors))
		fail_msg("line %u: %s", errors.first[0].line, errors.first[0].text);
	assert_layout(out, &force->ctx);
}

/* Comments are found by their ids, as in the map of an instance. */
static void comments_back(const struct policy *written, struct policy *back)
{
	policy_for_each (back, rule)
		for (size_t i = 0; rule->comment_id && i < written->count; i++)
			if (written->rules[i].comment_id == rule->comment_id)
				memcpy(rule->comment, written->rules[i].comment,
				       sizeof(rule->comment));
}

void force_put(struct force *force, const char *text, bool keep)
{
	struct policy next = must_parse_policy(text), back = {0};
	CLEARED_COMPILED struct compiled compiled;

	must_compile(&next, force, keep, &compiled);
	assert_int_equal(policy_decompile(&compiled, &force->ctx, &back), 0);
	comments_back(&next, &back);
	policy_clear(&next);
	policy_clear(&force->policy);
	force->policy = back;
	force->header = compiled.header;
}

void force_clear(struct force *force)
{
	policy_clear(&force->policy);
}

const struct rule *force_find(const struct force *force, const char *line)
{
	struct rule identity = must_parse(line, &on_xdp);
	const struct rule *rule = policy_find(&force->policy, &identity);

	if (!rule)
		fail_msg("not in force: %s", line);
	return rule;
}

/* Ranges follow one another in any order; together they hold everything that was compiled. */
static void assert_range(const struct compiled *compiled, const struct rl_range *range,
			 uint32_t base, unsigned char *seen)
{
	const struct rl_index_entry *root = NULL;
	uint32_t first, count;

	if (range->match_mode == RL_MATCH_MODE_INDEXED) {
		assert_int_equal(range->count, 1);
		assert_true(range->first < compiled->index.count);
		root = &compiled->index.entries[range->first];
	}
	assert_true(range_extent(range, root, &first, &count));
	assert_int_equal(count > RL_GROUP_MAX, root != NULL);
	for (uint32_t i = 0; i < count; i++) {
		uint32_t at = first + i - base;

		assert_true(at < compiled->rule_count);
		assert_false(seen[at]);
		seen[at] = 1;
	}
}

/* rlctl-policy(5): is the limit's memory as long as 16 ticks? For a warm-up, each packet of which
 * waits for a tick, an interval as long as 128. */
static enum rl_clock clock_wanted(const struct rl_limit *limit, uint64_t tick_ns)
{
	u128 least = (u128)16 * tick_ns, period = limit->period_ns;

	switch (limit->algorithm) {
	case RL_TOKEN_BUCKET:
	case RL_LEAKY_BUCKET:
	case RL_WARM_UP:
		return period * limit->size >= least * limit->amount ? RL_CLOCK_TICK
								     : RL_CLOCK_PRECISE;
	case RL_SLIDING_WINDOW:
		return period >= least * limit->slots ? RL_CLOCK_TICK : RL_CLOCK_PRECISE;
	case RL_FIXED_WINDOW:
		return period >= least ? RL_CLOCK_TICK : RL_CLOCK_PRECISE;
	default:
		return RL_CLOCK_PRECISE;
	}
}

/* Is cost / 2^shift that part of the period, rounded? */
static bool is_part(u128 cost, uint32_t shift, u128 period, uint64_t amount)
{
	u128 all = period << RL_GRAIN_SHIFT << shift, sum = cost * amount;

	return (sum > all ? sum - all : all - sum) <= amount;
}

/* The numbers match the limit: the cost of one packet or byte, or how many fit into a window. */
static void assert_numbers(const struct rl_rule *rule, const struct compile_context *ctx)
{
	const struct rl_limit *limit = &rule->limit;
	uint64_t bits = limit->unit == RL_BITS ? 8 : 1;

	assert_int_equal(rule->clock, clock_wanted(limit, ctx->tick_ns));
	assert_true(rule->batch == 0 || ctx->cpus > 1);
	switch (limit->algorithm) {
	case RL_TOKEN_BUCKET:
	case RL_LEAKY_BUCKET:
		assert_true(is_part(rule->gcra.cost, rule->gcra.cost_shift,
				    (u128)limit->period_ns * bits, limit->amount));
		return;
	case RL_WARM_UP:
		assert_true(is_part(rule->warm_up.stable, 0, limit->period_ns, limit->amount));
		assert_true(rule->warm_up.burst >= rule->warm_up.stable * limit->cold);
		return;
	default:
		assert_true(rule->window.amount == limit->amount / bits);
		assert_true(rule->window.period_ns == limit->period_ns);
	}
}

void assert_layout(const struct compiled *compiled, const struct compile_context *ctx)
{
	uint32_t base = compiled->header.rules_begin;
	unsigned char *seen = calloc(compiled->rule_count + 1, 1);

	assert_non_null(seen);
	assert_true(compiled->header.half <= 1);
	assert_true(!base || base == ctx->rules_max);
	assert_int_equal(compiled->header.rules, compiled->rule_count);
	assert_true(compiled->header.rules <= ctx->rules_max);
	assert_int_equal(compiled->header.prefixes, compiled->prefix_count);
	assert_true(compiled->header.prefixes <= ctx->prefixes_max);
	assert_range(compiled, &compiled->header.any, base, seen);
	assert_range(compiled, &compiled->header.device, base, seen);
	for (uint32_t i = 0; i < compiled->prefix_count; i++) {
		const struct compiled_prefix *prefix = &compiled->prefixes[i];
		const struct rl_policy_header *header = &compiled->header;

		assert_int_equal(prefix->value.len, prefix->key.len);
		assert_true(prefix->key.len >=
			    (prefix->key.family == 4 ? header->shortest4 : header->shortest6));
		assert_range(compiled, &prefix->value.range, base, seen);
	}
	for (uint32_t i = 0; compiled->groups && i < RL_SETS_MAX; i++) {
		assert_true(!compiled->groups->range[i].count ||
			    compiled->groups->prefixes >> i & 1);
		assert_range(compiled, &compiled->groups->range[i], base, seen);
	}
	for (uint32_t i = 0; i < compiled->header.alarms.count; i++)
		assert_int_equal(seen[compiled->header.alarms.first - base + i]++, 0);
	for (uint32_t i = 0; i < compiled->header.known_by.count; i++)
		assert_int_equal(seen[compiled->header.known_by.first - base + i]++, 0);
	assert_null(memchr(seen, 0, compiled->rule_count));
	for (uint32_t i = 0; i < compiled->rule_count; i++) {
		const struct rl_rule *rule = &compiled->rules[i];

		assert_true(rule->counter_id < ctx->slots_max);
		assert_int_equal(rule->action == RL_ACTION_LIMIT, rule->limit_id != 0);
		if (rule->action == RL_ACTION_LIMIT)
			assert_numbers(rule, ctx);
	}
	free(seen);
}

/* ---- text */

__attribute__((format(printf, 2, 3))) static void say(char *out, const char *format, ...)
{
	size_t used = strlen(out);
	va_list args;

	va_start(args, format);
	vsnprintf(out + used, DUMP_MAX - used, format, args);
	va_end(args);
}

static void say_group(char *out, const struct compiled *compiled, const struct rl_range *range)
{
	static const char *const names[] = {"allow", "deny", "limit"};
	uint32_t first = range->first - compiled->header.rules_begin;

	for (uint32_t i = 0; i < range->count; i++)
		say(out, "%s%s", i ? " " : "[", names[compiled->rules[first + i].action]);
	say(out, "]");
}

static void say_prefix(char *out, const struct compiled *compiled,
		       const struct compiled_prefix *prefix)
{
	uint8_t len = prefix->key.len - RL_FAMILY_BITS;
	char text[PREFIX_TEXT_MAX];

	prefix_print(text, sizeof(text), prefix->key.addr, len);
	assert_int_equal(prefix->key.family, prefix_is_ipv4(prefix->key.addr, len) ? 4 : 6);
	say(out, "%s%s", *out ? " " : "", text);
	if (prefix->value.range.count)
		say_group(out, compiled, &prefix->value.range);
	else
		say(out, " %s", prefix->value.action == RL_ACTION_ALLOW ? "allow" : "deny");
}

void compiled_dump(const struct compiled *compiled, char out[DUMP_MAX])
{
	out[0] = '\0';
	if (compiled->header.device.count) {
		say(out, "device");
		say_group(out, compiled, &compiled->header.device);
	}
	if (compiled->header.any.count) {
		say(out, "%sany", *out ? " " : "");
		say_group(out, compiled, &compiled->header.any);
	}
	for (uint32_t i = 0; i < compiled->header.prefixes; i++)
		say_prefix(out, compiled, &compiled->prefixes[i]);
}

int compile_first(const char *text, const struct compile_context *ctx, struct policy *policy,
		  struct compiled *out, struct policy_errors *errors)
{
	const struct rl_policy_header header = {0};
	const struct policy none = {0};

	*policy = must_parse_policy(text);
	return policy_compile(policy, &none, &header, false, ctx, out, errors);
}
