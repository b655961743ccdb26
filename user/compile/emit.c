// SPDX-License-Identifier: GPL-2.0-only
/* Rules and prefixes to map entries. */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/icmp6.h>
#include <string.h>

#include "algorithm/key_parts.h"
#include "algorithm/prefix_guide.h"
#include "base/units.h"
#include "compile/build.h"
#include "compile/numbers.h"
#include "policy/field.h"
#include "policy/policy.h"
#include "policy/packets/pset.h"
#include "policy/sets/set.h"

bool is_link_local_prefix(const struct rule *rule)
{
	static const uint8_t link_local[16] = {0xfe, 0x80};

	return rule->kind == PREFIX_ADDR && rule->len == 10 &&
	       !memcmp(rule->addr, link_local, sizeof(link_local));
}

/* Is it a rule on ICMPv6 for fe80::/10, and not on other types alone? Such a rule makes rules apply
 * to neighbour discovery, whose messages have code 0 (bpf/packet/neighbour.h). */
static bool rule_names_neighbour_discovery(const struct rule *rule)
{
	struct ranges types;

	if (!is_link_local_prefix(rule) || !match_is_proto(&rule->match, IPPROTO_ICMPV6))
		return false;
	rule_values(rule, RL_MATCH_ICMP_TYPE, &types);
	for (uint32_t type = ND_ROUTER_SOLICIT; type <= ND_REDIRECT; type++)
		if (ranges_hold(&types, type << 8))
			return true;
	return false;
}

static uint64_t extra_uses(const struct rule *rule)
{
	bool extra = rule->extra && !extra_is_while(rule);
	uint64_t uses = extra || rule->match.negated & ~RL_MATCH_ESTABLISHED ? RL_USE_EXTRAS : 0;

	if (rule->match.flags & RL_MATCH_PAYLOAD)
		uses |= RL_USE_PAYLOAD;
	if (rule->match.flags & RL_MATCH_FILTER)
		uses |= RL_USE_FILTERS;
	if (rule->match.flags & RL_MATCH_VLAN)
		uses |= RL_USE_VLANS;
	if (rule->kind == PREFIX_SET || match_names_set(&rule->match, RL_MATCH_SRC) ||
	    match_names_set(&rule->match, RL_MATCH_DST) || rule->limit.keep_for == RL_KEEP_SET)
		uses |= RL_USE_SET_RULES;
	return uses;
}

uint64_t rule_uses(const struct rule *rule)
{
	const struct rl_limit *limit = &rule->limit;
	uint64_t uses = rule->match.flags & RL_MATCH_NEW_SOURCE ? RL_USE_NEW_SOURCE : 0;

	if (rule->match.flags & RL_MATCH_ESTABLISHED ||
	    (rule->action == RL_ACTION_LIMIT && limit->over == RL_OVER_UNLESS))
		uses |= RL_USE_PROOF |
			(match_is_proto(&rule->match, IPPROTO_TCP) ? 0 : RL_USE_ASKED);
	uses |= extra_uses(rule);
	if (rule->action == RL_ACTION_COUNT) /* an alarm */
		return uses;
	if (rule_names_neighbour_discovery(rule))
		uses |= RL_USE_NEIGHBOURS;
	if (rule->action == RL_ACTION_ALLOW && rule->kind != PREFIX_DEVICE)
		uses |= rule->kind == PREFIX_ADDR ? RL_USE_ALLOWS : RL_USE_ALLOWS_ANY;
	if (rule->action != RL_ACTION_LIMIT)
		return uses;
	if (limit->unit == RL_CONNECTIONS)
		return uses | RL_USE_CONNECTIONS;
	if (!limit_is_bucket(limit) || limit->fleet || limit->over == RL_OVER_BAN)
		uses |= RL_USE_STATES;
	uses |= parts_uses(limit);
	if (limit->fleet)
		uses |= RL_USE_FLEET;
	if (limit->over == RL_OVER_BAN)
		uses |= RL_USE_BANS | (limit->ban_source ? RL_USE_SOURCE_BANS : 0);
	if (limit->over == RL_OVER_CHALLENGE)
		uses |= RL_USE_CHALLENGE;
	if (limit->over == RL_OVER_TRUNCATE)
		uses |= RL_USE_TRUNCATE;
	if (parts_are_member(limit))
		uses |= RL_USE_MEMBER_KEYS;
	if (parts_are_account(limit))
		uses |= RL_USE_ACCOUNTS;
	if (key_parts(limit) & RL_PART_VLAN)
		uses |= RL_USE_VLANS;
	return limit->key == RL_KEY_PARTS ? uses | RL_USE_KEY_PARTS : uses;
}

