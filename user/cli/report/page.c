// SPDX-License-Identifier: GPL-2.0-only
/* The page as a whole. */
#include "cli/report/page.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/message.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/policy/save_file.h"
#include "cli/report/chart.h"
#include "cli/report/html.h"
#include "cli/report/page_parts.h"
#include "cli/report/style.h"
#include "policy/names.h"

/* ---- facts */

static void verdicts_sum(struct facts *facts)
{
	const struct record_side *side = &facts->record->sides[0];

	for (int reason = 0; reason < RL_REASON_COUNT; reason++) {
		const struct series *from = side->reasons[reason];
		struct series *to = reason_rows[reason].passes ? &facts->passed : &facts->dropped;

		for (size_t i = 0; from && i < facts->timeline->count; i++)
			amount_add(&to->at[i], &from->at[i]);
	}
	facts->all_passed = record_sum(facts->record, &facts->passed);
	facts->all_dropped = record_sum(facts->record, &facts->dropped);
}

static void drops_find(struct facts *facts)
{
	const struct rl_amount *drops = facts->dropped.at;
	size_t bin = 0;

	facts->worst_bin = series_peak(facts->timeline, &facts->dropped);
	if (!drops[facts->worst_bin].packets)
		return;
	while (drops[bin].packets * 100 < drops[facts->worst_bin].packets * DROPS_BEGIN_PERCENT)
		bin++;
	facts->begin_bin = bin;
	facts->begin_ns = timeline_begin_ns(facts->timeline, bin);
	if (facts->begin_ns < facts->record->first_ns)
		facts->begin_ns = facts->record->first_ns;
}

static struct facts *facts_new(const struct page *page)
{
	struct facts *facts = calloc(1, sizeof(*facts));
	uint64_t width_ns;

	if (!facts)
		return NULL;
	facts->page = page;
	facts->record = page->record;
	facts->timeline = &page->record->timeline;
	width_ns = timeline_width_ns(facts->timeline);
	facts->step_ns = width_ns < NS_PER_SECOND ? NS_PER_MS : NS_PER_SECOND;
	verdicts_sum(facts);
	drops_find(facts);
	return facts;
}

/* ---- the page */

static void title_put(FILE *out, const struct page *page)
{
	fputs("Simulation of ", out);
	html_text(out, page->record->sides[0].name);
	fputs(" on ", out);
	html_text(out, page->capture);
}

static void head_put(FILE *out, const struct page *page)
{
	fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
	      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
	      "style-src 'unsafe-inline'\">\n"
	      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
	      "<meta name=\"color-scheme\" content=\"light dark\">\n"
	      "<meta name=\"referrer\" content=\"no-referrer\">\n<title>",
	      out);
	title_put(out, page);
	fprintf(out, "</title>\n<style>\n%s</style>\n</head>\n<body>\n", page_style);
	chart_patterns(out);
}

static void header_put(FILE *out, const struct facts *facts)
{
	const struct record *record = facts->record;
	char from[NUMBER_TEXT_MAX], to[NUMBER_TEXT_MAX], span[NUMBER_TEXT_MAX];

	fputs("<header>\n<h1>", out);
	title_put(out, facts->page);
	fputs("</h1>\n", out);
	if (!record->packets.packets) {
		fputs("<p class=\"lead calm\">No packet was run.</p>\n</header>\n", out);
		return;
	}
	time_print(from, record->first_ns, false);
	time_print(to, record->last_ns, false);
	wait_print(span, record->last_ns - record->first_ns + 1);
	fprintf(out, "<p class=\"soft\">%s to %s (UTC), %s: <span id=\"packets\">", from, to, span);
	html_number(out, record->packets.packets);
	fputs("</span> packets, ", out);
	html_bytes(out, record->packets.bytes);
	fputs("</p>\n</header>\n", out);
}

/* How the figures are meant. */
static void method_put(FILE *out, const struct facts *facts)
{
	const struct page *page = facts->page;
	char width[QUANTITY_TEXT_MAX];

	duration_print(width, sizeof(width), timeline_width_ns(facts->timeline));
	fprintf(out,
		"<details><summary>How to read this page</summary>\n"
		"<p>Each step of a drawing is the mean of %s; the first and the last one may lie in "
		"part outside of the capture, and show less than there was. Small drawings have a "
		"scale of their own. Times are UTC.</p>\n"
		"<p>Drops are said to begin with the first step that has %u %% of the drops of the "
		"worst one. Sources were there before that were seen in the first half of the time "
		"until then: a limit lets the first packets of a flood pass, too.</p>\n"
		"<p>A packet that passes counts for each limit that it was held to, so that the "
		"packets of all rules may be more than those of the capture.</p>\n",
		width, DROPS_BEGIN_PERCENT);
	if (page->not_run)
		fprintf(out,
			"<p>%" PRIu64 " packets were sent by a local address or passed between "
			"others, and were not run.</p>\n",
			page->not_run);
	if (page->jumps)
		fprintf(out,
			"<p>Time jumps %" PRIu64 " time%s in this capture; there the policy starts "
			"over without any state.</p>\n",
			page->jumps, page->jumps == 1 ? "" : "s");
	fputs("<p>Made by <code>rlctl simulate --report</code>. This page needs no other file and "
	      "no network.</p>\n</details>\n",
	      out);
}

static void body_put(FILE *out, const struct facts *facts)
{
	header_put(out, facts);
	fputs("<main>\n", out);
	if (facts->record->packets.packets) {
		part_summary(out, facts);
		part_against(out, facts);
		part_rules(out, facts);
		part_reasons(out, facts);
		part_sources(out, facts);
		part_alarms(out, facts);
		part_bins(out, facts);
	}
	method_put(out, facts);
	fputs("</main>\n</body>\n</html>\n", out);
}

/* The page as text, which the caller frees. 0 or -ENOMEM. */
static int page_print(const struct page *page, char **text, size_t *size)
{
	struct facts *facts = facts_new(page);
	FILE *out = facts ? open_memstream(text, size) : NULL;
	int ret = out ? 0 : -ENOMEM;

	if (out) {
		head_put(out, page);
		body_put(out, facts);
		if (ferror(out))
			ret = -ENOMEM;
		if (fclose(out))
			ret = -ENOMEM;
	}
	free(facts);
	return ret;
}

int page_save(const struct page *page, const char *path)
{
	char *text = NULL;
	size_t size = 0;
	int rc = page_print(page, &text, &size);

	rc = rc ? fail("%s: out of memory", path) : file_save(path, text, size, NULL, NULL, NULL);
	free(text);
	return rc;
}
