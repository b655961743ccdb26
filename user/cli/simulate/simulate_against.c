// SPDX-License-Identifier: GPL-2.0-only
/* Differences that the policy of --against makes. */
#include "cli/simulate/simulate.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/text.h"
#include "base/units.h"
#include "cli/output/output.h"
#include "cli/output/stats_output.h"
#include "kernel/instance/instance.h"
#include "kernel/scope.h"
#include "kernel/simulation.h"
#include "kernel/state/stats.h"
#include "policy/names.h"
#include "watch/traffic/rule_book.h"

#define SOURCES_SHOWN     10
#define DIFFERENCES_SHOWN 10

static int difference_compare(const void *a, const void *b)
{
	const struct difference *x = *(const struct difference *const *)a;
	const struct difference *y = *(const struct difference *const *)b;

	if (x->amount.packets != y->amount.packets)
		return x->amount.packets < y->amount.packets ? 1 : -1;
	return memcmp(&x->key, &y->key, sizeof(x->key));
}

const struct difference **differences_sorted(const struct record *record, size_t *count)
{
	const struct difference **list;
	size_t n = 0;

	*count = HASH_COUNT(record->differences);
	list = xcalloc(*count + 1, sizeof(const struct difference *));
	for (const struct difference *d = record->differences; d; d = d->hh.next)
		list[n++] = d;
	qsort(list, n, sizeof(const struct difference *), difference_compare);
	return list;
}

/* The rule of the difference as words, "" where none decided. */
static void difference_rule(const struct record *record, const struct difference *difference,
			    char words[RULE_TEXT_MAX])
{
	const struct record_side *side = &record->sides[difference->key.side];
	const struct rule *rule = rule_counted(side->policy, difference->key.counter_id);
	struct policy_context ctx;

	words[0] = '\0';
	instance_context(simulation_instance(side->simulation), &ctx);
	if (rule)
		rule_format(words, rule, &ctx);
}

/* ---- text */

static void differences_print(const struct record *record)
{
	struct table table = {.columns = 5, .right = 3};
	const struct difference **list;
	char words[RULE_TEXT_MAX];
	size_t count;

	list = differences_sorted(record, &count);
	table_row(&table, "packets", "bytes", "dropped only by", "reason", "rule", (char *)NULL);
	for (size_t i = 0; i < count && i < DIFFERENCES_SHOWN; i++) {
		table_number(&table, list[i]->amount.packets);
		table_number(&table, list[i]->amount.bytes);
		table_cell(&table, record->sides[list[i]->key.side].name);
		table_cell(&table, reason_rows[list[i]->key.reason].text);
		difference_rule(record, list[i], words);
		table_cell(&table, words);
	}
	table_print(&table);
	if (count > DIFFERENCES_SHOWN)
		printf("and %zu more: -j and --report show all\n", count - DIFFERENCES_SHOWN);
	free(list);
}

static void sources_print(const struct record *record)
{
	const struct heavy_source *top[SOURCES_SHOWN];
	size_t count = heavy_top(&record->differing, HEAVY_ALL, UINT64_MAX, top, SOURCES_SHOWN);
	struct table table = {.columns = 3, .right = 3};
	char source[PREFIX_TEXT_MAX];

	table_cell(&table, record->sides[0].name);
	table_cell(&table, record->sides[1].name);
	table_cell(&table, "source (packets that only this policy drops)");
	for (size_t i = 0; i < count; i++) {
		table_number(&table, top[i]->amount[0].packets);
		table_number(&table, top[i]->amount[1].packets);
		heavy_print(source, sizeof(source), top[i]);
		table_cell(&table, source);
	}
	table_print(&table);
}

void simulate_against_print(const struct record *record)
{
	bool same = !record->only[0].packets && !record->only[1].packets;
	char *names[RECORD_SIDES];

	for (int i = 0; i < RECORD_SIDES; i++)
		names[i] = text_shown(record->sides[i].name);
	if (same)
		printf("\nagainst %s: both drop the same packets\n", names[1]);
	else
		printf("\nagainst %s: %s dropped only by %s, %s only by %s\n", names[1],
		       number_text(record->only[0].packets), names[0],
		       number_text(record->only[1].packets), names[1]);
	for (int i = 0; i < RECORD_SIDES; i++)
		free(names[i]);
	if (same)
		return;
	differences_print(record);
	putchar('\n');
	sources_print(record);
}

/* ---- JSON */

static const char *const side_keys[RECORD_SIDES] = {"policy", "against"};

static struct json_object *json_differences(const struct record *record)
{
	struct json_object *array = json_object_new_array();
	const struct difference **list;
	char words[RULE_TEXT_MAX];
	size_t count;

	list = differences_sorted(record, &count);
	for (size_t i = 0; i < count; i++) {
		const struct difference *d = list[i];
		struct json_object *object = json_amount(&d->amount);

		json_put_text(object, "dropped_by", side_keys[d->key.side]);
		json_put_text(object, "reason", reason_rows[d->key.reason].text);
		difference_rule(record, d, words);
		if (*words)
			json_put_text(object, "rule", words);
		json_append(array, object);
	}
	free(list);
	return array;
}

static struct json_object *json_source(const struct heavy_source *source)
{
	struct json_object *object = json_object_new_object();

	for (int side = 0; side < RECORD_SIDES; side++)
		json_put(object, side_keys[side], json_amount(&source->amount[side]));
	json_put_number(object, "missed", source->missed);
	return object;
}

struct json_object *json_differing(const struct record *record, size_t max, bool folded)
{
	FREED const struct heavy_source **top = xcalloc(max, sizeof(const struct heavy_source *));
	struct json_object *array = json_object_new_array();
	struct heavy_source sum;
	char source[PREFIX_TEXT_MAX];
	size_t count, singles;

	count = heavy_top(&record->differing, HEAVY_ALL, UINT64_MAX, top, max);
	singles = folded ? heavy_singles(&record->differing, HEAVY_ALL, UINT64_MAX, &sum) : 0;
	folded = singles > 1;
	for (size_t i = 0; i < count; i++) {
		struct json_object *object;

		if (folded && heavy_amount(top[i], HEAVY_ALL).packets == 1)
			break;
		object = json_source(top[i]);
		heavy_print(source, sizeof(source), top[i]);
		json_put_text(object, "source", source);
		json_append(array, object);
	}
	if (folded) {
		struct json_object *object = json_source(&sum);

		json_put_number(object, "source", singles);
		json_append(array, object);
	}
	return array;
}

int simulate_against_json(const struct record *record, struct json_object *object)
{
	const struct record_side *side = &record->sides[1];
	struct json_object *against, *only;
	struct instance_stats stats;
	int rc = simulation_stats_read(side->simulation, &stats);

	if (rc)
		return rc;
	against = json_object_new_object();
	json_put_text(against, "name", side->name);
	json_put_stats(against, simulation_instance(side->simulation), &stats);
	instance_stats_clear(&stats);
	only = json_object_new_object();
	for (int i = 0; i < RECORD_SIDES; i++)
		json_put(only, side_keys[i], json_amount(&record->only[i]));
	json_put(against, "dropped_only_by", only);
	json_put(against, "differences", json_differences(record));
	json_put(against, "sources", json_differing(record, SOURCES_SHOWN, false));
	json_put(object, "against", against);
	return 0;
}