/* Packets copy the bytes that the rules compare, from the first to the last. */
static void payload_widen(struct rl_policy_header *header, const struct rule *rule)
{
	uint32_t first, end;

	if (!(rule->match.flags & RL_MATCH_PAYLOAD))
		return;
	first = rule->extra->payload_at / RL_PAYLOAD_UNIT;
	end = rule->extra->payload_at + rule->extra->payload_len;
	end = (end + RL_PAYLOAD_UNIT - 1) / RL_PAYLOAD_UNIT;
	if (!header->payload_end || header->payload_first > first)
		header->payload_first = first;
	if (header->payload_end < end)
		header->payload_end = end;
}

/* A filter of the program keeps its bit, and a new one takes a free one. */
static uint32_t filter_number(struct build *b, const struct rule *rule)
{
	uint32_t bit, unused = RL_FILTERS_MAX;

	for (bit = RL_FILTERS_MAX; bit-- > 0;) {
		if (!strcmp(b->filters.text[bit], rule->extra->filter))
			return bit;
		if (!b->filters.text[bit][0])
			unused = bit;
	}
	if (unused < RL_FILTERS_MAX)
		memcpy(b->filters.text[unused], rule->extra->filter, sizeof(b->filters.text[0]));
	else
		build_refuse_max(b, rule, -E2BIG, "too many different filters", RL_FILTERS_MAX,
				 "while policies change, those of both count: say the same in "
				 "fewer, joined by or, or remove some first");
	return unused;
}

static struct rl_extra *extra_next(struct build *b)
{
	return &b->out->extras[b->out->extra_count++];
}

static uint32_t extra_name(const struct build *b)
{
	return b->out->extra_count | b->out->header.half << RL_EXTRA_HALF_SHIFT;
}

static void emit_extra(struct build *b, const struct rule *rule, uint32_t filter,
		       struct rl_rule *entry)
{
	struct rl_extra *extra;

	if (!rule->extra)
		return;
	extra = extra_next(b);
	*extra = *rule->extra;
	if (rule->match.flags & RL_MATCH_NUMBERS) {
		extra->flags = rule->match.flags;
		extra->negated = rule->match.negated;
	}
	extra->filter_bit = rule->match.flags & RL_MATCH_FILTER ? filter : RL_FILTER_NONE;
	entry->extra = extra_name(b);
	payload_widen(&b->out->header, rule);
}

/* In the rule, if there is room; else, or if packets look there for a payload, in its element of
 * the map, or in one more. */
static void emit_conditions(struct build *b, const struct rule *rule,
			    const struct condition_bits *bits, struct rl_rule *entry)
{
	struct rl_condition all[RL_CONDITIONS_MAX] = {0};
	struct rl_match *match = &entry->match;
	uint32_t count = conditions_make(rule, bits, all);
	bool payload = match->flags & RL_MATCH_PAYLOAD;
	struct rl_extra *extra;

	match->count = count;
	if (!payload && count <= RL_CONDITIONS_INLINE && !RL_MATCH_HAS_PREFIX(match)) {
		memcpy(match->conditions, all, sizeof(match->conditions));
		return;
	}
	if (count || payload)
		match->count |= RL_CONDITIONS_APART;
	if (!count)
		return;
	if (!rule->extra || match->flags & RL_MATCH_FILTER) {
		extra = extra_next(b);
		extra->filter_bit = RL_FILTER_NONE;
		entry->extra = entry->extra ? entry->extra : extra_name(b);
	}
	extra = &b->out->extras[b->out->extra_count - 1];
	memcpy(extra->conditions, all, sizeof(all));
}

