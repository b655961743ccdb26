// SPDX-License-Identifier: GPL-2.0-only
/* Draws a snapshot. All text is made here or printed by units.c and policy.c: no byte of a packet
 * and no foreign name reaches the terminal unescaped.
 */
#include "cli/top/draw.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* After our own headers: curses.h defines macros with common names. */
#include <curses.h>

#include "base/units.h"
#include "cli/output/output.h"
#include "cli/terminal.h"
#include "cli/top/top.h"
#include "kernel/attach/hook_names.h"
#include "policy/policy.h"
#include "watch/alarm_text.h"

#define HEAD 4 /* lines of totals */
#define KEYS "q quit  Tab view  dpba sort  / filter  r rule  x deny  f forget  n next  h help"

static void attribute(const struct screen *s, enum pair pair, bool on)
{
	if (s->colours && on)
		attron(COLOR_PAIR(pair));
	else if (s->colours)
		attroff(COLOR_PAIR(pair));
}

/* One line, truncated to the screen's width. */
static void line_put(int y, const char *text)
{
	if (y >= 0 && y < LINES)
		mvaddnstr(y, 0, text, COLS);
}

static bool is_alarmed(const struct top *top)
{
	for (uint32_t i = 0; i < top->alarms.count; i++)
		if (top->alarms.alarm[i].on)
			return true;
	return false;
}

/* Where the headings are: below the totals, the alarms that are on, and the lines of addresses
 * without a row. */
static int headings_line(const struct screen *s)
{
	int y = HEAD + is_alarmed(s->top);

	for (int v = 0; v < TALKER_VERDICTS; v++)
		y += s->top->rare[v].rare.sources > 0;
	return y;
}

/* Between the headings and the last line. */
size_t rows_shown(const struct screen *s)
{
	int y = headings_line(s);

	return LINES > y + 2 ? (size_t)(LINES - y - 2) : 0;
}

static void draw_head(const struct screen *s)
{
	const struct top *top = s->top;
	const struct top_view *view = &top_views[top->by];
	const struct top_filter *filter = &top->filter[top->by];
	char text[TOP_TEXT_MAX], prefix[PREFIX_TEXT_MAX] = "", clock[16];
	bool by_source = top->by == TOP_BY_SOURCE;
	char *device = text_shown(top->instance->device);
	time_t now = time(NULL);
	struct tm tm;

	localtime_r(&now, &tm);
	strftime(clock, sizeof(clock), "%T", &tm);
	if (filter->set)
		prefix_print(prefix, sizeof(prefix), filter->addr, filter->len);
	snprintf(text, sizeof(text), "%s %s  %s  %s%sby %s%s%s%s", device,
		 hook_name(top->instance->info.hook), clock, by_source ? "" : view->names,
		 by_source ? "" : " ", view->sorts[top->sort], filter->set ? "  in " : "", prefix,
		 s->paused ? "  PAUSED" : "");
	free(device);
	attron(A_BOLD);
	line_put(0, text);
	attroff(A_BOLD);
	top_totals(top, text, sizeof(text));
	line_put(1, text);
	top_sampled(top, text, sizeof(text));
	line_put(3, text);
	for (int v = 0, y = HEAD + is_alarmed(top); v < TALKER_VERDICTS; v++)
		if (top_rare_text(top, v, text, sizeof(text)))
			line_put(y++, text);
}

static void draw_alarms(const struct screen *s)
{
	char text[TOP_TEXT_MAX];

	if (!alarms_on_print(text, sizeof(text), &s->top->alarms, &s->top->alarms_at))
		return;
	attribute(s, PAIR_DROPPED, true);
	attron(A_BOLD);
	line_put(HEAD, text);
	attroff(A_BOLD);
	attribute(s, PAIR_DROPPED, false);
}

static void draw_history(const struct screen *s)
{
	static const char *const blocks[] = {" ",      "\u2581", "\u2582", "\u2583", "\u2584",
					     "\u2585", "\u2586", "\u2587", "\u2588"};
	static const char *const ascii[] = {" ", ".", ":", "-", "=", "+", "*", "%", "#"};
	char line[3 * TOP_HISTORY + 1];
	const int start = 10;

	if (COLS <= start || LINES < 3)
		return;
	line_put(2, "dropped/s");
	sparkline_print(s->top, (size_t)(COLS - start), s->utf8 ? blocks : ascii, 9, line,
			sizeof(line));
	attribute(s, PAIR_DROPPED, true);
	mvaddstr(2, start, line);
	attribute(s, PAIR_DROPPED, false);
}

