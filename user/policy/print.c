// SPDX-License-Identifier: GPL-2.0-only
/* Model to text: one canonical line per rule, which the parser reads back as the same rule. */
#include <inttypes.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <string.h>

#include "base/units.h"
#include "policy/field.h"
#include "policy/key.h"
#include "policy/names.h"
#include "policy/policy.h"

struct writer {
	char *buf;
	size_t size;
	size_t used; /* as snprintf counts: includes what did not fit */
};

__attribute__((format(printf, 2, 3))) static void put(struct writer *w, const char *format, ...)
{
	size_t left = w->used < w->size ? w->size - w->used : 0;
	va_list args;
	int len;

	va_start(args, format);
	len = vsnprintf(left ? w->buf + w->used : NULL, left, format, args);
	va_end(args);
	w->used += len > 0 ? (size_t)len : 0;
}

int limit_size_print(char *buf, size_t size, const struct rl_limit *limit, uint64_t amount)
{
	if (!limit->size_other || (limit->unit == RL_BITS && amount % 8))
		return amount_print(buf, size, amount, limit->unit);
	if (limit->unit == RL_BITS)
		return amount_print(buf, size, amount / 8, RL_BYTES);
	return amount_print(buf, size, amount * 8, RL_BITS);
}

static void put_amount(struct writer *w, const char *word, const struct rl_limit *limit,
		       uint64_t amount)
{
	char text[QUANTITY_TEXT_MAX];

	limit_size_print(text, sizeof(text), limit, amount);
	put(w, "%s%s", word, text);
}

static void put_duration(struct writer *w, const char *word, uint64_t ns)
{
	char text[QUANTITY_TEXT_MAX];

	duration_print(text, sizeof(text), ns);
	put(w, "%s%s", word, text);
}

static void put_range(struct writer *w, const char *word, uint32_t first, uint32_t last)
{
	put(w, "%s%u", word, first);
	if (last != first)
		put(w, "-%u", last);
}

static void put_flags(struct writer *w, const char *word, uint8_t flags)
{
	put(w, "%s%s", word, flags ? "" : "none");
	for (unsigned int bit = 0; bit < 8; bit++)
		if (flags >> bit & 1)
			put(w, "%s%s", flags & ((1u << bit) - 1) ? "," : "", tcp_flag_name(bit));
}

static void put_named(struct writer *w, const char *word, const char *name, unsigned int number)
{
	if (name)
		put(w, "%s%s", word, name);
	else
		put(w, "%s%u", word, number);
}

static void put_bytes(struct writer *w, const char *word, const uint8_t *bytes, uint32_t count)
{
	put(w, "%s", word);
	for (uint32_t i = 0; i < count; i++)
		put(w, "%02x", bytes[i]);
}

static void put_payload(struct writer *w, const struct rl_extra *extra)
{
	bool whole = true;

	for (uint32_t i = 0; i < extra->payload_len; i++)
		whole &= extra->payload_mask[i] == 0xff;
	put(w, "%u", extra->payload_at);
	put_bytes(w, " ", extra->payload, extra->payload_len);
	if (!whole)
		put_bytes(w, "/", extra->payload_mask, extra->payload_len);
}

static void put_end(struct writer *w, const struct rule *rule, bool src)
{
	const struct match *match = &rule->match;
	char text[PREFIX_TEXT_MAX];

	if (match_names_set(match, src ? RL_MATCH_SRC : RL_MATCH_DST))
		return put(w, "@%s", src ? rule->extra->src_set : rule->extra->dst_set);
	prefix_print(text, sizeof(text), src ? match->src : match->dst,
		     src ? match->src_len : match->dst_len);
	put(w, "%s", text);
}

