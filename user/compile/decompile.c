// SPDX-License-Identifier: GPL-2.0-only
/* Map entries to model: the reverse of compile.c. */
#include <errno.h>
#include <string.h>

#include "compile/compile.h"
#include "policy/alarm.h"
#include "policy/policy.h"
#include "policy/sets/set.h"

static int rule_append(struct policy *out, struct rule *rule, uint64_t now_ns)
{
	if (rule->expires_ns && rule->expires_ns <= now_ns)
		return 0;
	rule->for_ns = rule->expires_ns ? rule->expires_ns - now_ns : 0;
	return policy_append(out, rule);
}

/* Without the conditions that packets compare. `extra`: the rule's element, or NULL. */
static struct match entry_match(const struct rl_rule *entry, const struct rl_extra *extra)
{
	const struct rl_match *match = &entry->match;
	bool numbers = extra && extra->flags;
	struct match out = {
		.flags = numbers ? extra->flags : match->flags,
		.negated = numbers ? extra->negated : match->negated,
		.proto = match->proto,
		.src_len = match->src_len,
		.dst_len = match->dst_len,
		.sport_first = match->sport_first,
		.sport_last = match->sport_last,
		.dport_first = match->dport_first,
		.dport_last = match->dport_last,
	};

	if (RL_MATCH_HAS_PREFIX(match)) {
		memcpy(out.src, match->src, sizeof(out.src));
		memcpy(out.dst, match->dst, sizeof(out.dst));
	}
	return out;
}

/* The rule's matches. filter_bit is of the program, not of the rule, and packets alone need the
 * conditions. */
static int entry_matches(const struct compiled *in, const struct rl_rule *entry, struct rule *out)
{
	static const struct rl_extra none;
	uint32_t number = entry->extra & RL_EXTRA_INDEX;
	struct rl_extra extra;
	int ret = 0;

	out->extra = NULL;
	out->match = entry_match(entry, NULL);
	if (!entry->extra)
		return out->match.flags & RL_MATCH_EXTRAS ? -EBADMSG : 0;
	if (!number || number > in->extra_count)
		return -EBADMSG;
	extra = in->extras[number - 1];
	if (!extra.flags && entry->match.flags & RL_MATCH_NUMBERS)
		return -EBADMSG;
	out->match = entry_match(entry, &extra);
	extra.flags = extra.negated = 0;
	if (extra.filter_bit == RL_FILTER_NONE)
		memset(extra.filter, 0, sizeof(extra.filter));
	extra.filter_bit = 0;
	/* The element of a rule that states nothing of rl_extra may hold conditions alone. */
	if (out->match.flags & RL_MATCH_EXTRAS || memcmp(&extra, &none, sizeof(none)))
		out->extra = extra_intern(&extra, &ret);
	return ret;
}

/* A limit names a set by its number. */
static int entry_limit(const struct compiled *in, const struct rl_rule *entry, struct rule *out)
{
	uint32_t set = entry->limit.keep_for - RL_KEEP_SET;

	out->limit = entry->limit;
	if (entry->limit.keep_for < RL_KEEP_SET)
		return 0;
	if (!in->groups || set >= RL_SETS_MAX)
		return -EBADMSG;
	out->limit.keep_for = RL_KEEP_SET;
	memcpy(out->keep_set, in->groups->words[set].name, RL_SET_NAME_MAX);
	return 0;
}

/* Appends the rules of `count` entries; `in` has their extras. */
static int range_decompile(const struct compiled *in, const struct rule *prefix,
			   const struct rl_rule *entries, uint32_t count, uint64_t now_ns,
			   struct policy *out)
{
	for (uint32_t i = 0; i < count; i++) {
		const struct rl_rule *entry = &entries[i];
		struct rule rule = *prefix;
		int ret = entry_matches(in, entry, &rule) ?: entry_limit(in, entry, &rule);

		if (ret)
			return ret;
		rule.action = entry->action;
		rule.limit_id = entry->limit_id;
		rule.counter_id = entry->counter_id;
		rule.lane = entry->flags >> RL_RULE_LANE_SHIFT;
		rule.generation = entry->generation;
		rule.expires_ns = entry->expires_ns;
		rule.comment_id = entry->comment_id;
		ret = rule_append(out, &rule, now_ns);
		if (ret)
			return ret;
	}
	return 0;
}

/* Appends those of a prefix of the trie; 0 entries: it has a plain verdict. */
static int prefix_decompile(const struct compiled *in, const struct compiled_prefix *prefix,
			    const struct rl_rule *entries, uint32_t count, uint64_t now_ns,
			    struct policy *out)
{
	struct rule rule = {.kind = PREFIX_ADDR};

	if (prefix->key.len < RL_FAMILY_BITS || prefix->key.len > RL_FAMILY_BITS + 128)
		return -EBADMSG;
	rule.len = prefix->key.len - RL_FAMILY_BITS;
	memcpy(rule.addr, prefix->key.addr, sizeof(rule.addr));
	if (count)
		return range_decompile(in, &rule, entries, count, now_ns, out);
	rule.action = prefix->value.action;
	rule.counter_id = prefix->value.counter_id;
	rule.expires_ns = prefix->value.expires_ns;
	rule.comment_id = prefix->value.comment_id;
	return rule_append(out, &rule, now_ns);
}

bool range_extent(const struct rl_range *range, const struct rl_index_entry *root, uint32_t *first,
		  uint32_t *count)
{
	bool indexed = range->match_mode == RL_MATCH_MODE_INDEXED;

	if (indexed && !root)
		return false;
	*first = indexed ? root->first : range->first;
	*count = indexed ? root->count : range->count;
	return *count <= (indexed ? RL_INDEXED_MAX : RL_GROUP_MAX);
}

