// SPDX-License-Identifier: GPL-2.0-only
/* The first things that an operator wants to know: when it began, which rule stopped it, what was
 * lost. */
#include <inttypes.h>
#include <string.h>

#include "base/text.h"
#include "base/units.h"
#include "cli/report/chart.h"
#include "cli/report/html.h"
#include "cli/report/page_parts.h"
#include "policy/names.h"

/* The cause that dropped most: a rule, else a reason that no rule has. */
struct stopper {
	char words[RULE_TEXT_MAX];
	uint64_t packets;
	bool is_rule;
};

static void stopper_find(const struct facts *facts, struct stopper *out)
{
	const struct record_side *side = &facts->record->sides[0];
	const struct rule *most = NULL;
	uint64_t packets;

	out->packets = 0;
	for (size_t i = 0; i < side->policy->count; i++) {
		packets = record_sum(facts->record, side->rules[i].dropped).packets;
		if (packets > out->packets) {
			out->packets = packets;
			most = &side->policy->rules[i];
		}
	}
	out->is_rule = most;
	if (most)
		side_rule_words(side, most, out->words);
	for (int i = 0; i < RL_REASON_COUNT; i++) {
		packets = record_sum(facts->record, side->reasons[i]).packets;
		if (reason_rows[i].passes || packets <= 2 * out->packets)
			continue;
		out->packets = packets;
		out->is_rule = false;
		snprintf(out->words, sizeof(out->words), "%s", reason_rows[i].text);
	}
}

static void stopper_put(FILE *out, const struct stopper *stopper)
{
	fputs(stopper->is_rule ? "<code>" : "the reason <code>", out);
	html_text(out, stopper->words);
	fputs("</code>", out);
}

static void lead_put(FILE *out, const struct facts *facts, const struct stopper *stopper,
		     const struct known_sources *known)
{
	char begin[HTML_TIME_MAX], after[NUMBER_TEXT_MAX], worst[HTML_RATE_MAX];
	uint64_t into_ns = facts->begin_ns - facts->record->first_ns;

	if (!facts->begin_ns) {
		fputs("<p class=\"lead calm\">Nothing was dropped.</p>\n", out);
		return;
	}
	clock_text(begin, facts->begin_ns, facts->step_ns);
	rate_text(worst, facts->dropped.at[facts->worst_bin].packets,
		  timeline_width_ns(facts->timeline));
	fprintf(out, "<p class=\"lead\">Drops began at <strong>%s</strong>", begin);
	if (into_ns) {
		wait_print(after, into_ns);
		fprintf(out, ", %s into the capture,", after);
	} else {
		fputs(", with the capture,", out);
	}
	fprintf(out, " and reached %s. ", worst);
	stopper_put(out, stopper);
	fputs(" dropped <strong>", out);
	html_share(out, stopper->packets, facts->all_dropped.packets);
	fputs("</strong> of what was dropped.", out);
	if (known->sources) {
		fputs(" Sources that were there before lost <strong>", out);
		html_share(out, known->dropped.packets,
			   known->passed.packets + known->dropped.packets);
		fputs("</strong> of their packets.", out);
	}
	fputs("</p>\n", out);
}

static void amount_card(FILE *out, const char *id, const char *name, const struct rl_amount *amount,
			const struct rl_amount *all)
{
	fprintf(out, "<div><dt>%s</dt><dd class=\"big\" id=\"%s\">", name, id);
	html_number(out, amount->packets);
	fputs("</dd><dd>packets, ", out);
	html_share(out, amount->packets, all->packets);
	fprintf(out, "</dd><dd class=\"soft\" id=\"%s-bytes\">", id);
	html_bytes(out, amount->bytes);
	fputs("</dd></div>\n", out);
}

static void begin_card(FILE *out, const struct facts *facts)
{
	char begin[HTML_TIME_MAX], worst[HTML_TIME_MAX], rate[HTML_RATE_MAX];

	clock_text(begin, facts->begin_ns, facts->step_ns);
	clock_text(worst, timeline_begin_ns(facts->timeline, facts->worst_bin), facts->step_ns);
	rate_text(rate, facts->dropped.at[facts->worst_bin].packets,
		  timeline_width_ns(facts->timeline));
	fprintf(out,
		"<div><dt>Drops began</dt><dd class=\"big\" id=\"began\">%s</dd>"
		"<dd>worst at %s</dd><dd class=\"soft\">%s dropped</dd></div>\n",
		begin, worst, rate);
}

static void known_card(FILE *out, const struct facts *facts, const struct known_sources *known)
{
	fputs("<div><dt>Lost by sources that were there before</dt>", out);
	if (!known->sources) {
		fputs("<dd class=\"big\" id=\"known-lost\">-</dd><dd>no source was</dd></div>\n",
		      out);
		return;
	}
	fputs("<dd class=\"big\" id=\"known-lost\">", out);
	html_number(out, known->dropped.packets);
	fputs("</dd><dd>packets, ", out);
	html_share(out, known->dropped.packets, known->passed.packets + known->dropped.packets);
	fputs("</dd><dd class=\"soft\">", out);
	html_number(out, known->losing);
	fputs(" of ", out);
	html_number(out, known->sources);
	fprintf(out, "%s sources</dd></div>\n", facts->record->sources.missed ? " noted" : "");
}

static void cards_put(FILE *out, const struct facts *facts, const struct stopper *stopper,
		      const struct known_sources *known)
{
	fputs("<dl class=\"cards\">\n", out);
	amount_card(out, "passed", "▲ Passed", &facts->all_passed, &facts->record->packets);
	amount_card(out, "dropped", "▼ Dropped", &facts->all_dropped, &facts->record->packets);
	if (facts->begin_ns) {
		begin_card(out, facts);
		known_card(out, facts, known);
		fputs("<div class=\"full\"><dt>Dropped most</dt><dd id=\"stopper\">", out);
		stopper_put(out, stopper);
		fputs("</dd><dd>", out);
		html_number(out, stopper->packets);
		fputs(" packets</dd></div>\n", out);
	}
	fputs("</dl>\n", out);
}

void part_summary(FILE *out, const struct facts *facts)
{
	const struct alarm_record *alarms = &facts->record->sides[0].alarms;
	struct chart chart = {
		.timeline = facts->timeline,
		.up = &facts->passed,
		.down = &facts->dropped,
		.up_name = "passed",
		.down_name = "dropped",
		.up_class = "pass",
		.down_class = "drop",
		.title = "Packets that passed and were dropped, over time",
		.description = "Passed packets a second grow upwards from the line, plain; dropped "
			       "ones downwards, hatched. The same figures are in the table at the "
			       "end of the page.",
		.mark_ns = facts->begin_ns,
		.mark_name = "drops begin",
		.alarms = alarms->count ? alarms : NULL,
	};
	struct known_sources known;
	struct stopper stopper;

	known_sources_sum(facts, &known);
	stopper_find(facts, &stopper);
	fputs("<section aria-label=\"Summary\">\n", out);
	lead_put(out, facts, &stopper, &known);
	cards_put(out, facts, &stopper, &known);
	fputs("<figure id=\"traffic\">\n", out);
	chart_draw(out, &chart);
	fprintf(out,
		"<figcaption>Packets a second: passed above the line, dropped below it "
		"(hatched), on one scale.%s</figcaption>\n</figure>\n</section>\n",
		alarms->count ? " Bars below: when an alarm was on." : "");
}
