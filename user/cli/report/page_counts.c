// SPDX-License-Identifier: GPL-2.0-only
/* Packets that passed and were dropped, by reason, by rule, and by time. */
#include <inttypes.h>
#include <stdlib.h>

#include "base/units.h"
#include "cli/output/output.h"
#include "cli/report/chart.h"
#include "cli/report/html.h"
#include "cli/report/page_parts.h"
#include "policy/names.h"

#define RULES_SHOWN 100

static void reason_put(FILE *out, const struct facts *facts, int reason)
{
	const struct series *series = facts->record->sides[0].reasons[reason];
	const struct reason_row *row = &reason_rows[reason];
	struct rl_amount sum = record_sum(facts->record, series);

	if (!series)
		return;
	fprintf(out,
		"<tr id=\"reason-%s\"><th scope=\"row\">%s<small class=\"verdict\">%s</small></th><td class=\"n\">",
		row->text, row->text, row->passes ? "▲ pass" : "▼ drop");
	html_number(out, sum.packets);
	fputs("<small>", out);
	html_share(out, sum.packets, facts->record->packets.packets);
	fputs("</small></td><td class=\"n bytes\">", out);
	html_bytes(out, sum.bytes);
	fputs("</td><td class=\"over\">", out);
	spark_draw(out, facts->timeline, series, row->passes ? "pass" : "drop", row->text);
	fputs("</td></tr>\n", out);
}

void part_reasons(FILE *out, const struct facts *facts)
{
	fputs("<section>\n<h2>By reason</h2>\n", out);
	table_begin(out, "reasons", "Each packet has one reason.");
	fputs("<thead><tr><th scope=\"col\">Reason</th><th scope=\"col\" class=\"n\">Packets</th>"
	      "<th scope=\"col\" class=\"n bytes\">Bytes</th>"
	      "<th scope=\"col\">Over time</th></tr></thead>\n<tbody>\n",
	      out);
	for (int drops = 1; drops >= 0; drops--)
		for (int i = 0; i < RL_REASON_COUNT; i++)
			if (reason_rows[i].passes != drops)
				reason_put(out, facts, i);
	fputs("</tbody>\n", out);
	table_end(out);
	fputs("</section>\n", out);
}

/* ---- rules */

struct rule_row {
	const struct rule *rule;
	const struct rule_series *series;
	struct rl_amount passed, dropped, shadow;
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
static struct rule_row *rows_make(const struct facts *facts, size_t *count)
{
	const struct record_side *side = &facts->record->sides[0];
	struct rule_row *rows = calloc(side->policy->count + 1, sizeof(*rows));