/* The entries of a range, and how many; NULL if it reaches beyond those that were read. */
static const struct rl_rule *range_entries(const struct compiled *in, const struct rl_range *range,
					   uint32_t *count)
{
	uint32_t base = in->header.rules_begin + in->first_rule, first;
	const struct rl_index_entry *root =
		range->first < in->index.count ? &in->index.entries[range->first] : NULL;

	if (!range_extent(range, root, &first, count) || first < base ||
	    first - base + *count > in->rule_count)
		return NULL;
	return &in->rules[first - base];
}

static int group_append(struct policy *out, const struct compiled *in,
			const struct compile_context *ctx, const struct rl_range *range,
			const struct rule *prefix)
{
	const struct rl_rule *entries;
	uint32_t count;

	if (!range->count)
		return 0;
	entries = range_entries(in, range, &count);
	if (!entries)
		return -EBADMSG;
	return range_decompile(in, prefix, entries, count, ctx->now_ns, out);
}

void set_decompile(const struct rl_set_words *in, uint32_t id, struct policy_set *out)
{
	*out = (struct policy_set){
		.source = in->source,
		.every_ns = in->every_ns,
		.timeout_ns = in->timeout_ns,
		.max = in->max,
		.shortest = {in->shortest[0], in->shortest[1]},
		.id = id,
	};
	memcpy(out->name, in->name, sizeof(out->name) - 1);
	memcpy(out->path, in->path, sizeof(out->path) - 1);
	memcpy(out->pick, in->pick, sizeof(out->pick) - 1);
	memcpy(out->comment, in->comment, sizeof(out->comment) - 1);
}

/* The sets, and the rules for their members. */
static int sets_append(struct policy *out, const struct compiled *in,
		       const struct compile_context *ctx)
{
	const struct rl_set_groups *groups = in->groups;
	int ret = 0;

	for (uint32_t id = 0; !ret && groups && id < RL_SETS_MAX; id++) {
		struct rule prefix = {.kind = PREFIX_SET};
		struct policy_set set;

		if (!(groups->defined >> id & 1))
			continue;
		set_decompile(&groups->words[id], id, &set);
		memcpy(prefix.set, set.name, sizeof(prefix.set));
		ret = policy_set_put(out, &set);
		if (!ret && groups->prefixes >> id & 1)
			ret = group_append(out, in, ctx, &groups->range[id], &prefix);
	}
	return ret;
}

/* entry: its rule; NULL: it is manual. */
static int alarm_append(struct policy *out, const struct compiled *in, const struct rl_alarm *words,
			const struct rl_rule *entry)
{
	const struct rule any = {.kind = PREFIX_ANY, .action = RL_ACTION_COUNT};
	struct policy counts = {0};
	struct policy_alarm alarm = {.unit = words->unit, .manual = !entry, .counts = any};
	int ret = entry ? range_decompile(in, &any, entry, 1, 0, &counts) : 0;

	if (!ret) {
		memcpy(alarm.name, words->name, sizeof(alarm.name) - 1);
		memcpy(alarm.comment, words->comment, sizeof(alarm.comment) - 1);
		for (int i = 0; entry && i < 2; i++) {
			alarm.phase[i].amount = words->phase[i].amount;
			alarm.phase[i].period_ns = words->phase[i].period_ns;
			alarm.phase[i].for_ns = words->phase[i].for_ns;
		}
		if (entry)
			alarm.counts = counts.rules[0];
		ret = policy_alarm_put(out, &alarm);
	}
	policy_clear(&counts);
	return ret;
}

static int alarms_append(struct policy *out, const struct compiled *in)
{
	const struct rl_alarms *alarms = in->alarms;
	const struct rl_range *range = &in->header.alarms;
	uint32_t base = in->header.rules_begin + in->first_rule;
	int ret = 0;

	if (!alarms)
		return 0;
	if (alarms->count > RL_ALARMS_MAX || alarms->count < range->count)
		return -EBADMSG;
	if (range->count &&
	    (range->first < base || range->first - base + range->count > in->rule_count))
		return -EBADMSG;
	for (uint32_t i = 0; !ret && i < alarms->count; i++) {
		bool manual = i >= range->count;

		if (alarms->alarm[i].manual != manual)
			return -EBADMSG;
		ret = alarm_append(out, in, &alarms->alarm[i],
				   manual ? NULL : &in->rules[range->first - base + i]);
	}
	return ret;
}

int policy_decompile(const struct compiled *in, const struct compile_context *ctx,
		     struct policy *out)
{
	struct policy result = {0};
	const struct rule device = {.kind = PREFIX_DEVICE}, any = {.kind = PREFIX_ANY};
	int ret = group_append(&result, in, ctx, &in->header.device, &device)
			  ?: group_append(&result, in, ctx, &in->header.any, &any);

	for (uint32_t i = 0; !ret && i < in->prefix_count; i++) {
		const struct rl_range *range = &in->prefixes[i].value.range;
		const struct rl_rule *entries = NULL;
		uint32_t count = 0;

		if (range->count)
			entries = range_entries(in, range, &count);
		ret = range->count && !entries ? -EBADMSG
					       : prefix_decompile(in, &in->prefixes[i], entries,
								  count, ctx->now_ns, &result);
	}
	if (!ret)
		ret = sets_append(&result, in, ctx) ?: alarms_append(&result, in);
	if (ret) {
		policy_clear(&result);
		return ret;
	}
	policy_sort(&result, NULL);
	*out = result;
	return 0;
}
