// SPDX-License-Identifier: GPL-2.0-only
/* The index of a prefix with more rules than packets are asked one by one. Each table is made by
 * the axis that leaves the fewest rules to ask: rules that state nothing of it, or only what it is
 * not, are in all of its intervals. */
#include "base/array.h"
#include "compile/build.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "compile/meeting.h"
#include "policy/packets/pset.h"

/* The numbers of one rule on the axis. */
struct span {
	uint32_t first, last;
	uint16_t rule;
};

struct table {
	enum rl_index_table kind;
	enum rl_index_axis axis;
	struct span *spans; /* rules in their order */
	size_t span_count;
	uint32_t *starts; /* of intervals; ascending, each once */
	size_t start_count;
	size_t deepest;   /* most rules of an interval */
	uint32_t busiest; /* where that interval begins */
	uint64_t depth;   /* rules of all intervals */
};

/* ---- which packets of a table a rule may match */

static bool may_have_proto(const struct rule *rule, uint8_t proto)
{
	return !match_wants(&rule->match, RL_MATCH_PROTO) || rule->match.proto == proto;
}

/* Can packets of that table match the rule, whatever the number? */
static bool is_of_table(const struct rule *rule, enum rl_index_table kind)
{
	bool ports = rule->match.flags & (RL_MATCH_SPORT | RL_MATCH_DPORT);
	uint8_t proto = rule->match.proto;

	switch (kind) {
	case RL_INDEX_TCP:
		return may_have_proto(rule, IPPROTO_TCP);
	case RL_INDEX_UDP:
		return may_have_proto(rule, IPPROTO_UDP);
	case RL_INDEX_PORTS:
		return !match_wants(&rule->match, RL_MATCH_PROTO) ||
		       (proto != IPPROTO_TCP && proto != IPPROTO_UDP);
	default:
		return !ports;
	}
}

static uint32_t axis_end(enum rl_index_axis axis)
{
	return axis == RL_INDEX_PROTO ? 255 : UINT16_MAX;
}

static void rule_spans(struct table *table, const struct rule *rule, uint16_t number)
{
	static const enum rl_match_flag flags[] = {
		[RL_INDEX_DPORT] = RL_MATCH_DPORT,
		[RL_INDEX_SPORT] = RL_MATCH_SPORT,
		[RL_INDEX_PROTO] = RL_MATCH_PROTO,
	};
	struct ranges ranges = {.count = 1, .range = {{0, axis_end(table->axis)}}};

	if (!is_of_table(rule, table->kind))
		return;
	if (match_wants(&rule->match, flags[table->axis]))
		rule_values(rule, flags[table->axis], &ranges);
	for (uint32_t i = 0; i < ranges.count; i++)
		table->spans[table->span_count++] =
			(struct span){ranges.range[i].first, ranges.range[i].last, number};
}

/* ---- a table by one axis */

static void starts_find(struct table *table)
{
	size_t kept = 1;

	table->starts[table->start_count++] = 0;
	for (size_t i = 0; i < table->span_count; i++) {
		table->starts[table->start_count++] = table->spans[i].first;
		if (table->spans[i].last < axis_end(table->axis))
			table->starts[table->start_count++] = table->spans[i].last + 1;
	}
	qsort(table->starts, table->start_count, sizeof(*table->starts), numbers_compare);
	for (size_t i = 1; i < table->start_count; i++)
		if (table->starts[i] != table->starts[kept - 1])
			table->starts[kept++] = table->starts[i];
	table->start_count = kept;
}

/* Calls for each rule of the interval that begins there, in their order: collects up to `max` of
 * them. Returns how many there are. */
static size_t run_collect(const struct table *table, uint32_t start, uint16_t *out, size_t max)
{
	size_t count = 0;
	int last = -1;

	for (const struct span *span = table->spans; span < table->spans + table->span_count;
	     span++) {
		if (span->first > start || span->last < start || span->rule == last)
			continue;
		last = span->rule;
		if (count < max)
			out[count] = span->rule;
		count++;
	}
	return count;
}

static void table_clear(struct table *table)
{
	free(table->spans);
	free(table->starts);
}

