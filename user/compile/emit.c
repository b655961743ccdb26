// SPDX-License-Identifier: GPL-2.0-only
/* Rules and prefixes to map entries. */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/icmp6.h>
#include <stdlib.h>
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

static uint64_t match_uses(const struct rule *rule)
{
	const struct match *match = &rule->match;
	bool extra = rule->extra && !extra_is_while(rule);
	bool sets = rule->kind == PREFIX_SET || match_names_set(match, RL_MATCH_SRC) ||
		    match_names_set(match, RL_MATCH_DST) || rule->limit.keep_for == RL_KEEP_SET;
	bool proof = match->flags & RL_MATCH_ESTABLISHED ||
		     (rule->action == RL_ACTION_LIMIT && rule->limit.over == RL_OVER_UNLESS);

	return (match->flags & RL_MATCH_NEW_SOURCE ? RL_USE_NEW_SOURCE : 0) |
	       (proof ? RL_USE_PROOF : 0) |
	       (proof && !match_is_proto(match, IPPROTO_TCP) ? RL_USE_ASKED : 0) |
	       (extra || match->negated & ~RL_MATCH_ESTABLISHED ? RL_USE_EXTRAS : 0) |
	       (match->flags & RL_MATCH_PAYLOAD ? RL_USE_PAYLOAD : 0) |
	       (match->flags & RL_MATCH_FILTER ? RL_USE_FILTERS : 0) |
	       (match->flags & RL_MATCH_VLAN ? RL_USE_VLANS : 0) | (sets ? RL_USE_SET_RULES : 0);
}

static uint64_t limit_uses(const struct rl_limit *limit)
{
	bool bans = limit->over == RL_OVER_BAN;

	if (limit->unit == RL_CONNECTIONS)
		return RL_USE_CONNECTIONS;
	return parts_uses(limit) |
	       (!limit_is_bucket(limit) || limit->fleet || bans ? RL_USE_STATES : 0) |
	       (limit->fleet ? RL_USE_FLEET : 0) | (bans ? RL_USE_BANS : 0) |
	       (bans && limit->ban_source ? RL_USE_SOURCE_BANS : 0) |
	       (limit->over == RL_OVER_CHALLENGE ? RL_USE_CHALLENGE : 0) |
	       (limit->over == RL_OVER_TRUNCATE ? RL_USE_TRUNCATE : 0) |
	       (parts_are_member(limit) ? RL_USE_MEMBER_KEYS : 0) |
	       (parts_are_account(limit) ? RL_USE_ACCOUNTS : 0) |
	       (key_parts(limit) & RL_PART_VLAN ? RL_USE_VLANS : 0) |
	       (limit->key == RL_KEY_PARTS ? RL_USE_KEY_PARTS : 0);
}

uint64_t rule_uses(const struct rule *rule)
{
	uint64_t uses = match_uses(rule);

	if (rule->action == RL_ACTION_COUNT) /* an alarm */
		return uses;
	if (rule_names_neighbour_discovery(rule))
		uses |= RL_USE_NEIGHBOURS;
	if (rule->action == RL_ACTION_ALLOW && rule->kind != PREFIX_DEVICE)
		uses |= rule->kind == PREFIX_ADDR ? RL_USE_ALLOWS : RL_USE_ALLOWS_ANY;
	return rule->action == RL_ACTION_LIMIT ? uses | limit_uses(&rule->limit) : uses;
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
		build_refuse(
			b, rule, -E2BIG,
			"too many different filters (at most %u): while policies change, those "
			"of both count: say the same in fewer, joined by or, or remove some first",
			RL_FILTERS_MAX);
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
	if (rule->limit.share[0] && !b->ctx->hot)
		build_refuse(b, rule, -EOPNOTSUPP,
			     "share needs the hot table: detach, then attach with --table hot");
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
		build_refuse(
			b, rule, -E2BIG,
			"too many packets for sliding-log (at most %u): detach, then attach with "
			"a larger --log-depth",
			b->ctx->log_max);
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
struct aged {
	const struct rule *rule;
	uint32_t age;
};

static int age_compare(const void *a, const void *b)
{
	const struct aged *x = a, *y = b;

	if (x->age != y->age)
		return x->age < y->age ? -1 : 1;
	return x->rule < y->rule ? -1 : x->rule > y->rule;
}

/* Refuses every rule that came when its prefix was full. 0 or -ENOMEM. */
static int check_count(struct build *b, const struct rule *first, size_t count)
{
	struct aged *all = count > RL_INDEXED_MAX ? calloc(count, sizeof(*all)) : NULL;

	if (!all)
		return count > RL_INDEXED_MAX ? -ENOMEM : 0;
	for (size_t i = 0; i < count; i++) {
		all[i] = (struct aged){first + i, first[i].line};
		if (!all[i].age)
			all[i].age = policy_find(b->current, first + i) ? 0 : UINT32_MAX;
	}
	qsort(all, count, sizeof(*all), age_compare);
	for (size_t i = RL_INDEXED_MAX; i < count; i++)
		build_refuse(
			b, all[i].rule, -E2BIG,
			"too many rules for one prefix (at most %u): merge ports into ranges, or "
			"remove limits; rules of a longer prefix replace these instead of adding "
			"to them",
			RL_INDEXED_MAX);
	free(all);
	return 0;
}

/* The rules of one prefix. */
static int emit_group(struct build *b, const struct rule *first, size_t count,
		      struct rl_range *range)
{
	_Static_assert(RULES_MAX == 131072, "as the message says");
	uint32_t begin = b->base + b->out->rule_count;

	if (check_count(b, first, count))
		return -ENOMEM;
	for (const struct rule *rule = first; rule < first + count; rule++)
		check_rule(b, rule);
	if (b->error)
		return 0;
	if (b->out->first_rule + b->out->rule_count + count > b->rules_most)
		return build_refuse(
			b, first, -E2BIG, "too many limits and rules with matches (at most %u): %s",
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
	/* In the order in which a packet meets them. */
	for (int action = RL_ACTION_ALLOW; action <= RL_ACTION_LIMIT; action++)
		for (const struct rule *rule = first; rule < first + count; rule++)
			if (rule->action == action)
				emit_rule(b, rule);
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
		return build_refuse(b, rule, -E2BIG,
				    "too many prefixes (at most %u): use `attach --replace` with a "
				    "larger --prefixes",
				    b->ctx->prefixes_max);
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

size_t rules_emitted_most(const struct policy *policy)
{
	size_t most = policy->alarm_count + RL_KNOWN_BY_MAX;

	for (size_t i = 0, count; i < policy->count; i += count) {
		const struct rule *rule = &policy->rules[i];

		count = policy_prefix_count(policy, i);
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

		count = policy_prefix_count(policy, i);
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