static void cell_put(int y, int x, int width, bool right, const char *text)
{
	char cell[TOP_TEXT_MAX + 8];

	if (x >= COLS)
		return;
	snprintf(cell, sizeof(cell), "%*s", right ? width : -width, text);
	mvaddnstr(y, x, cell, COLS - x);
}

/* The rule gets the rest of the line. */
static void rule_put(const struct screen *s, int y, int x, char *text)
{
	if (x >= COLS)
		return;
	text_shorten(text, (size_t)(COLS - x), s->utf8 ? "\u2026" : "..");
	mvaddstr(y, x, text);
}

static void draw_column(const struct screen *s, enum top_column_id c, int x, int width)
{
	const struct top *top = s->top;
	int y = headings_line(s);
	char text[TOP_TEXT_MAX];

	attron(A_UNDERLINE);
	cell_put(y, x, width, top_columns[c].right, top_heading(top, c));
	attroff(A_UNDERLINE);
	for (size_t i = s->first; i < top->count && i < s->first + rows_shown(s); i++) {
		const struct top_row *row = &top->rows[i];

		top_cell(top, row, c, text);
		if (i == s->selected)
			attron(A_REVERSE);
		attribute(s, PAIR_BANNED, row->state.ban_ns);
		if (c == COLUMN_RULE)
			rule_put(s, ++y, x, text);
		else
			cell_put(++y, x, width, top_columns[c].right, text);
		attribute(s, PAIR_BANNED, false);
		attroff(A_REVERSE);
	}
}

static void draw_rows(struct screen *s)
{
	uint32_t shown;
	int x = 0;

	if (s->width != COLS)
		s->widths = (struct top_widths){0};
	s->width = COLS;
	top_widths_grow(s->top, s->first, rows_shown(s), &s->widths);
	shown = top_columns_fit(&s->widths, top_views[s->top->by].columns, COLS);
	for (int c = 0; c < TOP_COLUMN_COUNT; c++) {
		if (!(shown & 1u << c))
			continue;
		draw_column(s, c, x, s->widths.of[c]);
		x += s->widths.of[c] + COLUMN_GAP;
	}
}

/* How much of the text is on the next line. */
static size_t line_length(const char *text)
{
	size_t len = strcspn(text, "\n");

	return len > (size_t)COLS ? (size_t)COLS : len;
}

/* Text on the last lines, over the rows. */
static void foot_put(const char *text)
{
	int lines = 0, y;

	for (const char *at = text; *at; at += line_length(at), at += *at == '\n')
		lines++;
	y = lines < LINES ? LINES - lines : 0;
	for (const char *at = text; *at && y < LINES; y++) {
		move(y, 0);
		clrtoeol();
		mvaddnstr(y, 0, at, (int)line_length(at));
		at += line_length(at);
		at += *at == '\n';
	}
}

/* A prompt or a message, else the keys. */
static void draw_foot(const struct screen *s)
{
	char text[sizeof(s->message)];

	if (s->mode == MODE_FILTER)
		snprintf(text, sizeof(text), "show only %s in (empty for all): %s",
			 top_views[s->top->by].names, s->input);
	else if (s->mode == MODE_DENY)
		snprintf(text, sizeof(text), "deny %s for (Escape: do not): %s", s->chosen,
			 s->input);
	else
		snprintf(text, sizeof(text), "%s", *s->message ? s->message : KEYS);
	attribute(s, PAIR_MESSAGE, s->mode == MODE_CONFIRM);
	foot_put(text);
	attribute(s, PAIR_MESSAGE, false);
	curs_set(s->mode == MODE_FILTER || s->mode == MODE_DENY);
}

void screen_draw(struct screen *s)
{
	unsigned int rows, columns;

	/* Follows the terminal's size even if SIGWINCH was lost. */
	if (terminal_size(&rows, &columns) && is_term_resized((int)rows, (int)columns))
		resizeterm((int)rows, (int)columns);
	if (s->selected >= s->top->count)
		s->selected = s->top->count ? s->top->count - 1 : 0;
	if (s->selected < s->first)
		s->first = s->selected;
	if (rows_shown(s) && s->selected >= s->first + rows_shown(s))
		s->first = s->selected - rows_shown(s) + 1;
	erase();
	draw_head(s);
	draw_alarms(s);
	draw_history(s);
	draw_rows(s);
	draw_foot(s);
	refresh();
}