static int table_make(struct table *table, const struct rule *const *rules, size_t count)
{
	size_t most = count * RL_PORT_RANGES_MAX;

	table->spans = calloc(most, sizeof(*table->spans));
	table->starts = calloc(2 * most + 1, sizeof(*table->starts));
	if (!table->spans || !table->starts)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		rule_spans(table, rules[i], i);
	starts_find(table);
	for (size_t i = 0; i < table->start_count; i++) {
		size_t depth = run_collect(table, table->starts[i], NULL, 0);

		table->depth += depth;
		if (depth > table->deepest) {
			table->deepest = depth;
			table->busiest = table->starts[i];
		}
	}
	return 0;
}

/* By the better of the axes that the packets of the table have. */
static int table_choose(struct table *table, const struct rule *const *rules, size_t count)
{
	struct table other = {.kind = table->kind, .axis = RL_INDEX_SPORT};
	int ret;

	table->axis = table->kind == RL_INDEX_NO_PORTS ? RL_INDEX_PROTO : RL_INDEX_DPORT;
	ret = table_make(table, rules, count);
	if (ret || table->axis == RL_INDEX_PROTO)
		return ret;
	ret = table_make(&other, rules, count);
	if (!ret && (other.deepest != table->deepest ? other.deepest < table->deepest
						     : other.depth < table->depth)) {
		struct table former = *table;

		*table = other;
		other = former;
	}
	table_clear(&other);
	return ret;
}

/* ---- entries */

static int entry_append(struct index *index, struct rl_index_entry entry)
{
	struct rl_index_entry *entries;

	if (index->count == RL_INDEX_MAX)
		return -ENOSPC;
	entries = array_room(index->entries, index->count, &index->capacity, sizeof(*entries));
	if (!entries)
		return -ENOMEM;
	index->entries = entries;
	entries[index->count++] = entry;
	return 0;
}

/* Leaves out of table->starts those where nothing changes. */
static void starts_merge(struct table *table)
{
	uint16_t runs[2][RL_RUN_MAX];
	size_t kept = 0, before = 0;

	for (size_t i = 0; i < table->start_count; i++) {
		uint16_t *run = runs[kept & 1], *last = runs[(kept & 1) ^ 1];
		size_t count = run_collect(table, table->starts[i], run, RL_RUN_MAX);

		if (kept && count == before && !memcmp(run, last, count * sizeof(*run)))
			continue;
		table->starts[kept++] = table->starts[i];
		before = count;
	}
	table->start_count = kept;
}

static int table_append(struct index *index, size_t at, struct table *table, uint32_t first)
{
	uint16_t run[RL_RUN_MAX];
	size_t intervals;
	int ret = 0;

	starts_merge(table);
	intervals = index->count;
	index->entries[at] = (struct rl_index_entry){
		.first = intervals, .start = table->axis, .count = table->start_count};
	for (size_t i = 0; !ret && i < table->start_count; i++)
		ret = entry_append(index, (struct rl_index_entry){.start = table->starts[i]});
	for (size_t i = 0; !ret && i < table->start_count; i++) {
		size_t count = run_collect(table, table->starts[i], run, RL_RUN_MAX);
		struct rl_index_entry *interval = &index->entries[intervals + i];

		interval->count = count;
		interval->first = count == 1 ? first + run[0] : index->count;
		for (size_t j = 0; !ret && count > 1 && j < count; j++)
			ret = entry_append(index, (struct rl_index_entry){.first = first + run[j]});
	}
	return ret;
}

static void crowd_note(struct crowd *crowd, const struct table *table,
		       const struct rule *const *rules)
{
	static const uint8_t protos[] = {
		[RL_INDEX_TCP] = IPPROTO_TCP,
		[RL_INDEX_UDP] = IPPROTO_UDP,
		[RL_INDEX_PORTS] = IPPROTO_SCTP,
	};
	struct match packet = {.flags = RL_MATCH_PROTO};

	packet.proto = table->axis == RL_INDEX_PROTO ? table->busiest : protos[table->kind];
	if (table->axis == RL_INDEX_DPORT) {
		packet.flags |= RL_MATCH_DPORT;
		packet.dport_first = packet.dport_last = table->busiest;
	} else if (table->axis == RL_INDEX_SPORT) {
		packet.flags |= RL_MATCH_SPORT;
		packet.sport_first = packet.sport_last = table->busiest;
	}
	*crowd = (struct crowd){.packet = packet, .count = table->deepest};
	for (size_t i = 0; i < table->span_count; i++)
		if (table->spans[i].first <= table->busiest &&
		    table->spans[i].last >= table->busiest)
			crowd->last = rules[table->spans[i].rule];
}

