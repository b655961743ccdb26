// SPDX-License-Identifier: GPL-2.0-only
/* The difference between two policies. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "cli/report/chart.h"
#include "cli/report/html.h"
#include "cli/report/page_parts.h"
#include "cli/simulate/simulate_against.h"
#include "policy/names.h"

#define DIFFERENCES_SHOWN 50
#define SOURCES_SHOWN     20

static const char letters[RECORD_SIDES] = {'A', 'B'};

/* ---- over time */

static void alone_sum(const struct record *record, uint32_t side, struct series *out)
{
	memset(out, 0, sizeof(*out));
	for (const struct difference *d = record->differences; d; d = d->hh.next)
		for (size_t i = 0; d->key.side == side && i < record->timeline.count; i++)
			amount_add(&out->at[i], &d->series->at[i]);
}

static void chart_put(FILE *out, const struct facts *facts)
{
	struct series only[RECORD_SIDES];
	const struct chart chart = {
		.timeline = facts->timeline,
		.up = &only[0],
		.down = &only[1],
		.up_name = "only A drops",
		.down_name = "only B drops",
		.up_class = "drop",
		.down_class = "shadow",
		.title = "Packets that only one of the two policies drops, over time",
		.description =
			"Upwards, hatched: what only policy A drops; downwards, dotted: what "
			"only policy B drops.",
	};

	for (uint32_t side = 0; side < RECORD_SIDES; side++)
		alone_sum(facts->record, side, &only[side]);
	fputs("<figure id=\"difference\">\n", out);
	chart_draw(out, &chart);
	fputs("<figcaption>Packets a second: above the line what only A drops (hatched), below it "
	      "what only B drops (dotted).</figcaption>\n</figure>\n",
	      out);
}

/* ---- tables */

static void difference_put(FILE *out, const struct facts *facts, const struct difference *d)
{
	char words[RULE_TEXT_MAX];

	difference_rule(facts->record, d, words);
	fprintf(out,
		"<tbody class=\"rule\">\n<tr><th colspan=\"4\" scope=\"rowgroup\">Only %c drops, %s",
		letters[d->key.side], reason_rows[d->key.reason].text);
	if (*words) {
		fputs(": <code>", out);
		html_text(out, words);
		fputs("</code>", out);
	}
	fputs("</th></tr>\n<tr><td class=\"n\">", out);
	html_number(out, d->amount.packets);
	fputs("</td><td class=\"n\">", out);
	html_bytes(out, d->amount.bytes);
	fputs("</td><td class=\"over\" colspan=\"2\">", out);
	spark_draw(out, facts->timeline, d->series, d->key.side ? "shadow" : "drop", "difference");
	fputs("</td></tr>\n</tbody>\n", out);
}

static void differences_put(FILE *out, const struct facts *facts)
{
	size_t count;
	const struct difference **list = differences_sorted(facts->record, &count);

	table_begin(out, "differences", "The rules that make the difference, most packets first.");
	fputs("<thead><tr><th scope=\"col\" class=\"n\">Packets</th><th scope=\"col\" "
	      "class=\"n\">Bytes</th><th scope=\"col\" colspan=\"2\">Over "
	      "time</th></tr></thead>\n",
	      out);
	for (size_t i = 0; i < count && i < DIFFERENCES_SHOWN; i++)
		difference_put(out, facts, list[i]);
	table_end(out);
	if (count > DIFFERENCES_SHOWN)
		fprintf(out, "<p class=\"soft\">%zu more have fewer packets.</p>\n",
			count - DIFFERENCES_SHOWN);
	free(list);
}