/* The matches as packets compare them. */
static struct rl_match match_emit(const struct match *match)
{
	struct rl_match out = {
		.flags = match->flags & ~RL_MATCH_NUMBERS,
		.negated = match->negated & ~RL_MATCH_NUMBERS,
		.proto = match->proto,
		.src_len = match->src_len,
		.dst_len = match->dst_len,
		.sport_first = match->sport_first,
		.sport_last = match->sport_last,
		.dport_first = match->dport_first,
		.dport_last = match->dport_last,
	};

	memcpy(out.src, match->src, sizeof(out.src));
	memcpy(out.dst, match->dst, sizeof(out.dst));
	fields_for_each (flag, match->flags & RL_MATCH_NUMBERS)
		out.flags |= all_fields[field_of(flag)].has;
	return out;
}

static void emit_rule(struct build *b, const struct rule *rule)
{
	struct rl_rule *entry = &b->out->rules[b->out->rule_count++];
	struct condition_bits bits = {0};

	b->out->header.uses |= rule_uses(rule);
	*entry = (struct rl_rule){
		.action = rule->action,
		.limit_id = rule->limit_id,
		.counter_id = rule->counter_id,
		.expires_ns = rule->expires_ns,
		.match = match_emit(&rule->match),
		.limit = rule->limit,
		.comment_id = rule->comment_id,
	};
	if (rule->extra && rule->match.flags & RL_MATCH_FILTER)
		bits.filter = filter_number(b, rule);
	sets_emit(b, rule, &entry->limit, &bits);
	emit_extra(b, rule, bits.filter, entry);
	emit_conditions(b, rule, &bits, entry);
	if (rule->action == RL_ACTION_LIMIT) {
		numbers_compile(&entry->limit, b->ctx, entry);
		b->out->header.uses |= limit_state_uses(&rule->limit, b->ctx);
		entry->flags |= rule->lane << RL_RULE_LANE_SHIFT;
		entry->generation = b->out->header.generation;
	}
	while_emit(b, rule, entry);
}

void counting_emit(struct build *b, const struct rule *rule, bool bytes)
{
	emit_rule(b, rule);
	b->out->rules[b->out->rule_count - 1].flags = bytes ? RL_RULE_BYTES : 0;
}

/* Refuses rules that this instance does not support. */
static void check_rule(struct build *b, const struct rule *rule)
{
	parts_check(b, rule);
	if (rule->limit.unit == RL_CONNECTIONS && b->ctx->conntrack)
		build_refuse(
			b, rule, -EOPNOTSUPP,
			"connections are counted by the sockets of this machine, and attach "
			"--state conntrack is for one that forwards: limit new connections, "
			"for example with tcp syn limit 50/second, or use ct count of nftables");
	if (rule->limit.fleet && b->ctx->share)
		build_refuse(b, rule, -EOPNOTSUPP,
			     "fleet does not work with --table cpu: detach, then attach with "
			     "--table hot or lru");
	if (rule->limit.fleet && rule->limit.algorithm == RL_FIXED_WINDOW &&
	    rule->limit.period_ns < NS_PER_SECOND)
		build_refuse(b, rule, -EOPNOTSUPP,
			     "fixed-window with fleet has too short a period: write 1s or more");
	if (rule->limit.algorithm == RL_SLIDING_LOG && rule->limit.amount > b->ctx->log_max)
		build_refuse_max(b, rule, -E2BIG, "too many packets for sliding-log",
				 b->ctx->log_max, "detach, then attach with a larger --log-depth");
}

static enum rl_match_mode match_mode_of(const struct rule *first, size_t count)
{
	for (const struct rule *rule = first; rule < first + count; rule++)
		if (rule->action != RL_ACTION_LIMIT || rule->expires_ns || rule_has_while(rule) ||
		    rule->match.flags != first->match.flags || rule->match.negated)
			return RL_MATCH_MODE_EACH;
	if (first->match.flags == RL_MATCH_NEW_SOURCE)
		return RL_MATCH_MODE_NEW_SOURCE;
	return first->match.flags ? RL_MATCH_MODE_EACH : RL_MATCH_MODE_NONE;
}

