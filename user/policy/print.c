// SPDX-License-Identifier: GPL-2.0-only
/* Model to text: one canonical line per rule, which the parser reads back as the same rule. */
#include <netinet/in.h>
#include <stdarg.h>
#include <string.h>

#include "base/units.h"
#include "policy/extra_names.h"
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

static void put_prefix(struct writer *w, const char *word, const uint8_t addr[16], uint8_t len)
{
	char text[PREFIX_TEXT_MAX];

	prefix_print(text, sizeof(text), addr, len);
	put(w, "%s%s", word, text);
}

int limit_size_print(char *buf, size_t size, const struct rl_limit *limit, uint64_t amount)
{
	if (!limit->size_other)
		return amount_print(buf, size, amount, limit->unit);
	if (limit->unit == RL_BITS)
		return amount_print(buf, size, amount / 8, RL_BYTES);
	return amount_print(buf, size, amount * 8, RL_BITS);
}

static void put_amount(struct writer *w, const char *word, const struct rl_limit *limit)
{
	char text[QUANTITY_TEXT_MAX];

	limit_size_print(text, sizeof(text), limit, limit->size);
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

static void put_ports(struct writer *w, const char *word, const struct rl_port_range *ranges,
		      uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		put_range(w, i ? "," : word, ranges[i].first, ranges[i].last);
}

static void put_protocol(struct writer *w, uint8_t proto)
{
	const struct protocol *known = protocol_by_number(proto);

	if (known)
		put(w, " %s", known->name);
	else
		put(w, " proto %u", proto);
}

static void put_flags(struct writer *w, const char *word, uint8_t flags)
{
	put(w, "%s%s", word, flags ? "" : "none");
	for (unsigned int bit = 0; bit < 8; bit++)
		if (flags >> bit & 1)
			put(w, "%s%s", flags & ((1u << bit) - 1) ? "," : "", tcp_flag_name(bit));
}

static void put_tcp_flags(struct writer *w, const struct rl_extra *extra)
{
	put_flags(w, " flags ", extra->tcp_flags);
	if (extra->tcp_mask != 0xff)
		put_flags(w, "/", extra->tcp_mask);
}

static void put_named(struct writer *w, const char *word, const char *name, unsigned int number)
{
	if (name)
		put(w, "%s%s", word, name);
	else
		put(w, "%s%u", word, number);
}

static void put_icmp_type(struct writer *w, const struct rule *rule)
{
	const struct rl_extra *extra = rule->extra;
	bool ipv6 = match_is_proto(&rule->match, IPPROTO_ICMPV6);

	put_named(w, " icmp-type ", icmp_type_name(extra->icmp_type, ipv6), extra->icmp_type);
	if (extra->icmp_has_code)
		put(w, " code %u", extra->icmp_code);
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
	put(w, " payload %u", extra->payload_at);
	put_bytes(w, " ", extra->payload, extra->payload_len);
	if (!whole)
		put_bytes(w, "/", extra->payload_mask, extra->payload_len);
}

static void put_address(struct writer *w, const char *word, const uint8_t addr[16], uint8_t len,
			const char *set)
{
	if (len == RL_LEN_SET)
		put(w, "%s@%s", word, set);
	else
		put_prefix(w, word, addr, len);
}

static void put_condition(struct writer *w, const struct rule *rule, enum rl_match_flag flag)
{
	const struct rl_match *match = &rule->match;
	const struct rl_extra *extra = rule->extra;
	struct rl_port_range ports[RL_PORT_RANGES_MAX];

	switch (flag) {
	case RL_MATCH_PROTO:
		return put_protocol(w, match->proto);
	case RL_MATCH_SPORT:
		return put_ports(w, " sport ", ports, rule_sports(rule, ports));
	case RL_MATCH_DPORT:
		return put_ports(w, " dport ", ports, rule_dports(rule, ports));
	case RL_MATCH_SRC:
		return put_address(w, " src ", match->src, match->src_len,
				   extra ? extra->src_set : "");
	case RL_MATCH_DST:
		return put_address(w, " dst ", match->dst, match->dst_len,
				   extra ? extra->dst_set : "");
	case RL_MATCH_SYN:
		return put(w, " syn");
	case RL_MATCH_FRAGMENT:
		return put(w, " fragment");
	case RL_MATCH_NEW_SOURCE:
		return put(w, " new-source");
	case RL_MATCH_ESTABLISHED:
		return put(w, " established");
	case RL_MATCH_TCP_FLAGS:
		return put_tcp_flags(w, extra);
	case RL_MATCH_LENGTH:
		return put_range(w, " length ", extra->length_first, extra->length_last);
	case RL_MATCH_TTL:
		return put_range(w, " ttl ", extra->ttl_first, extra->ttl_last);
	case RL_MATCH_DSCP:
		return put_named(w, " dscp ", dscp_name(extra->dscp), extra->dscp);
	case RL_MATCH_ICMP_TYPE:
		return put_icmp_type(w, rule);
	case RL_MATCH_PAYLOAD:
		return put_payload(w, extra);
	case RL_MATCH_FILTER:
		return put(w, " filter \"%s\"", extra->filter);
	}
}

static void put_match(struct writer *w, const struct rule *rule)
{
	static const enum rl_match_flag order[] = {
		RL_MATCH_PROTO,   RL_MATCH_ICMP_TYPE, RL_MATCH_SPORT,      RL_MATCH_DPORT,
		RL_MATCH_SRC,     RL_MATCH_DST,       RL_MATCH_SYN,        RL_MATCH_TCP_FLAGS,
		RL_MATCH_LENGTH,  RL_MATCH_TTL,       RL_MATCH_DSCP,       RL_MATCH_FRAGMENT,
		RL_MATCH_PAYLOAD, RL_MATCH_FILTER,    RL_MATCH_NEW_SOURCE, RL_MATCH_ESTABLISHED,
	};

	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
		if (!(rule->match.flags & order[i]))
			continue;
		if (rule->match.negated & order[i])
			put(w, " not");
		put_condition(w, rule, order[i]);
	}
}