static void put_numbers(struct writer *w, const struct rule *rule, const struct field *field)
{
	struct rl_numbers numbers = rule->extra->number[field->number];
	uint8_t type = numbers.first >> 8;

	switch (field->kind) {
	case FIELD_FLAGS:
		put_flags(w, "", numbers.first);
		if (numbers.last != field->max)
			put_flags(w, "/", numbers.last);
		return;
	case FIELD_DSCP:
		return put_named(w, "", dscp_name(numbers.first), numbers.first);
	case FIELD_ICMP:
		put_named(w, "", icmp_type_name(type, match_is_proto(&rule->match, IPPROTO_ICMPV6)),
			  type);
		if (numbers.first == numbers.last)
			put(w, " code %u", numbers.first & UINT8_MAX);
		return;
	default:
		put_range(w, "", numbers.first, numbers.last);
	}
}

static void put_argument(struct writer *w, const struct rule *rule, enum rl_field number)
{
	struct rl_port_range ports[RL_PORT_RANGES_MAX];
	const struct field *field = &all_fields[number];
	uint32_t count;

	if (field->kind != FIELD_FACT)
		put(w, " ");
	switch (field->kind) {
	case FIELD_FACT:
		return;
	case FIELD_PROTOCOL:
		return put(w, "%u", rule->match.proto);
	case FIELD_PORTS:
		count = rule_ports(rule, 1u << number, ports);
		for (uint32_t i = 0; i < count; i++)
			put_range(w, i ? "," : "", ports[i].first, ports[i].last);
		return;
	case FIELD_ADDRESS:
		return put_end(w, rule, number == RL_FIELD_SRC);
	case FIELD_PAYLOAD:
		return put_payload(w, rule->extra);
	case FIELD_FILTER:
		return put(w, "\"%s\"", rule->extra->filter);
	default:
		put_numbers(w, rule, field);
	}
}

static void put_match(struct writer *w, const struct rule *rule)
{
	const struct protocol *known = protocol_by_number(rule->match.proto);

	for (size_t i = 0; i < RL_FIELD_COUNT; i++) {
		enum rl_match_flag flag = fields_in_order[i];

		if (!(rule->match.flags & flag))
			continue;
		if (rule->match.negated & flag)
			put(w, " not");
		if (flag == RL_MATCH_PROTO && known) {
			put(w, " %s", known->name);
			continue;
		}
		put(w, " %s", all_fields[field_of(flag)].word);
		put_argument(w, rule, field_of(flag));
	}
}

static void put_algorithm(struct writer *w, const struct rl_limit *limit)
{
	char rate[QUANTITY_TEXT_MAX];

	if (limit->unit == RL_CONNECTIONS)
		return put(w, " %" PRIu64 " connection%s", (uint64_t)limit->amount,
			   limit->amount == 1 ? "" : "s");
	if (limit->algorithm != RL_TOKEN_BUCKET)
		put(w, " %s", algorithm_words[limit->algorithm]);
	rate_print(rate, sizeof(rate), limit->amount, limit->period_ns, limit->unit);
	put(w, " %s", rate);
	if (limit->algorithm == RL_TOKEN_BUCKET)
		put_amount(w, " burst ", limit, limit->size);
	if (limit->algorithm == RL_LEAKY_BUCKET && limit->queue_ns)
		put_duration(w, " queue ", limit->queue_ns);
	else if (limit->algorithm == RL_LEAKY_BUCKET)
		put_amount(w, " queue ", limit, limit->size);
	if (limit->algorithm == RL_SLIDING_WINDOW)
		put(w, " slots %u", limit->slots);
	if (limit->algorithm == RL_WARM_UP) {
		put_duration(w, " ramp ", limit->ramp_ns);
		put(w, " cold %u", limit->cold);
		if (limit->size != limit->cold + 1)
			put_amount(w, " burst ", limit, limit->size);
	}
}

static void put_parts(struct writer *w, const struct rule *rule)
{
	const struct rl_limit *limit = &rule->limit;

	if (limit->share[0])
		put(w, " share");
	if (limit->share[0] &&
	    (limit->share[0] != SHARE_ESTABLISHED || limit->share[1] != SHARE_KNOWN))
		put(w, " %u/%u/%u", limit->share[0], limit->share[1],
		    100 - limit->share[0] - limit->share[1]);
	if (!limit->keep_for)
		return;
	put_amount(w, " keep ", limit, limit->keep);
	put(w, " for %s%s", rule->keep_set[0] ? "@" : keep_words[limit->keep_for - 1],
	    rule->keep_set);
}