/* Order in which rules came: by line, and without lines those in force first. */
static uint32_t rule_age(const struct build *b, const struct rule *rule)
{
	if (rule->line)
		return rule->line;
	return policy_find(b->current, rule) ? 0 : UINT32_MAX;
}

/* The last of the rules that the prefix has room for, by age; there are more. */
static const struct rule *rule_last_held(const struct build *b, const struct rule *first,
					 size_t count)
{
	struct {
		const struct rule *rule;
		uint32_t age;
	} oldest[RL_INDEXED_MAX] = {0};

	for (size_t i = 0; i < count; i++) {
		uint32_t age = rule_age(b, first + i);
		size_t at = i < RL_INDEXED_MAX ? i : RL_INDEXED_MAX;

		while (at && oldest[at - 1].age > age)
			at--;
		if (at == RL_INDEXED_MAX)
			continue;
		memmove(&oldest[at + 1], &oldest[at],
			(RL_INDEXED_MAX - 1 - at) * sizeof(oldest[0]));
		oldest[at].rule = first + i;
		oldest[at].age = age;
	}
	return oldest[RL_INDEXED_MAX - 1].rule;
}

/* Refuses every rule that came when its prefix was full. */
static void check_count(struct build *b, const struct rule *first, size_t count)
{
	const struct rule *last;
	uint32_t last_age;

	if (count <= RL_INDEXED_MAX)
		return;
	last = rule_last_held(b, first, count);
	last_age = rule_age(b, last);
	for (const struct rule *rule = first; rule < first + count; rule++) {
		uint32_t age = rule_age(b, rule);

		if (age > last_age || (age == last_age && rule > last))
			build_refuse_max(
				b, rule, -E2BIG, "too many rules for one prefix", RL_INDEXED_MAX,
				"merge ports into ranges, or remove limits; rules of a longer "
				"prefix replace these instead of adding to them");
	}
}

/* In the order in which a packet meets them. */
static void emit_rules(struct build *b, const struct rule *first, size_t count)
{
	for (int action = RL_ACTION_ALLOW; action <= RL_ACTION_LIMIT; action++)
		for (const struct rule *rule = first; rule < first + count; rule++)
			if (rule->action == action)
				emit_rule(b, rule);
}

/* The rules of one prefix. */
static int emit_group(struct build *b, const struct rule *first, size_t count,
		      struct rl_range *range)
{
	_Static_assert(RULES_MAX == 131072, "as the message says");
	uint32_t begin = b->base + b->out->rule_count;

	check_count(b, first, count);
	for (const struct rule *rule = first; rule < first + count; rule++)
		check_rule(b, rule);
	if (b->error)
		return 0;
	if (b->out->first_rule + b->out->rule_count + count > b->rules_most)
		return build_refuse_max(
			b, first, -E2BIG, "too many limits and rules with matches",
			b->ctx->rules_max,
			b->ctx->rules_max < RULES_MAX
				? "detach, then attach with --prefixes N, which makes room for N of "
				  "them, up to 131072"
				: "remove some, or join them into shorter prefixes");
	*range = (struct rl_range){
		.first = begin, .count = count, .match_mode = match_mode_of(first, count)};
	if (count > RL_GROUP_MAX) { /* more than are asked one by one */
		*range = (struct rl_range){.first = b->out->index.count,
					   .count = 1,
					   .match_mode = RL_MATCH_MODE_INDEXED};
		b->out->header.uses |= RL_USE_INDEX;
	}
	emit_rules(b, first, count);
	return count > RL_GROUP_MAX ? group_index(b, first, count, begin) : 0;
}

/* ---- prefixes */

static bool is_plain(const struct rule *rule, size_t count)
{
	return count == 1 && rule->action != RL_ACTION_LIMIT && !rule->match.flags &&
	       !rule_has_while(rule);
}