static void put_algorithm(struct writer *w, const struct rl_limit *limit)
{
	char rate[QUANTITY_TEXT_MAX];

	if (limit->algorithm != RL_TOKEN_BUCKET)
		put(w, " %s", algorithm_words[limit->algorithm]);
	rate_print(rate, sizeof(rate), limit->amount, limit->period_ns, limit->unit);
	put(w, " %s", rate);
	if (limit->algorithm == RL_TOKEN_BUCKET)
		put_amount(w, " burst ", limit);
	if (limit->algorithm == RL_LEAKY_BUCKET && limit->queue_ns)
		put_duration(w, " queue ", limit->queue_ns);
	else if (limit->algorithm == RL_LEAKY_BUCKET)
		put_amount(w, " queue ", limit);
	if (limit->algorithm == RL_SLIDING_WINDOW)
		put(w, " slots %u", limit->slots);
	if (limit->algorithm == RL_WARM_UP) {
		put_duration(w, " ramp ", limit->ramp_ns);
		put(w, " cold %u", limit->cold);
		if (limit->size != limit->cold + 1)
			put_amount(w, " burst ", limit);
	}
}

static void put_key(struct writer *w, const struct rule *rule, const struct policy_context *ctx)
{
	const struct rl_limit *limit = &rule->limit;
	char word[KEY_WORD_MAX];

	if (limit->key == rule_default_key(rule, ctx) && key_has_usual_lengths(limit))
		return;
	key_word(word, limit);
	put(w, " per %s", word);
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

/* Whole seconds, rounded up, so that a remaining lifetime is never printed as 0; at most what the
 * parser accepts. */
static void put_for(struct writer *w, uint64_t for_ns)
{
	uint64_t seconds = for_ns / NS_PER_SECOND + !!(for_ns % NS_PER_SECOND);
	uint64_t most = DURATION_MAX_NS / NS_PER_SECOND;

	if (seconds)
		put_duration(w, " for ", (seconds < most ? seconds : most) * NS_PER_SECOND);
}

static void put_while(struct writer *w, const struct rule *rule)
{
	bool off;
	const char *name = rule_while(rule, &off);

	if (name[0])
		put(w, " while %s%s", off ? "not " : "", name);
}

int rule_print(char *buf, size_t size, const struct rule *rule, const struct policy_context *ctx)
{
	struct writer w = {.buf = buf, .size = size};

	if (rule->kind == PREFIX_ADDR)
		put_prefix(&w, "rule ", rule->addr, rule->len);
	else if (rule->kind == PREFIX_SET)
		put(&w, "rule @%s", rule->set);
	else
		put(&w, "rule %s", prefix_words[rule->kind]);
	put_match(&w, rule);
	if (rule->action < RL_ACTION_COUNT)
		put(&w, " %s", action_words[rule->action]);
	if (rule->action == RL_ACTION_LIMIT) {
		put_algorithm(&w, &rule->limit);
		put_key(&w, rule, ctx);
		put_over(&w, &rule->limit);
		if (rule->limit.fleet)
			put(&w, " fleet");
	}
	put_for(&w, rule->for_ns);
	put_while(&w, rule);
	return (int)w.used;
}

/* A line without the word "rule". */
static void format(char *buf, const char *line)
{
	const size_t word = strlen("rule ");

	memcpy(buf, line + word, strlen(line) - word + 1);
}

void rule_format(char buf[RULE_TEXT_MAX], const struct rule *rule, const struct policy_context *ctx)
{
	char line[RULE_TEXT_MAX];

	rule_print(line, sizeof(line), rule, ctx);
	format(buf, line);
}

void statement_print(char buf[STATEMENT_TEXT_MAX], const struct rule *rule,
		     const struct policy_context *ctx)
{
	size_t used = rule_print(buf, RULE_TEXT_MAX, rule, ctx);

	if (rule->comment[0])
		snprintf(buf + used, STATEMENT_TEXT_MAX - used, " # %s", rule->comment);
}

void statement_format(char buf[STATEMENT_TEXT_MAX], const struct rule *rule,
		      const struct policy_context *ctx)
{
	char line[STATEMENT_TEXT_MAX];

	statement_print(line, rule, ctx);
	format(buf, line);
}