static void put_over(struct writer *w, const struct rl_limit *limit)
{
	if (limit->over == RL_OVER_DROP)
		return;
	put(w, " over %s", over_words[limit->over]);
	if (limit->over == RL_OVER_BAN)
		put_duration(w, " ", limit->ban_ns);
	if (limit->over == RL_OVER_BAN && limit->ban_source)
		put(w, " source");
	if (limit->over == RL_OVER_MARK)
		put(w, " %u", limit->mark);
}

_Static_assert(PREFIX_TEXT_MAX > RL_SET_NAME_MAX + 1, "room for @NAME");

void rule_prefix_print(char buf[PREFIX_TEXT_MAX], const struct rule *rule)
{
	if (rule->kind == PREFIX_ADDR)
		prefix_print(buf, PREFIX_TEXT_MAX, rule->addr, rule->len);
	else
		snprintf(buf, PREFIX_TEXT_MAX, "%s%s",
			 rule->kind == PREFIX_SET ? "@" : prefix_words[rule->kind], rule->set);
}

/* Without the word "rule". */
static void put_rule(struct writer *w, const struct rule *rule, const struct policy_context *ctx)
{
	char prefix[PREFIX_TEXT_MAX], key[KEY_WORD_MAX];
	uint64_t seconds = rule->for_ns / NS_PER_SECOND + !!(rule->for_ns % NS_PER_SECOND);
	uint64_t most = DURATION_MAX_NS / NS_PER_SECOND;
	bool off;
	const char *alarm = rule_while(rule, &off);

	rule_prefix_print(prefix, rule);
	put(w, "%s", prefix);
	put_match(w, rule);
	if (rule->action < RL_ACTION_COUNT)
		put(w, " %s", action_words[rule->action]);
	if (rule->action == RL_ACTION_LIMIT) {
		put_algorithm(w, &rule->limit);
		put_parts(w, rule);
		if (rule->limit.key != rule_default_key(rule, ctx) ||
		    !key_has_usual_lengths(&rule->limit)) {
			key_word(key, &rule->limit);
			put(w, " per %s", key);
		}
		put_over(w, &rule->limit);
		if (rule->limit.fleet)
			put(w, " fleet");
	}
	/* Whole seconds, rounded up, so that a remaining lifetime is never printed as 0; at most
	 * what the parser accepts. */
	if (rule->for_ns)
		put_duration(w, " for ", (seconds < most ? seconds : most) * NS_PER_SECOND);
	if (alarm[0])
		put(w, " while %s%s", off ? "not " : "", alarm);
}

int rule_print(char *buf, size_t size, const struct rule *rule, const struct policy_context *ctx)
{
	struct writer w = {.buf = buf, .size = size};

	put(&w, "rule ");
	put_rule(&w, rule, ctx);
	return (int)w.used;
}

void rule_format(char buf[RULE_TEXT_MAX], const struct rule *rule, const struct policy_context *ctx)
{
	put_rule(&(struct writer){.buf = buf, .size = RULE_TEXT_MAX}, rule, ctx);
}

void rule_format_lasting(char buf[RULE_TEXT_MAX], const struct rule *rule,
			 const struct policy_context *ctx)
{
	struct rule lasting = *rule;

	lasting.for_ns = 0;
	rule_format(buf, &lasting, ctx);
}

static void put_statement(char buf[STATEMENT_TEXT_MAX], const char *word, const struct rule *rule,
			  const struct policy_context *ctx)
{
	struct writer w = {.buf = buf, .size = STATEMENT_TEXT_MAX};

	put(&w, "%s", word);
	put_rule(&w, rule, ctx);
	if (rule->comment[0])
		put(&w, " # %s", rule->comment);
}

void statement_print(char buf[STATEMENT_TEXT_MAX], const struct rule *rule,
		     const struct policy_context *ctx)
{
	put_statement(buf, "rule ", rule, ctx);
}

void statement_format(char buf[STATEMENT_TEXT_MAX], const struct rule *rule,
		      const struct policy_context *ctx)
{
	put_statement(buf, "", rule, ctx);
}
