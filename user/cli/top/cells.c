// SPDX-License-Identifier: GPL-2.0-only
/* A snapshot as text: the cells of a row, which columns there is room for, and the lines above. */

#include "cli/top/top.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "base/units.h"
#include "policy/policy.h"

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
	while (n / unit >= 1000 && units[i + 1]) {
		unit *= 1000;
		i++;
	}
	if (n / unit >= 100)
		snprintf(buf, NUMBER_TEXT_MAX, "%" PRIu64 "%c", n / unit, units[i]);
	else
		snprintf(buf, NUMBER_TEXT_MAX, "%" PRIu64 ".%" PRIu64 "%c", n / unit,
			 n / (unit / 10) % 10, units[i]);
}

/* The amount that may still be sent at once, or the time until the next packet. */
static void remaining_print(char out[TOP_TEXT_MAX], const struct source_entry *state)
{
	char number[NUMBER_TEXT_MAX];

	if (!state->has_state) {
		snprintf(out, TOP_TEXT_MAX, "-");
	} else if (state->allowance.remaining) {
		si_print(number, state->allowance.remaining);
		snprintf(out, TOP_TEXT_MAX, "%s%s", number,
			 state->rule->limit.unit == RL_PACKETS ? "" : "B");
	} else {
		wait_print(number, state->allowance.wait_ns + 1);
		snprintf(out, TOP_TEXT_MAX, "in %s", number);
	}
}

/* A number with its error in per cent, or what it is less than. */
static void rate_cell(const struct top_row *row, enum talker_verdict verdict, enum cell cell,
		      char out[TOP_TEXT_MAX])
{
	const struct top_rate *rate = &row->rate[verdict], *error = &row->error[verdict];
	uint64_t n = cell == CELL_BITS ? rate->bits : rate->packets;
	uint64_t error_n = cell == CELL_BITS ? error->bits : error->packets;
	bool unsure = error->packets > rate->packets;
	char number[NUMBER_TEXT_MAX];

	if (cell == CELL_ERROR) {
		snprintf(out, TOP_TEXT_MAX, "-");
		if (rate->packets && !unsure)
			snprintf(out, TOP_TEXT_MAX, "%" PRIu64 "%%",
				 (100 * error->packets + rate->packets - 1) / rate->packets);
		return;
	}
	si_print(number, unsure ? n + error_n : n);
	snprintf(out, TOP_TEXT_MAX, "%s%s", unsure ? "<" : "", number);
}

/* The port that more than a fifth of the samples are for; "53+": less than half. */
static void dport_cell(const struct top_row *row, char out[TOP_TEXT_MAX])
{
	const struct top_port *port = &row->dport;

	if (!port->known)
		snprintf(out, TOP_TEXT_MAX, "%s", port->has_ports ? "many" : "-");
	else
		snprintf(out, TOP_TEXT_MAX, "%u%s", port->number, port->share < 50 ? "+" : "");
}

static void ban_cell(const struct top_row *row, char out[TOP_TEXT_MAX])
{
	snprintf(out, TOP_TEXT_MAX, "-");
	if (row->state.ban_ns)
		wait_print(out, row->state.ban_ns);
}

static void rule_cell(const struct top *top, const struct top_row *row, char out[TOP_TEXT_MAX])
{
	snprintf(out, TOP_TEXT_MAX, "-");
	if (row->rule)
		rule_format(out, row->rule, &top->book.ctx);
}

uint8_t top_bits(const struct top *top, const struct top_row *row)
{
	return talker_bits(top->by == TOP_BY_DEST, row->addr);
}