void prefix_key_compile(const struct rule *prefix, struct rl_prefix_key *out)
{
	*out = (struct rl_prefix_key){
		.len = RL_FAMILY_BITS + prefix->len,
		.family = prefix_is_ipv4(prefix->addr, prefix->len) ? 4 : 6,
	};
	memcpy(out->addr, prefix->addr, sizeof(out->addr));
}

/* Packets may be reading it. */
static void bit_set(__u64 *bits, uint32_t at)
{
	__atomic_fetch_or(&bits[at / 64], 1ull << at % 64, __ATOMIC_RELAXED);
}

void prefix_guide_add(struct rl_prefix_guide *guide, const __u64 seed[2],
		      const struct rl_prefix_key *prefix)
{
	uint32_t len = prefix->len - RL_FAMILY_BITS, first;

	if (prefix->family == 4) {
		len -= RL_MAPPED_BITS;
		first = prefix->addr[12] << 8 | prefix->addr[13];
		for (uint32_t i = 0; i < (len < 16 ? 1u << (16 - len) : 1); i++)
			bit_set(guide->ipv4, first + i);
	} else if (len < 32) {
		memset(guide->ipv6, 0xff, sizeof(guide->ipv6));
	} else {
		memcpy(&first, prefix->addr, sizeof(first));
		bit_set(guide->ipv6, guide6_index(seed, first));
	}
}

/* Counts the prefix: header.prefixes is the number of entries in the trie. */
static int emit_prefix(struct build *b, const struct rule *rule, size_t count)
{
	struct compiled_prefix *prefix = &b->out->prefixes[b->out->prefix_count];
	struct rl_policy_header *header = &b->out->header;
	bool ipv4 = prefix_is_ipv4(rule->addr, rule->len);
	uint8_t *shortest = ipv4 ? &header->shortest4 : &header->shortest6;

	if (header->prefixes == b->ctx->prefixes_max)
		return build_refuse_max(b, rule, -E2BIG, "too many prefixes", b->ctx->prefixes_max,
					"use `attach --replace` with a larger --prefixes");
	header->prefixes++;
	header->uses |= RL_USE_PREFIXES;
	b->out->prefix_count++;
	prefix_key_compile(rule, &prefix->key);
	prefix->value.len = prefix->key.len;
	header->lengths[!ipv4][rule->len / 64] |= 1ull << rule->len % 64;
	if (RL_FAMILY_BITS + rule->len < *shortest)
		*shortest = RL_FAMILY_BITS + rule->len;
	if (!is_plain(rule, count))
		return emit_group(b, rule, count, &prefix->value.range);
	header->uses |= rule_uses(rule);
	prefix->value.action = rule->action;
	prefix->value.expires_ns = rule->expires_ns;
	prefix->value.counter_id = rule->counter_id;
	prefix->value.comment_id = rule->comment_id;
	return 0;
}

/* How many rules of the same prefix there are from this one on. */
static size_t group_count(const struct policy *policy, const struct rule *rule)
{
	const struct rule *end = policy->rules + policy->count, *next = rule + 1;

	while (next < end && same_prefix(rule, next))
		next++;
	return next - rule;
}

size_t rules_emitted_most(const struct policy *policy)
{
	size_t most = policy->alarm_count + RL_KNOWN_BY_MAX;

	for (size_t i = 0, count; i < policy->count; i += count) {
		const struct rule *rule = &policy->rules[i];

		count = group_count(policy, rule);
		if (rule->kind != PREFIX_ADDR || !is_plain(rule, count))
			most += count;
	}
	return most;
}

int rules_emit(struct build *b, const struct policy *policy)
{
	for (size_t i = 0, count; i < policy->count; i += count) {
		const struct rule *rule = &policy->rules[i];
		int ret;

		count = group_count(policy, rule);
		if (rule->kind == PREFIX_DEVICE)
			ret = emit_group(b, rule, count, &b->out->header.device);
		else if (rule->kind == PREFIX_ANY)
			ret = emit_group(b, rule, count, &b->out->header.any);
		else if (rule->kind == PREFIX_SET)
			ret = emit_group(b, rule, count, set_group(b, rule));
		else
			ret = emit_prefix(b, rule, count);
		if (ret)
			return ret;
	}
	return 0;
}
