// SPDX-License-Identifier: GPL-2.0-only
/* The heaviest sources, and those that were there before drops began. */
#include <inttypes.h>

#include "base/units.h"
#include "cli/report/chart.h"
#include "cli/report/html.h"
#include "cli/report/page_parts.h"

#define SOURCES_SHOWN 20

/* In the first half of the time before drops began: those that came in its second half may belong
 * to what was dropped then, for a limit's burst lets the first packets pass. */
static bool was_there(const struct heavy_source *source, const struct facts *facts)
{
	uint64_t from_ns = facts->record->first_ns;

	return facts->begin_ns > from_ns &&
	       source->first_ns - from_ns < (facts->begin_ns - from_ns) / 2;
}

static bool was_there_and_lost(const struct heavy_source *source, const void *facts)
{
	return was_there(source, facts) && source->amount[RECORD_DROPPED].packets;
}

void known_sources_sum(const struct facts *facts, struct known_sources *out)
{
	*out = (struct known_sources){0};
	for (const struct heavy_source *s = facts->record->sources.list; s; s = s->hh.next) {
		if (!was_there(s, facts))
			continue;
		out->sources++;
		out->losing += s->amount[RECORD_DROPPED].packets > 0;
		amount_add(&out->passed, &s->amount[RECORD_PASSED]);
		amount_add(&out->dropped, &s->amount[RECORD_DROPPED]);
	}
}

static void lost_cell(FILE *out, const struct heavy_source *source)
{
	uint64_t all = heavy_packets(source), dropped = source->amount[RECORD_DROPPED].packets;

	fputs("<td class=\"n\">", out);
	html_share(out, dropped, all);
	fprintf(out,
		"<span class=\"bar\" aria-hidden=\"true\"><span style=\"width:%u%%\"></span></span></td>",
		(unsigned int)((unsigned __int128)dropped * 100 / all));
}

static void source_put(FILE *out, const struct facts *facts, const struct heavy_source *source)
{
	char prefix[PREFIX_TEXT_MAX];

	heavy_print(prefix, sizeof(prefix), source);
	fputs("<tr><th scope=\"row\"><code>", out);
	html_text(out, prefix);
	fputs("</code>", out);
	if (source->missed)
		fprintf(out, "<small>up to %" PRIu64 " more</small>", source->missed);
	fputs("</th><td class=\"n\">", out);
	html_number(out, source->amount[RECORD_DROPPED].packets);
	fputs("</td>", out);
	lost_cell(out, source);
	fputs("<td class=\"n\">", out);
	html_number(out, source->amount[RECORD_PASSED].packets);
	fputs("</td><td class=\"n bytes\">", out);
	html_bytes(out, source->amount[RECORD_PASSED].bytes + source->amount[RECORD_DROPPED].bytes);
	fputs("</td><td class=\"over seen\">", out);
	span_draw(out, facts->timeline, source->first_ns, source->last_ns);
	fputs("</td></tr>\n", out);
}

static void sources_table(FILE *out, const struct facts *facts, const char *id, const char *caption,
			  const struct heavy_source **list, size_t count)
{
	table_begin(out, id, caption);
	fputs("<thead><tr><th scope=\"col\">Source</th><th scope=\"col\" class=\"n\">Dropped</th>"
	      "<th scope=\"col\" class=\"n\">lost</th><th scope=\"col\" class=\"n\">Passed</th>"
	      "<th scope=\"col\" class=\"n bytes\">Bytes</th><th scope=\"col\">Seen</th></tr>"
	      "</thead>\n<tbody>\n",
	      out);
	for (size_t i = 0; i < count; i++)
		source_put(out, facts, list[i]);
	fputs("</tbody>\n", out);
	table_end(out);
}

static void known_put(FILE *out, const struct facts *facts)
{
	const struct heavy_source *list[SOURCES_SHOWN];
	size_t count = heavy_top(&facts->record->sources, RECORD_DROPPED, was_there_and_lost, facts,
				 list, SOURCES_SHOWN);
	struct known_sources known;

	if (!facts->begin_ns)
		return;
	known_sources_sum(facts, &known);
	fputs("<section>\n<h2>Lost by sources that were there before</h2>\n", out);
	if (!known.losing) {
		fprintf(out, "<p>%s</p>\n</section>\n",
			known.sources
				? "None of the sources that were seen before drops began lost "
				  "a packet."
				: "No source was seen before drops began, so that none can be "
				  "told from the others.");
		return;
	}
	sources_table(out, facts, "known",
		      "They sent before drops began, and lost packets: perhaps honest traffic.",
		      list, count);
	if (known.losing > count)
		fprintf(out, "<p class=\"soft\">%" PRIu64 " more such sources lost less.</p>\n",
			known.losing - count);
	fputs("</section>\n", out);
}

void part_sources(FILE *out, const struct facts *facts)
{
	const struct heavy *sources = &facts->record->sources;
	const struct heavy_source *list[SOURCES_SHOWN];
	size_t count = heavy_top(sources, HEAVY_KINDS, NULL, NULL, list, SOURCES_SHOWN);

	known_put(out, facts);
	fputs("<section>\n<h2>Heaviest sources</h2>\n", out);
	sources_table(out, facts, "sources",
		      "IPv4 by address, IPv6 by /64; those of most packets first.", list, count);
	fputs("<p class=\"soft\">", out);
	if (sources->missed)
		fprintf(out,
			"There are more than %u sources. The list has each one with more than %" PRIu64
			" packets; a figure may lack as many packets as stand beside the source.",
			HEAVY_MAX, sources->missed);
	else
		fprintf(out, "Of %zu source%s in all; the figures are exact.", heavy_count(sources),
			heavy_count(sources) == 1 ? "" : "s");
	fputs("</p>\n</section>\n", out);
}