	if (!rows)
		out_of_memory();
	*count = 0;
	for (size_t i = 0; i < side->policy->count; i++) {
		const struct rule_series *series = &side->rules[i];

		if (!series->passed && !series->dropped && !series->shadow)
			continue;
		rows[(*count)++] = (struct rule_row){
			.rule = &side->policy->rules[i],
			.series = series,
			.passed = record_sum(facts->record, series->passed),
			.dropped = record_sum(facts->record, series->dropped),
			.shadow = record_sum(facts->record, series->shadow),
		};
	}
	qsort(rows, *count, sizeof(*rows), row_compare);
	return rows;
}

static void verdict_cells(FILE *out, const struct facts *facts, const struct series *series,
			  const struct rl_amount *sum, const char *class_name, const char *name)
{
	fprintf(out, "<td class=\"n %s-sum\">", class_name);
	html_number(out, sum->packets);
	fputs("<small>", out);
	html_bytes(out, sum->bytes);
	fputs("</small></td><td class=\"over\">", out);
	spark_draw(out, facts->timeline, series, class_name, name);
	fputs("</td>", out);
}

static void rule_put(FILE *out, const struct facts *facts, const struct rule_row *row)
{
	char words[RULE_TEXT_MAX];

	side_rule_words(&facts->record->sides[0], row->rule, words);
	fputs("<tbody class=\"rule\">\n<tr><th colspan=\"4\" scope=\"rowgroup\"><code>", out);
	html_text(out, words);
	fputs("</code>", out);
	if (*row->rule->comment) {
		fputs("<small> # <bdi>", out);
		html_text(out, row->rule->comment);
		fputs("</bdi></small>", out);
	}
	fputs("</th></tr>\n<tr>", out);
	verdict_cells(out, facts, row->series->dropped, &row->dropped, "drop", "dropped");
	verdict_cells(out, facts, row->series->passed, &row->passed, "pass", "passed");
	fputs("</tr>\n", out);
	if (row->series->shadow) {
		fputs("<tr>", out);
		verdict_cells(out, facts, row->series->shadow, &row->shadow, "shadow",
			      "over the limit, and passed");
		fputs("<td colspan=\"2\">over the limit, and passed</td></tr>\n", out);
	}
	fputs("</tbody>\n", out);
}

void part_rules(FILE *out, const struct facts *facts)
{
	size_t all = facts->record->sides[0].policy->count, count;
	struct rule_row *rows = rows_make(facts, &count);

	fputs("<section>\n<h2>By rule</h2>\n", out);
	table_begin(out, "rules", "Those that dropped most come first.");
	fputs("<thead><tr><th scope=\"col\" class=\"n\">▼ Dropped</th><th scope=\"col\">over "
	      "time</th><th scope=\"col\" class=\"n\">▲ Passed</th><th scope=\"col\">over "
	      "time</th></tr></thead>\n",
	      out);
	for (size_t i = 0; i < count && i < RULES_SHOWN; i++)
		rule_put(out, facts, &rows[i]);
	table_end(out);
	if (count > RULES_SHOWN)
		fprintf(out, "<p class=\"soft\">%zu more rules had fewer packets.</p>\n",
			count - RULES_SHOWN);
	if (count < all)
		fprintf(out, "<p class=\"soft\">%zu rule%s had no packet.</p>\n", all - count,
			all - count == 1 ? "" : "s");
	fputs("</section>\n", out);
	free(rows);
}

/* ---- time */

static void bin_put(FILE *out, const struct facts *facts, size_t bin)
{
	const struct rl_amount *passed = &facts->passed.at[bin], *dropped = &facts->dropped.at[bin];
	char at[HTML_TIME_MAX];

	if (!passed->packets && !dropped->packets)
		return;
	clock_text(at, timeline_begin_ns(facts->timeline, bin), facts->step_ns);
	fprintf(out, "<tr><th scope=\"row\">%s</th><td class=\"n\">", at);
	html_number(out, passed->packets);
	fputs("</td><td class=\"n\">", out);
	html_bytes(out, passed->bytes);
	fputs("</td><td class=\"n\">", out);
	html_number(out, dropped->packets);
	fputs("</td><td class=\"n\">", out);
	html_bytes(out, dropped->bytes);
	fputs("</td></tr>\n", out);
}

void part_bins(FILE *out, const struct facts *facts)
{
	char width[QUANTITY_TEXT_MAX], caption[QUANTITY_TEXT_MAX + 64];

	duration_print(width, sizeof(width), timeline_width_ns(facts->timeline));
	snprintf(caption, sizeof(caption), "Packets and bytes in each %s; empty ones are left out.",
		 width);
	fputs("<details><summary>The figures over time</summary>\n", out);
	table_begin(out, "bins", caption);
	fputs("<thead><tr><th scope=\"col\">From</th><th scope=\"col\" class=\"n\">Passed</th>"
	      "<th scope=\"col\" class=\"n\">bytes</th><th scope=\"col\" class=\"n\">Dropped</th>"
	      "<th scope=\"col\" class=\"n\">bytes</th></tr></thead>\n<tbody>\n",
	      out);
	for (size_t i = 0; i < facts->timeline->count; i++)
		bin_put(out, facts, i);
	fputs("</tbody>\n", out);
	table_end(out);
	fputs("</details>\n", out);
}
