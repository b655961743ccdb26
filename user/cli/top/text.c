// SPDX-License-Identifier: GPL-2.0-only
/* A snapshot as text: the lines above the rows, and the cells of these. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "base/units.h"
#include "cli/output/line.h"
#include "cli/top/top.h"
#include "policy/policy.h"
#include "watch/events/alarms.h"
#include "watch/traffic/pattern.h"

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

/* ---- the cells of a row, and which columns there is room for */

#define COLUMN_ROW(id, name_, right_) {name_, right_},
const struct top_column top_columns[TOP_COLUMN_COUNT] = {TOP_COLUMNS(COLUMN_ROW)};

const char *top_heading(const struct top *top, enum top_column_id column)
{
	return column == COLUMN_NAME ? top_views[top->by].name : top_columns[column].name;
}

/* The columns of a verdict, in their order. */
enum cell { CELL_PACKETS, CELL_ERROR, CELL_BITS };

void si_print(char buf[NUMBER_TEXT_MAX], uint64_t n)
{
	static const char units[] = "kMGTPE";
	uint64_t unit = 1000;
	int i = 0;

	if (n < 1000) {
		snprintf(buf, NUMBER_TEXT_MAX, "%" PRIu64, n);
		return;
	}
	for (; n / unit >= 1000 && units[i + 1]; i++)
		unit *= 1000;
	if (n / unit >= 100)
		snprintf(buf, NUMBER_TEXT_MAX, "%" PRIu64 "%c", n / unit, units[i]);
	else
		snprintf(buf, NUMBER_TEXT_MAX, "%" PRIu64 ".%" PRIu64 "%c", n / unit,
			 n / (unit / 10) % 10, units[i]);
}

/* The amount that may still be sent at once, or the time until the next packet. */
static void remaining_print(char out[TOP_TEXT_MAX], const struct source_entry *state)
{
	if (state->allowance.remaining)
		snprintf(out, TOP_TEXT_MAX, "%s%s", text_of(state->allowance.remaining, si_print),
			 state->rule->limit.unit == RL_PACKETS ? "" : "B");
	else
		snprintf(out, TOP_TEXT_MAX, "in %s", wait_text(state->allowance.wait_ns + 1));
}

/* A number with its error in per cent, or what it is less than. */
static void rate_cell(const struct top_row *row, enum talker_verdict verdict, enum cell cell,
		      char out[TOP_TEXT_MAX])
{
	const struct top_rate *rate = &row->rate[verdict], *error = &row->error[verdict];
	uint64_t n = cell == CELL_BITS ? rate->bits : rate->packets;
	uint64_t error_n = cell == CELL_BITS ? error->bits : error->packets;
	bool unsure = error->packets > rate->packets;

	if (cell == CELL_ERROR) {
		if (rate->packets && !unsure)
			snprintf(out, TOP_TEXT_MAX, "%" PRIu64 "%%",
				 (100 * error->packets + rate->packets - 1) / rate->packets);
		return;
	}
	snprintf(out, TOP_TEXT_MAX, "%s%s", unsure ? "<" : "",
		 text_of(unsure ? n + error_n : n, si_print));
}

double top_share(const struct top *top, const struct top_row *row)
{
	uint64_t own = 0, all = 0;

	for (int v = 0; v < TALKER_VERDICTS; v++) {
		own += row->rate[v].packets;
		all += top->rate[v].packets;
	}
	return all ? (double)own / (double)all : 0;
}

void top_cell(const struct top *top, const struct top_row *row, enum top_column_id column,
	      char out[TOP_TEXT_MAX])
{
	const struct talker_value *port = &row->dport;
	struct pattern pattern;

	snprintf(out, TOP_TEXT_MAX, "-"); /* without a value */
	switch (column) {
	case COLUMN_SHARE:
		snprintf(out, TOP_TEXT_MAX, "%.0f%%", 100 * top_share(top, row));
		break;
	case COLUMN_NAME:
		memcpy(&pattern, row->addr, sizeof(pattern));
		if (top->by == TOP_BY_PATTERN)
			pattern_print(out, &pattern, false);
		else
			prefix_print(out, TOP_TEXT_MAX, row->addr,
				     talker_bits(top->by == TOP_BY_DEST, row->addr));
		break;
	case COLUMN_FROM:
		if (row->network)
			pattern_network_print(out, TOP_TEXT_MAX, row->network);
		break;
	case COLUMN_DROPPED:
	case COLUMN_DROPPED_ERROR:
	case COLUMN_DROPPED_BITS:
		rate_cell(row, TALKER_DROPPED, column - COLUMN_DROPPED, out);
		break;
	case COLUMN_PASSED:
	case COLUMN_PASSED_ERROR:
	case COLUMN_PASSED_BITS:
		rate_cell(row, TALKER_PASSED, column - COLUMN_PASSED, out);
		break;
	case COLUMN_DPORT: /* that more than a fifth of the samples are for; "53+": less than half
			    */
		if (port->known)
			snprintf(out, TOP_TEXT_MAX, "%u%s", port->value,
				 port->share < 50 ? "+" : "");
		else if (port->any)
			snprintf(out, TOP_TEXT_MAX, "many");
		break;
	case COLUMN_REMAINING:
		if (row->state.has_state)
			remaining_print(out, &row->state);
		break;
	case COLUMN_BANNED:
		if (row->state.ban_ns)
			wait_print(out, row->state.ban_ns);
		break;
	default:
		if (row->rule)
			rule_format(out, row->rule, &top->book.ctx);
	}
}

/* ---- a narrow screen */

void top_widths_grow(const struct top *top, size_t first, size_t count, struct top_widths *widths)
{
	char text[TOP_TEXT_MAX];

	for (int c = 0; c < TOP_COLUMN_COUNT; c++) {
		int *width = &widths->of[c], len = (int)strlen(top_heading(top, c));

		if (!(top_views[top->by].columns & 1u << c))
			continue;
		*width = len > *width ? len : *width;
		for (size_t i = first; i < top->count && i - first < count; i++) {
			top_cell(top, &top->rows[i], c, text);
			len = (int)strlen(text);
			*width = len > *width ? len : *width;
			widths->filled |= (uint32_t)(strcmp(text, "-") != 0) << c;
		}
	}
}

/* The drops and their error stay. */
static const struct column_drop columns_to_drop[] = {
	{BIT(REMAINING), 0},
	{BIT(BANNED), 0},
	{BIT(PASSED_BITS), REST_USUAL},
	{BIT(DROPPED_BITS), REST_USUAL},
	{BIT(PASSED_ERROR), REST_USUAL},
	{BIT(REMAINING), REST_USUAL},
	{BIT(DPORT), REST_LEAST},
	{BIT(FROM), REST_LEAST},
	{BIT(PASSED), REST_LEAST},
	{BIT(BANNED), REST_LEAST},
	{0, 0},
};

uint32_t top_columns_fit(const struct top_widths *widths, uint32_t columns, int width)
{
	return columns_fit(widths->of, TOP_COLUMN_COUNT, columns, widths->filled, columns_to_drop,
			   width);
}