int index_append(struct index *index, const struct rule *const *rules, size_t count, uint32_t first,
		 struct crowd *crowd)
{
	size_t root = index->count;
	int ret = entry_append(index, (struct rl_index_entry){.first = first, .count = count});

	for (int i = 0; !ret && i < RL_INDEX_TABLES; i++)
		ret = entry_append(index, (struct rl_index_entry){0});
	for (int i = 0; !ret && i < RL_INDEX_TABLES; i++) {
		struct table table = {.kind = i};

		ret = table_choose(&table, rules, count);
		if (!ret && table.deepest > RL_RUN_MAX) {
			crowd_note(crowd, &table, rules);
			ret = -E2BIG;
		}
		if (!ret)
			ret = table_append(index, root + 1 + i, &table, first);
		table_clear(&table);
	}
	return ret;
}

void index_clear(struct index *index)
{
	free(index->entries);
	*index = (struct index){0};
}

/* ---- errors */

/* The words of a match: "udp dport 53". */
static void packet_print(char out[RULE_TEXT_MAX], const struct build *b, const struct match *match)
{
	struct rule rule = {.kind = PREFIX_ANY, .action = RL_ACTION_ALLOW, .match = *match};
	char text[RULE_TEXT_MAX], *words, *end;

	rule_format(text, &rule, b->ctx->text);
	words = strchr(text, ' ');
	end = strrchr(text, ' ');
	if (!words || words == end)
		snprintf(out, RULE_TEXT_MAX, "every packet");
	else
		snprintf(out, RULE_TEXT_MAX, "a packet of \"%.*s\"", (int)(end - words - 1),
			 words + 1);
}

int limits_check(struct build *b, const struct rule *const *order, size_t count)
{
	const struct policy_context *text = b->ctx->text;
	char packet[RULE_TEXT_MAX];
	bool one_prefix = true;
	struct meeting met;
	int ret = limits_meet(order, count, text && text->by_dest, &met);

	if (ret == -E2BIG) {
		for (size_t i = 1; i < met.count; i++)
			one_prefix &= same_prefix(met.rules[0], met.rules[i]);
		packet_print(packet, b, &met.packet);
		/* Each of them, at its line. */
		for (size_t i = 0; i < met.count; i++)
			build_refuse(b, met.rules[i], -E2BIG,
				     "%s would meet this limit and %zu others of %s (at most %u): "
				     "remove one, or narrow their matches",
				     packet, met.count - 1,
				     one_prefix ? "its prefix" : "sets that its address may be in",
				     RL_GROUP_MAX);
		return 0;
	}
	if (ret == -EOVERFLOW)
		return build_refuse(b, order[count - 1], -E2BIG,
				    "the limits of this prefix overlap in too many ways to tell "
				    "whether one packet could meet more than 8: narrow their "
				    "matches");
	return ret;
}

/* Errors of one prefix do not keep those of others from being found. */
int group_index(struct build *b, const struct rule *first, size_t count, uint32_t begin)
{
	const struct rule **order =
		(const struct rule **)calloc(count, sizeof(const struct rule *));
	char packet[RULE_TEXT_MAX];
	struct crowd crowd = {0};
	int ret, checked = -ENOMEM;
	size_t used = 0;

	for (int action = RL_ACTION_ALLOW; order && action <= RL_ACTION_LIMIT; action++)
		for (const struct rule *rule = first; rule < first + count; rule++)
			if (rule->action == action)
				order[used++] = rule;
	if (order)
		checked = limits_check(b, order, count); /* reports */
	ret = checked ? checked : index_append(&b->out->index, order, count, begin, &crowd);
	if (!checked && ret == -E2BIG) {
		packet_print(packet, b, &crowd.packet);
		build_refuse(
			b, crowd.last, -E2BIG,
			"the last of %zu rules that, by protocol and port, %s may match (at most "
			"%u): give them protocols or ports, or write those of single addresses as "
			"rules for these prefixes",
			crowd.count, packet, RL_RUN_MAX);
	} else if (!checked && ret == -ENOSPC) {
		build_refuse(
			b, order[0], -E2BIG,
			"the index of all rules is too large (at most %u): write fewer prefixes "
			"with more than 8 rules, or rules whose ports overlap less",
			RL_INDEX_MAX);
	}
	free(order);
	return ret == -ENOMEM ? ret : 0;
}
