// SPDX-License-Identifier: GPL-2.0-only
#include "cli/output/shares_output.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/text.h"
#include "base/units.h"
#include "cli/output/line.h"

const char *share_unit(const struct rule *rule)
{
	return rule->limit.unit == RL_PACKETS ? "packets" : "bytes";
}

struct json_object *json_share(const struct rule *rule, const struct share_counts *counts)
{
	struct json_object *object = json_object_new_object();

	json_put_bool(object, "short", counts->is_short);
	json_put_text(object, "unit", share_unit(rule));
	if (!has_classes(rule) && counts->is_short) {
		json_put_number(object, "keys", counts->keys);
		json_put_number(object, "pace", counts->key_pace);
	}
	for (int i = 0; has_classes(rule) && i < RL_SHARE_COUNTS; i++) {
		struct json_object *class = json_object_new_object();

		json_put_number(class, "arrived", counts->arrived[i]);
		json_put_number(class, "passed", counts->passed[i]);
		if (counts->is_short && i < RL_SHARE_CLASSES) {
			json_put_number(class, "room", counts->room[i]);
			json_put_number(class, "pace", counts->pace[i]);
		}
		json_put(object, share_class_names[i], class);
	}
	return object;
}

/* ---- text */

/* A counter that decreased was reset meanwhile. */
static uint64_t grown(uint64_t now, uint64_t before)
{
	return now >= before ? now - before : now;
}

static void rate_cell(struct table *table, uint64_t amount, uint64_t elapsed_ns)
{
	unsigned __int128 scaled = (unsigned __int128)amount * NS_PER_SECOND;

	table_number(table, elapsed_ns ? (uint64_t)(scaled / elapsed_ns) : 0);
}

/* Rounded down: 100.0 % is all of it. */
static void part_cell(struct table *table, uint64_t part, uint64_t all)
{
	uint64_t permille = part < all ? (uint64_t)((unsigned __int128)part * 1000 / all) : 1000;
	char text[NUMBER_TEXT_MAX];

	snprintf(text, sizeof(text), "%" PRIu64 ".%" PRIu64 " %%", permille / 10, permille % 10);
	table_cell(table, all ? text : "-");
}

static const char *const senders[RL_SHARE_COUNTS] = {"established", "known", "strangers",
						     "all, while not short"};

static const char *passing_word(const struct rule *rule)
{
	return rule->limit.over == RL_OVER_SHADOW ? "within" : "passed";
}

/* Since `before`, if it is not NULL, and with rates then. */
static void senders_print(const struct rule *rule, const struct share_counts *now,
			  const struct share_counts *before, uint64_t elapsed_ns)
{
	static const struct column_drop drops[] = {{1u << 0 | 1u << 2, REST_LEAST}, {0, 0}};
	struct table table = {.columns = before ? 6 : 4,
			      .right = before ? 31 : 7,
			      .drops = before ? drops : NULL};

	if (before)
		table_row(&table, share_unit(rule), "/s", passing_word(rule), "/s", "", "senders",
			  (char *)NULL);
	else
		table_row(&table, share_unit(rule), passing_word(rule), "", "senders",
			  (char *)NULL);
	for (int i = 0; i < RL_SHARE_COUNTS; i++) {
		uint64_t arrived = now->arrived[i], passed = now->passed[i];

		if (!arrived)
			continue;
		table_number(&table, arrived);
		arrived = before ? grown(arrived, before->arrived[i]) : arrived;
		if (before)
			rate_cell(&table, arrived, elapsed_ns);
		table_number(&table, passed);
		passed = before ? grown(passed, before->passed[i]) : passed;
		if (before)
			rate_cell(&table, passed, elapsed_ns);
		part_cell(&table, passed, arrived);
		table_cell(&table, senders[i]);
	}
	table_print(&table);
}

void share_print(const struct rule *rule, const struct policy_context *ctx,
		 const struct share_counts *now, const struct share_counts *before,
		 uint64_t elapsed_ns)
{
	struct screen_line line = {0};
	char words[RULE_TEXT_MAX], number[NUMBER_TEXT_MAX];
	uint64_t all = 0;

	for (int i = 0; i < RL_SHARE_COUNTS; i++)
		all += now->arrived[i];
	if (!all)
		return;
	rule_format(words, rule, ctx);
	putchar('\n');
	line_add(&line, LINE_STAYS, "%sshort now", now->is_short ? "" : "not ");
	if (!has_classes(rule) && now->is_short) { /* ", about 51 sources, each 980/s" */
		number_print(number, now->keys);
		line_add(&line, 1, ", about %s %s", number,
			 rule->limit.key == RL_KEY_DEST ? "destinations" : "sources");
		number_print(number, now->key_pace);
		line_add(&line, LINE_STAYS, ", each %s%s/s", number,
			 rule->limit.unit == RL_PACKETS ? "" : " bytes");
	}
	line_add(&line, LINE_STAYS, ": ");
	line_add(&line, LINE_STAYS, "%s", words);
	line_print(&line);
	if (!has_classes(rule))
		return;
	senders_print(rule, now, before, elapsed_ns);
}
