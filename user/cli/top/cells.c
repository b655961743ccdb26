// SPDX-License-Identifier: GPL-2.0-only
/* A snapshot as text: the cells of a row, and which columns there is room for. */

#include "cli/top/top.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "base/units.h"
#include "policy/policy.h"
#include "watch/traffic/pattern.h"

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
	const struct top_port *port = &row->dport;
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
			snprintf(out, TOP_TEXT_MAX, "%u%s", port->number,
				 port->share < 50 ? "+" : "");
		else if (port->has_ports)
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
