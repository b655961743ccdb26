// SPDX-License-Identifier: GPL-2.0-only
/* A snapshot as text: the lines above the rows. */
#include "cli/top/top.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "base/units.h"
#include "cli/output/line.h"
#include "watch/events/alarms.h"

static const char *const verdicts[TALKER_VERDICTS] = {"dropped", "passed"};

uint64_t sparkline_print(const struct top *top, size_t width, const char *const *levels,
			 size_t count, char *out, size_t size)
{
	size_t shown = top->slices < TOP_HISTORY ? top->slices : TOP_HISTORY, used = 0;
	size_t first = TOP_HISTORY - (shown < width ? shown : width);
	uint64_t most = 0;

	for (size_t i = first; i < TOP_HISTORY; i++)
		most = top->history[i] > most ? top->history[i] : most;
	*out = '\0';
	for (size_t i = first; i < TOP_HISTORY; i++) {
		uint64_t n = top->history[i];
		size_t level = n && most ? 1 + n * (count - 2) / most : 0;
		size_t len = strlen(levels[level]);

		if (used + len >= size)
			break;
		memcpy(out + used, levels[level], len + 1);
		used += len;
	}
	return most;
}

/* The origin of the rows. */
static void sampled_print(const struct top *top, struct screen_line *out)
{
	const uint64_t *packets = top->figures.packets;

	if (top->by == TOP_BY_RULE) {
		line_add(out, LINE_STAYS, "%s of %s rules counted packets", number_text(top->seen),
			 number_text(top->book.policy.count));
		line_add(out, 1, ": their rates are exact");
		return;
	}
	line_add(out, LINE_STAYS, "%s %s in samples of %s packets", number_text(top->seen),
		 top_views[top->by].names, number_text(packets[0] + packets[1]));
	line_add(out, 1, ", %s samples lost", number_text(top->figures.lost));
}

/* Two digits: the others mean nothing. */
static uint64_t rounded(uint64_t n)
{
	uint64_t unit = 1;

	while (n / unit >= 100)
		unit *= 10;
	return (n + unit / 2) / unit * unit;
}

#define RANGE_MAX (2 * NUMBER_TEXT_MAX + 4)
#define PART      20 /* that is nothing to speak of */

/* "about 1,100 sources", and the range that goes with it, unless that says nothing more; "55k-95k
 * sources" where the estimate is at an end of its range; "12 sources" where it is exact, as are the
 * 12 `more` that have no row. */
static void sources_print(const struct top *top, const struct rare_sources *sources,
			  const char *more, char range[RANGE_MAX], struct screen_line *out)
{
	uint64_t about = sources->about, least = sources->least, most = sources->most;
	const struct top_view *view = &top_views[top->by];
	const char *from = text_of(rounded(least), si_print),
		   *to = text_of(rounded(most), si_print);
	bool is_end = (about - least) * PART < most - least || (most - about) * PART < most - least;
	bool narrow = (most - least) * PART < about;

	*range = '\0';
	if (least == most) {
		line_add(out, LINE_STAYS, "%s%s %s", number_text(about), more,
			 about == 1 ? view->name : view->names);
	} else if (is_end && !narrow) {
		line_add(out, LINE_STAYS, "%s-%s %s", from, to, view->names);
	} else {
		line_add(out, LINE_STAYS, "about %s %s", number_text(rounded(about)), view->names);
		if (!narrow)
			snprintf(range, RANGE_MAX, " (%s-%s)", from, to);
	}
}

static void rate_add(const struct top_group *group, enum talker_verdict verdict,
		     struct screen_line *out)
{
	line_add(out, LINE_STAYS, " %s %s/s", text_of(group->rate.packets, si_print),
		 verdicts[verdict]);
}

/* Nobody has so many clients of which each is dropped once. */
#define FORGED_LEAST 1000

/* "about 150,000 sources seen once (69k-150k): forged addresses, 150k dropped/s". */
static void rare_print(const struct top *top, enum talker_verdict verdict, struct screen_line *out)
{
	const struct top_group *group = &top->rare[verdict];
	const struct rare_sources *sources = &group->sources;
	bool exact = sources->least == sources->most;
	bool forged = verdict == TALKER_DROPPED && top->by == TOP_BY_SOURCE && sources->once &&
		      sources->least >= FORGED_LEAST;
	char range[RANGE_MAX];

	sources_print(top, sources, " more", range, out);
	line_add(out, 3, " seen %s", sources->once ? "once" : "too rarely");
	line_add(out, 2, "%s", sources->once ? "" : " for a rate");
	line_add(out, 1, "%s", range);
	line_add(out, LINE_STAYS, ":%s", forged && !exact ? " forged addresses," : "");
	rate_add(group, verdict, out);
}

/* "100.64.0.0/22: about 1,000 sources, 104k passed/s". */
static void prefix_add(const struct top *top, enum talker_verdict verdict, struct screen_line *out)
{
	const struct top_group *group = &top->prefix[verdict];
	char prefix[PREFIX_TEXT_MAX], range[RANGE_MAX];

	prefix_print(prefix, sizeof(prefix), group->addr, group->len);
	line_add(out, LINE_STAYS, "%s: ", prefix);
	sources_print(top, &group->sources, "", range, out);
	line_add(out, 1, "%s", range);
	line_add(out, LINE_STAYS, ",");
	rate_add(group, verdict, out);
}

bool top_line_print(const struct top *top, enum top_line which, struct screen_line *out)
{
	char alarms[TOP_TEXT_MAX] = "";

	*out = (struct screen_line){0};
	for (int v = 0; which == TOP_LINE_TOTALS && v < TALKER_VERDICTS; v++) {
		line_add(out, LINE_STAYS, "%s%s %s packets/s", v ? ", " : "", verdicts[v],
			 number_text(top->rate[v].packets));
		line_add(out, 1, " %s bit/s", text_of(top->rate[v].bits, si_print));
	}
	if (which == TOP_LINE_SAMPLED)
		sampled_print(top, out);
	else if (which == TOP_LINE_ALARMS &&
		 alarms_on_print(alarms, sizeof(alarms), &top->alarms, &top->alarms_at))
		line_add(out, LINE_STAYS, "%s", alarms);
	else if (which >= TOP_LINE_RARE && top->rare[which - TOP_LINE_RARE].rare.sources)
		rare_print(top, which - TOP_LINE_RARE, out);
	else if (which >= TOP_LINE_PREFIX && which < TOP_LINE_RARE &&
		 top->prefix[which - TOP_LINE_PREFIX].len)
		prefix_add(top, which - TOP_LINE_PREFIX, out);
	return out->used;
}
