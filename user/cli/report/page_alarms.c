// SPDX-License-Identifier: GPL-2.0-only
/* Alarms: when each was on. */
#include <inttypes.h>

#include "base/text.h"
#include "base/units.h"
#include "cli/report/html.h"
#include "cli/report/page_parts.h"

static void span_put(FILE *out, const struct alarm_record *alarms, const struct alarm_span *span)
{
	char from[HTML_TIME_MAX], to[HTML_TIME_MAX], length[NUMBER_TEXT_MAX];

	clock_text(from, span->from_ns, NS_PER_MS);
	clock_text(to, span->to_ns, NS_PER_MS);
	wait_print(length, span->to_ns > span->from_ns ? span->to_ns - span->from_ns : 1);
	fputs("<tr><th scope=\"row\">", out);
	html_text(out, alarms->seen[span->alarm].name);
	fprintf(out, "</th><td>%s</td><td>%s</td><td class=\"n\">%s</td></tr>\n", from,
		span->open ? "still on at the end" : to, length);
}

static void side_put(FILE *out, const struct record_side *side, const char *id, bool named)
{
	const struct alarm_record *alarms = &side->alarms;

	if (named) {
		fputs("<h3>", out);
		html_text(out, side->name);
		fputs("</h3>\n", out);
	}
	if (!alarms->span_count) {
		fputs("<p>No alarm went on.</p>\n", out);
		return;
	}
	table_begin(out, id, "When an alarm was on.");
	fputs("<thead><tr><th scope=\"col\">Alarm</th><th scope=\"col\">On</th><th "
	      "scope=\"col\">Off</th><th scope=\"col\" class=\"n\">For</th></tr></thead>\n<tbody>\n",
	      out);
	for (size_t i = 0; i < alarms->span_count; i++)
		span_put(out, alarms, &alarms->spans[i]);
	fputs("</tbody>\n", out);
	table_end(out);
	if (alarms->lost)
		fprintf(out,
			"<p class=\"soft\">%" PRIu64 " more changes followed too closely to "
			"be shown.</p>\n",
			alarms->lost);
}

void part_alarms(FILE *out, const struct facts *facts)
{
	const struct record *record = facts->record;
	bool both = record->side_count > 1;

	if (!record->sides[0].policy->alarm_count && !record->sides[1].alarms.count)
		return;
	fputs("<section>\n<h2>Alarms</h2>\n", out);
	side_put(out, &record->sides[0], "alarms", both);
	if (both)
		side_put(out, &record->sides[1], "alarms-against", true);
	fputs("</section>\n", out);
}
