// SPDX-License-Identifier: GPL-2.0-only
/* The member "report" of the document in a page. Times are microseconds, which the numbers of
 * JavaScript hold exactly; a series has a number for each bin. */
#include <stdlib.h>

#include "base/units.h"
#include "cli/output/shares_output.h"
#include "cli/report/page.h"
#include "cli/simulate/simulate.h"
#include "kernel/instance/instance.h"
#include "kernel/simulation.h"
#include "policy/names.h"

/* A row with a drawing takes some kilobytes. */
#define RULES_DRAWN       100
#define DIFFERENCES_DRAWN 50
#define SOURCES_SHOWN     20

/* Drops begin with the first step that has so many per cent of the drops of the worst one: single
 * packets over a limit are no attack. */
#define DROPS_BEGIN_PERCENT 10

static void append_number(struct json_object *array, uint64_t n)
{
	json_append(array, json_object_new_uint64(n));
}

static void put_time(struct json_object *object, const char *key, uint64_t time_ns)
{
	json_put_number(object, key, time_ns / NS_PER_US);
}

static void put_series(struct json_object *object, const char *key, const struct record *record,
		       const struct series *series, bool bytes)
{
	struct json_object *array;

	if (!series)
		return;
	array = json_object_new_array();
	for (size_t i = 0; i < record->timeline.count; i++)
		append_number(array, bytes ? series->at[i].bytes : series->at[i].packets);
	json_put(object, key, array);
}

/* All reasons; those without a packet have no series. */
static struct json_object *json_reasons(const struct record *record)
{
	struct json_object *array = json_object_new_array();

	for (int i = 0; i < RL_REASON_COUNT; i++) {
		const struct series *series = record->sides[0].reasons[i];
		struct json_object *object = json_object_new_object();

		json_put_text(object, "reason", reason_rows[i].text);
		json_put_bool(object, "passes", reason_rows[i].passes);
		put_series(object, "packets", record, series, false);
		put_series(object, "bytes", record, series, true);
		json_append(array, object);
	}
	return array;
}

/* ---- rules */

struct rule_row {
	const struct rule *rule;
	const struct rule_series *series;
	struct rl_amount passed, dropped, shadow;
	const struct share_series *share; /* NULL: no limit that classes of senders share */
};

static int row_compare(const void *a, const void *b)
{
	const struct rule_row *x = a, *y = b;

	if (x->dropped.packets != y->dropped.packets)
		return x->dropped.packets < y->dropped.packets ? 1 : -1;
	if (x->passed.packets != y->passed.packets)
		return x->passed.packets < y->passed.packets ? 1 : -1;
	return (x->rule > y->rule) - (x->rule < y->rule);
}

/* The rules with packets, those that dropped most first; the caller frees them. */
static struct rule_row *rows_make(const struct record *record, size_t *count)
{
	const struct record_side *side = &record->sides[0];
	struct rule_row *rows = xcalloc(side->policy->count + 1, sizeof(*rows));

	*count = 0;
	for (size_t i = 0; i < side->policy->count; i++) {
		const struct rule_series *series = &side->rules[i];

		if (!series->passed && !series->dropped && !series->shadow)
			continue;
		rows[(*count)++] = (struct rule_row){
			.rule = &side->policy->rules[i],
			.share = side->shares && has_classes(&side->policy->rules[i])
					 ? &side->shares[i]
					 : NULL,
			.series = series,
			.passed = record_sum(record, series->passed),
			.dropped = record_sum(record, series->dropped),
			.shadow = record_sum(record, series->shadow),
		};
	}
	qsort(rows, *count, sizeof(*rows), row_compare);
	return rows;
}

static struct json_object *json_rule(const struct record *record, const struct rule_row *row,
				     bool drawn)
{
	struct json_object *object = json_object_new_object(), *over_time, *share, *class;
	struct policy_context ctx;
	char words[RULE_TEXT_MAX];

	instance_context(simulation_instance(record->sides[0].simulation), &ctx);
	rule_format(words, row->rule, &ctx);
	json_put_text(object, "rule", words);
	json_put_text(object, "comment", row->rule->comment);
	json_put(object, "passed", json_amount(&row->passed));
	json_put(object, "dropped", json_amount(&row->dropped));
	json_put(object, "shadow", json_amount(&row->shadow));
	if (!drawn)
		return object;
	over_time = json_object_new_object();
	put_series(over_time, "passed", record, row->series->passed, false);
	put_series(over_time, "dropped", record, row->series->dropped, false);
	put_series(over_time, "shadow", record, row->series->shadow, false);
	json_put(object, "over_time", over_time);
	if (!row->share)
		return object;
	share = json_object_new_object();
	json_put_text(share, "unit", share_unit(row->rule));
	for (int i = 0; i < RL_SHARE_COUNTS; i++) {
		if (!row->share->arrived[i]) /* classes of which nothing came are left out */
			continue;
		class = json_object_new_object();
		put_series(class, "arrived", record, row->share->arrived[i], false);
		put_series(class, "passed", record, row->share->passed[i], false);
		json_put(share, share_class_names[i], class);
	}
	json_put(object, "share", share);
	return object;
}

