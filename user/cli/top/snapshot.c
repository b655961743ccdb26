// SPDX-License-Identifier: GPL-2.0-only
/* One snapshot as text and as JSON, whose keys are stable. */

#include "cli/top/top.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/events/event_json.h"
#include "cli/output/output.h"
#include "cli/output/state_output.h"
#include "cli/output/stats_output.h"
#include "kernel/attach/hook_names.h"
#include "kernel/instance/instance.h"
#include "policy/policy.h"
#include "watch/traffic/talkers.h"

/* ---- text */

static void rows_print(const struct top *top)
{
	uint32_t shown = top_views[top->by].columns;
	struct table table = {.columns = (size_t)__builtin_popcount(shown)};
	char text[TOP_TEXT_MAX];
	int at = 0;

	for (int c = 0; c < TOP_COLUMN_COUNT; c++) {
		if (!(shown & 1u << c))
			continue;
		table.right |= (uint32_t)top_columns[c].right << at++;
		table_cell(&table, top_heading(top, c));
	}
	for (size_t i = 0; i < top->count; i++)
		for (int c = 0; c < TOP_COLUMN_COUNT; c++) {
			if (!(shown & 1u << c))
				continue;
			top_cell(top, &top->rows[i], c, text);
			table_cell(&table, text);
		}
	table_print(&table);
}

void snapshot_print(const struct top *top, bool headed)
{
	char *device = text_shown(top->instance->device);
	struct screen_line line;

	if (headed)
		printf("%s %s\n", device, hook_name(top->instance->info.hook));
	free(device);
	for (int which = 0; which < TOP_LINES; which++)
		if (top_line_print(top, which, &line))
			puts(line.text);
	putchar('\n');
	rows_print(top);
}

/* ---- JSON */

static struct json_object *json_rate(const struct top_rate *rate)
{
	struct json_object *object = json_object_new_object();

	json_put_number(object, "packets_per_second", rate->packets);
	json_put_number(object, "bits_per_second", rate->bits);
	return object;
}

/* The number of the addresses, and what it is between. */
static void json_put_about(struct json_object *object, const char *names, const char *which,
			   uint64_t number)
{
	char key[TOP_CELL_MAX];

	snprintf(key, sizeof(key), "%s%s", names, which);
	json_put_number(object, key, number);
}

static struct json_object *json_group(const struct top *top, const struct top_group *group)
{
	struct json_object *object = json_rate(&group->rate);
	const char *names = top_views[top->by].names;
	char prefix[PREFIX_TEXT_MAX];

	if (group->len) {
		prefix_print(prefix, sizeof(prefix), group->addr, group->len);
		json_put_text(object, "prefix", prefix);
	}
	json_put_about(object, names, "", group->sources.about);
	json_put_about(object, names, "_least", group->sources.least);
	json_put_about(object, names, "_most", group->sources.most);
	json_put_bool(object, "seen_once", group->sources.once);
	return object;
}

/* By verdict; those that have any. */
static struct json_object *json_groups(const struct top *top, const struct top_group *groups)
{
	struct json_object *object = json_object_new_object();

	for (int v = 0; v < TALKER_VERDICTS; v++)
		if (groups[v].rare.sources)
			json_put(object, v == TALKER_DROPPED ? "dropped" : "passed",
				 json_group(top, &groups[v]));
	return object;
}

static void json_put_rule(struct json_object *object, const struct top *top,
			  const struct top_row *row)
{
	char text[TOP_TEXT_MAX];

	if (!row->rule)
		return;
	rule_format(text, row->rule, &top->book.ctx);
	json_put_text(object, "rule", text);
}

/* The keys of `source show`; missing values have no key. */
static struct json_object *json_row(const struct top *top, const struct top_row *row)
{
	const struct source_entry *state = &row->state;
	struct json_object *object = json_object_new_object(), *verdict;
	bool rules = top->by == TOP_BY_RULE;
	struct pattern pattern;
	char text[TOP_TEXT_MAX];

	if (top->by == TOP_BY_PATTERN) {
		memcpy(&pattern, row->addr, sizeof(pattern));
		pattern.network = row->network;
		pattern_json_put(object, &pattern);
		json_put(object, "share", share_json(top_share(top, row)));
	} else if (!rules) {
		top_cell(top, row, COLUMN_NAME, text);
		json_put_text(object, top_views[top->by].name, text);
	} else {
		json_put_rule(object, top, row);
	}
	for (int v = 0; v < TALKER_VERDICTS; v++) {
		verdict = json_rate(&row->rate[v]);
		json_put_number(verdict, rules ? "packets" : "packets_per_second_error",
				rules ? row->count[v].packets : row->error[v].packets);
		json_put_number(verdict, rules ? "bytes" : "bits_per_second_error",
				rules ? row->count[v].bytes : row->error[v].bits);
		json_put(object, v == TALKER_DROPPED ? "dropped" : "passed", verdict);
	}
	if (rules)
		return object;
	if (row->dport.known) {
		json_put(object, "dport", json_object_new_int((int)row->dport.value));
		json_put(object, "dport_percent", json_object_new_int((int)row->dport.share));
	}
	json_put_rule(object, top, row);
	if (state->has_state) {
		json_put_number(object, "remaining", state->allowance.remaining);
		json_put_text(object, "unit",
			      state->rule->limit.unit == RL_PACKETS ? "packets" : "bytes");
		json_put_number(object, "wait_ns", state->allowance.wait_ns);
	}
	if (state->ban_ns)
		json_put_number(object, "ban_ns", state->ban_ns);
	return object;
}

struct json_object *snapshot_json(const struct top *top)
{
	struct json_object *document = json_instance(top->instance),
			   *rows = json_object_new_array();
	bool rules = top->by == TOP_BY_RULE;

	for (size_t i = 0; i < top->count; i++)
		json_append(rows, json_row(top, &top->rows[i]));
	json_put(document, "dropped", json_rate(&top->rate[TALKER_DROPPED]));
	json_put(document, "passed", json_rate(&top->rate[TALKER_PASSED]));
	json_put_number(document, "window_ns", rules ? top->rules_ns : top->window_ns);
	if (!rules)
		json_put_number(document, "lost", top->figures.lost);
	json_put(document, top_views[top->by].names, rows);
	if (!rules)
		json_put(document, "unlisted", json_groups(top, top->rare));
	if (top_has_addresses(top))
		json_put(document, "prefixes", json_groups(top, top->prefix));
	json_put_alarms(document, &top->alarms, &top->alarms_at);
	return document;
}