void top_cell(const struct top *top, const struct top_row *row, enum top_column_id column,
	      char out[TOP_TEXT_MAX])
{
	switch (column) {
	case COLUMN_NAME:
		prefix_print(out, TOP_TEXT_MAX, row->addr, top_bits(top, row));
		return;
	case COLUMN_DROPPED:
	case COLUMN_DROPPED_ERROR:
	case COLUMN_DROPPED_BITS:
		rate_cell(row, TALKER_DROPPED, column - COLUMN_DROPPED, out);
		return;
	case COLUMN_PASSED:
	case COLUMN_PASSED_ERROR:
	case COLUMN_PASSED_BITS:
		rate_cell(row, TALKER_PASSED, column - COLUMN_PASSED, out);
		return;
	case COLUMN_DPORT:
		dport_cell(row, out);
		return;
	case COLUMN_REMAINING:
		remaining_print(out, &row->state);
		return;
	case COLUMN_BANNED:
		ban_cell(row, out);
		return;
	default:
		rule_cell(top, row, out);
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
	{BIT(PASSED_BITS), REST_USUAL},  {BIT(DROPPED_BITS), REST_USUAL},
	{BIT(PASSED_ERROR), REST_USUAL}, {BIT(REMAINING), REST_USUAL},
	{BIT(DPORT), REST_LEAST},        {BIT(PASSED), REST_LEAST},
	{BIT(BANNED), REST_LEAST},       {0, 0},
};

uint32_t top_columns_fit(const struct top_widths *widths, uint32_t columns, int width)
{
	return columns_fit(widths->of, TOP_COLUMN_COUNT, columns, widths->filled, columns_to_drop,
			   width);
}

/* ---- lines above the rows */

void sparkline_print(const struct top *top, size_t width, const char *const *levels, size_t count,
		     char *out, size_t size)
{
	size_t first = width < TOP_HISTORY ? TOP_HISTORY - width : 0, used = 0;
	uint64_t most = 1;

	for (size_t i = first; i < TOP_HISTORY; i++)
		most = top->history[i] > most ? top->history[i] : most;
	*out = '\0';
	for (size_t i = first; i < TOP_HISTORY; i++) {
		size_t level = top->history[i] ? 1 + top->history[i] * (count - 2) / most : 0;
		size_t len = strlen(levels[level]);

		if (used + len >= size)
			break;
		memcpy(out + used, levels[level], len + 1);
		used += len;
	}
}

void top_totals(const struct top *top, char *out, size_t size)
{
	char packets[2][NUMBER_TEXT_MAX], bits[2][NUMBER_TEXT_MAX];

	for (int v = 0; v < TALKER_VERDICTS; v++) {
		number_print(packets[v], top->rate[v].packets);
		si_print(bits[v], top->rate[v].bits);
	}
	snprintf(out, size, "dropped %s packets/s %s bit/s, passed %s packets/s %s bit/s",
		 packets[TALKER_DROPPED], bits[TALKER_DROPPED], packets[TALKER_PASSED],
		 bits[TALKER_PASSED]);
}

static void rules_counted(const struct top *top, char *out, size_t size)
{
	char seen[NUMBER_TEXT_MAX], all[NUMBER_TEXT_MAX];

	number_print(seen, top->seen);
	number_print(all, top->book.policy.count);
	snprintf(out, size, "%s of %s rules counted packets: their rates are exact", seen, all);
}

void top_sampled(const struct top *top, char *out, size_t size)
{
	char sources[NUMBER_TEXT_MAX], all[NUMBER_TEXT_MAX], lost[NUMBER_TEXT_MAX];

	if (top->by == TOP_BY_RULE) {
		rules_counted(top, out, size);
		return;
	}
	number_print(sources, top->seen);
	number_print(all, top->figures.packets[0] + top->figures.packets[1]);
	number_print(lost, top->figures.lost);
	snprintf(out, size, "%s %s in samples of %s packets, %s samples lost", sources,
		 top_views[top->by].names, all, lost);
}

/* Two digits: the others mean nothing. */
static uint64_t rounded(uint64_t n)
{
	uint64_t unit = 1;

	while (n / unit >= 100)
		unit *= 10;
	return (n + unit / 2) / unit * unit;
}

/* Nobody has so many clients of which each is dropped once. */
#define FORGED_LEAST 1000

/* "about 150,000 sources seen once (69k-150k): forged addresses", or all that there are. */
static void sources_print(const struct top *top, enum talker_verdict verdict, char *out,
			  size_t size)
{
	const struct top_view *view = &top_views[top->by];
	const struct top_rare *rare = &top->rare[verdict];
	const struct rare_sources *sources = &rare->sources;
	bool exact = sources->least == sources->most;
	bool forged = verdict == TALKER_DROPPED && top->by == TOP_BY_SOURCE && sources->once &&
		      sources->least >= FORGED_LEAST;
	char about[NUMBER_TEXT_MAX], least[NUMBER_TEXT_MAX], most[NUMBER_TEXT_MAX];
	const char *seen = sources->once ? "once" : "too rarely for a rate";

	number_print(about, exact ? sources->about : rounded(sources->about));
	si_print(least, rounded(sources->least));
	si_print(most, rounded(sources->most));
	if (exact)
		snprintf(out, size, "%s more %s seen %s:", about,
			 sources->about == 1 ? view->name : view->names, seen);
	else
		snprintf(out, size, "about %s %s seen %s (%s-%s):%s", about, view->names, seen,
			 least, most, forged ? " forged addresses," : "");
}

bool top_rare_text(const struct top *top, enum talker_verdict verdict, char *out, size_t size)
{
	const struct top_rare *rare = &top->rare[verdict];
	char packets[NUMBER_TEXT_MAX], sources[256];

	if (!rare->rare.sources)
		return false;
	sources_print(top, verdict, sources, sizeof(sources));
	si_print(packets, rare->rate.packets);
	snprintf(out, size, "%s %s %s/s", sources, packets,
		 verdict == TALKER_DROPPED ? "dropped" : "passed");
	return true;
}