/* ---- sources and alarms */

static uint64_t drops_at(const struct record_side *side, size_t bin)
{
	uint64_t sum = 0;

	for (int i = 0; i < RL_REASON_COUNT; i++)
		if (side->reasons[i] && !reason_rows[i].passes)
			sum += side->reasons[i]->at[bin].packets;
	return sum;
}

/* 0: nothing was dropped. */
static uint64_t drops_begin_ns(const struct record *record, const struct record_side *side)
{
	uint64_t worst = 0, begin_ns;
	size_t bin = 0;

	for (size_t i = 0; i < record->timeline.count; i++)
		worst = drops_at(side, i) > worst ? drops_at(side, i) : worst;
	if (!worst)
		return 0;
	while (drops_at(side, bin) * 100 < worst * DROPS_BEGIN_PERCENT)
		bin++;
	begin_ns = timeline_begin_ns(&record->timeline, bin);
	return begin_ns > record->first_ns ? begin_ns : record->first_ns;
}

/* As [source, dropped, passed, bytes, missed, first_us, last_us]. */
static struct json_object *json_source(struct json_object *name, const struct heavy_source *source,
				       int side)
{
	struct rl_amount dropped = heavy_amount(source, RECORD_DROPPED(side));
	struct rl_amount passed = heavy_amount(source, HEAVY_ALL & ~RECORD_DROPPED(side));
	struct json_object *row = json_object_new_array();

	json_append(row, name);
	append_number(row, dropped.packets);
	append_number(row, passed.packets);
	append_number(row, dropped.bytes + passed.bytes);
	append_number(row, source->missed);
	append_number(row, source->first_ns / NS_PER_US);
	append_number(row, source->last_ns / NS_PER_US);
	return row;
}

/* No more than are shown, so that who passes the page on passes on no other address; those with one
 * packet of these kinds are one row, with their number in place of an address. */
static struct json_object *json_heaviest(const struct heavy *sources, int side, unsigned int kinds,
					 uint64_t before_ns)
{
	const struct heavy_source *top[SOURCES_SHOWN];
	size_t count = heavy_top(sources, kinds, before_ns, top, SOURCES_SHOWN), singles;
	struct json_object *list = json_object_new_array();
	struct heavy_source sum;
	char text[PREFIX_TEXT_MAX];

	singles = heavy_singles(sources, kinds, before_ns, &sum);
	for (size_t i = 0; i < count; i++) {
		if (singles > 1 && heavy_amount(top[i], kinds).packets == 1)
			break;
		heavy_print(text, sizeof(text), top[i]);
		json_append(list, json_source(json_object_new_string(text), top[i], side));
	}
	if (singles > 1)
		json_append(list, json_source(json_object_new_uint64(singles), &sum, side));
	return list;
}

/* Those first seen before that time, and what this side's policy dropped of them. */
static struct json_object *json_known(const struct record *record, int side, uint64_t before_ns)
{
	struct json_object *object = json_object_new_object();
	uint64_t count = 0, losing = 0, all = 0, dropped = 0;

	for (const struct heavy_source *s = record->sources.list; s; s = s->hh.next) {
		uint64_t lost = heavy_amount(s, RECORD_DROPPED(side)).packets;

		if (s->first_ns >= before_ns)
			continue;
		count++;
		losing += lost > 0;
		all += heavy_amount(s, HEAVY_ALL).packets;
		dropped += lost;
	}
	json_put_number(object, "count", count);
	json_put_number(object, "losing", losing);
	json_put_number(object, "passed", all - dropped);
	json_put_number(object, "dropped", dropped);
	json_put(object, "heaviest",
		 json_heaviest(&record->sources, side, RECORD_DROPPED(side), before_ns));
	return object;
}

/* Both policies are asked about the same sources, those that came in the first half of the time
 * before drops began: sources of its second half may belong to what was dropped then, for a limit's
 * burst lets the first packets of a flood pass. */
static struct json_object *json_sources(const struct record *record)
{
	struct json_object *object = json_object_new_object(), *known = json_object_new_array();
	uint64_t begin_ns = 0, before_ns = 0;