static void sources_put(FILE *out, const struct facts *facts)
{
	const struct heavy *sources = &facts->record->differing;
	const struct heavy_source *list[SOURCES_SHOWN];
	size_t count = heavy_top(sources, HEAVY_KINDS, NULL, NULL, list, SOURCES_SHOWN);
	char prefix[PREFIX_TEXT_MAX];

	table_begin(out, "differing", "The sources with which they deal differently.");
	fputs("<thead><tr><th scope=\"col\">Source</th><th scope=\"col\" class=\"n\">only A "
	      "drops</th><th scope=\"col\" class=\"n\">only B drops</th></tr></thead>\n<tbody>\n",
	      out);
	for (size_t i = 0; i < count; i++) {
		heavy_print(prefix, sizeof(prefix), list[i]);
		fputs("<tr><th scope=\"row\"><code>", out);
		html_text(out, prefix);
		fputs("</code>", out);
		if (list[i]->missed)
			fprintf(out, "<small>up to %" PRIu64 " more</small>", list[i]->missed);
		fputs("</th><td class=\"n\">", out);
		html_number(out, list[i]->amount[0].packets);
		fputs("</td><td class=\"n\">", out);
		html_number(out, list[i]->amount[1].packets);
		fputs("</td></tr>\n", out);
	}
	fputs("</tbody>\n", out);
	table_end(out);
}

/* ---- by reason, whether or not the verdict differs */

static void reason_put(FILE *out, const struct record *record, int reason)
{
	uint64_t a = record_sum(record, record->sides[0].reasons[reason]).packets;
	uint64_t b = record_sum(record, record->sides[1].reasons[reason]).packets;
	bool more = b > a;

	if (!a && !b)
		return;
	fprintf(out, "<tr><th scope=\"row\">%s %s</th><td class=\"n\">",
		reason_rows[reason].passes ? "▲" : "▼", reason_rows[reason].text);
	html_number(out, a);
	fputs("</td><td class=\"n\">", out);
	html_number(out, b);
	fprintf(out, "</td><td class=\"n\">%s", a == b ? "" : more ? "+" : "−");
	html_number(out, more ? b - a : a - b);
	fputs("</td></tr>\n", out);
}

static void reasons_put(FILE *out, const struct record *record)
{
	table_begin(out, "reasons-against", "Packets by reason, ▲ passed and ▼ dropped.");
	fputs("<thead><tr><th scope=\"col\">Reason</th><th scope=\"col\" class=\"n\">A</th><th "
	      "scope=\"col\" class=\"n\">B</th><th scope=\"col\" class=\"n\">B to A</th></tr>"
	      "</thead>\n<tbody>\n",
	      out);
	for (int i = 0; i < RL_REASON_COUNT; i++)
		reason_put(out, record, i);
	fputs("</tbody>\n", out);
	table_end(out);
}

static void names_put(FILE *out, const struct record *record)
{
	for (int i = 0; i < RECORD_SIDES; i++) {
		fprintf(out,
			"<div class=\"full\"><dt>Only %c drops</dt><dd class=\"big\" "
			"id=\"only-%c\">",
			letters[i], letters[i]);
		html_number(out, record->only[i].packets);
		fputs("</dd><dd>packets, ", out);
		html_bytes(out, record->only[i].bytes);
		fprintf(out, "</dd><dd class=\"soft\">%c is <bdi>", letters[i]);
		html_text(out, record->sides[i].name);
		fputs("</bdi></dd></div>\n", out);
	}
}

void part_against(FILE *out, const struct facts *facts)
{
	const struct record *record = facts->record;

	if (record->side_count < 2)
		return;
	fputs("<section id=\"against\">\n<h2>Against ", out);
	html_text(out, record->sides[1].name);
	fputs("</h2>\n<dl class=\"cards\">\n", out);
	names_put(out, record);
	fputs("</dl>\n", out);
	if (record->differences) {
		chart_put(out, facts);
		differences_put(out, facts);
		fputs("<h3>Sources</h3>\n", out);
		sources_put(out, facts);
	} else {
		fputs("<p>Both policies pass and drop the same packets.</p>\n", out);
	}
	fputs("<h3>Reasons</h3>\n", out);
	reasons_put(out, record);
	fputs("</section>\n", out);
}