	for (int i = 0; !begin_ns && i < record->side_count; i++)
		begin_ns = drops_begin_ns(record, &record->sides[i]);
	if (begin_ns > record->first_ns)
		before_ns = record->first_ns + (begin_ns - record->first_ns) / 2;
	for (int i = 0; i < record->side_count; i++)
		json_append(known, json_known(record, i, before_ns));
	json_put_number(object, "count", HASH_COUNT(record->sources.list));
	json_put_number(object, "missed", record->sources.missed);
	json_put_number(object, "max", HEAVY_MAX);
	json_put(object, "heaviest", json_heaviest(&record->sources, 0, HEAVY_ALL, UINT64_MAX));
	json_put(object, "known", known);
	return object;
}

static struct json_object *json_alarms(const struct alarm_record *alarms)
{
	struct json_object *object = json_object_new_object();
	struct json_object *names = json_object_new_array(), *spans = json_object_new_array();

	for (uint32_t i = 0; i < alarms->count; i++)
		json_append(names, json_object_new_string(alarms->seen[i].name));
	for (size_t i = 0; i < alarms->span_count; i++) {
		const struct alarm_span *span = &alarms->spans[i];
		struct json_object *row = json_object_new_object();

		json_put_text(row, "alarm", alarms->seen[span->alarm].name);
		put_time(row, "from_us", span->from_ns);
		put_time(row, "to_us", span->to_ns);
		json_put_bool(row, "open", span->open);
		json_append(spans, row);
	}
	json_put(object, "names", names);
	json_put(object, "spans", spans);
	json_put_number(object, "lost", alarms->lost);
	return object;
}

/* ---- against another policy */

/* Beside the first of the array "differences" of -j, in its order, and the sum of all of a side. */
static void put_differences(struct json_object *object, const struct record *record)
{
	struct json_object *drawn = json_object_new_array();
	struct series only[RECORD_SIDES] = {0};
	const struct difference **list;
	size_t count;

	list = differences_sorted(record, &count);
	for (size_t i = 0; i < count; i++) {
		struct json_object *row;

		for (size_t bin = 0; bin < record->timeline.count; bin++)
			amount_add(&only[list[i]->key.side].at[bin], &list[i]->series->at[bin]);
		if (i >= DIFFERENCES_DRAWN)
			continue;
		row = json_object_new_object();
		put_series(row, "packets", record, list[i]->series, false);
		json_append(drawn, row);
	}
	free(list);
	json_put(object, "differences", drawn);
	put_series(object, "only_policy", record, &only[0], false);
	put_series(object, "only_against", record, &only[1], false);
	json_put(object, "differing", json_differing(record, SOURCES_SHOWN, true));
}

struct json_object *page_json(const struct page *page)
{
	const struct record *record = page->record;
	const struct timeline *timeline = &record->timeline;
	struct json_object *object = json_object_new_object(), *bins = json_object_new_object();
	struct json_object *policies = json_object_new_array(), *alarms = json_object_new_array();
	struct json_object *rules = json_object_new_array();
	struct rule_row *rows;
	size_t count;

	for (int i = 0; i < record->side_count; i++) {
		json_append(policies, json_object_new_string(record->sides[i].name));
		json_append(alarms, json_alarms(&record->sides[i].alarms));
	}
	put_time(bins, "first_us", timeline_begin_ns(timeline, 0));
	put_time(bins, "width_us", timeline_width_ns(timeline));
	json_put_number(bins, "count", timeline->count);
	rows = rows_make(record, &count);
	for (size_t i = 0; i < count; i++)
		json_append(rules, json_rule(record, &rows[i], i < RULES_DRAWN));
	free(rows);
	json_put_text(object, "capture", page->capture);
	json_put(object, "policies", policies);
	json_put_number(object, "not_run", page->not_run);
	json_put_number(object, "jumps", page->jumps);
	json_put_number(object, "packets", record->packets.packets);
	json_put_number(object, "bytes", record->packets.bytes);
	put_time(object, "first_us", record->first_ns);
	put_time(object, "last_us", record->last_ns);
	json_put(object, "bins", bins);
	json_put(object, "reasons", json_reasons(record));
	json_put(object, "rules", rules);
	put_time(object, "began_us", drops_begin_ns(record, &record->sides[0]));
	json_put_number(object, "began_percent", DROPS_BEGIN_PERCENT);
	json_put(object, "sources", json_sources(record));
	json_put(object, "alarms", alarms);
	if (record->side_count > 1)
		put_differences(object, record);
	return object;
}
