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

#define HEAD 2 /* lines beside those of enum top_line: the title and the history */

static void attribute(const struct screen *s, enum pair pair, bool on)
{
	if (s->colours && on)
		attron(COLOR_PAIR(pair));
	else if (s->colours)
		attroff(COLOR_PAIR(pair));
}

static const char *ellipsis(const struct screen *s)
{
	return s->utf8 ? "\u2026" : "..";
}

static void line_put(const struct screen *s, int y, struct screen_line *line)
{
	line_fit(line, (size_t)COLS, ellipsis(s));
	if (y < LINES)
		mvaddstr(y, 0, line->text);
}

/* Where the headings are: below the lines, the first of which has the history below it. */
static int headings_line(const struct screen *s)
{
	struct screen_line line;
	int y = HEAD;

	for (int which = 0; which < TOP_LINES; which++)
		y += top_line_print(s->top, which, &line);
	return y;
}

/* Between the headings and the last line. */
size_t rows_shown(const struct screen *s)
{
	int y = headings_line(s);

	return LINES > y + 2 ? (size_t)(LINES - y - 2) : 0;
}

static void draw_title(const struct screen *s)
{
	const struct top *top = s->top;
	const struct top_view *view = &top_views[top->by];
	const struct top_filter *filter = &top->filter[top->by];
	char prefix[PREFIX_TEXT_MAX] = "", clock[16];
	bool by_source = top->by == TOP_BY_SOURCE;
	char *device = text_shown(top->instance->device);
	struct screen_line line = {0};
	time_t now = time(NULL);
	struct tm tm;

	localtime_r(&now, &tm);
	strftime(clock, sizeof(clock), "%T", &tm);
	if (filter->set)
		prefix_print(prefix, sizeof(prefix), filter->addr, filter->len);
	line_add(&line, LINE_STAYS, "%s %s", device, hook_name(top->instance->info.hook));
	line_add(&line, 1, "  %s", clock);
	line_add(&line, LINE_STAYS, "  %s%sby %s%s%s%s", by_source ? "" : view->names,
		 by_source ? "" : " ", view->sorts[top->sort], filter->set ? "  in " : "", prefix,
		 s->paused ? "  PAUSED" : "");
	free(device);
	attron(A_BOLD);
	line_put(s, 0, &line);
	attroff(A_BOLD);
}

/* As far as it goes back, and how much its highest is. */
static void draw_history(const struct screen *s, int y)
{
	static const char *const blocks[] = {" ",      "\u2581", "\u2582", "\u2583", "\u2584",
					     "\u2585", "\u2586", "\u2587", "\u2588"};
	static const char *const ascii[] = {" ", ".", ":", "-", "=", "+", "*", "%", "#"};
	const int start = 10, end = 18;
	char line[3 * TOP_HISTORY + 1];
	uint64_t most;

	if (COLS <= start + end || y >= LINES)
		return;
	mvaddstr(y, 0, "dropped/s");
	most = sparkline_print(s->top, (size_t)(COLS - start - end), s->utf8 ? blocks : ascii, 9,
			       line, sizeof(line));
	attribute(s, PAIR_DROPPED, true);
	mvaddstr(y, start, line);
	attribute(s, PAIR_DROPPED, false);
	printw("  at most %s", text_of(most, si_print));
}

static void draw_lines(const struct screen *s)
{
	struct screen_line line;
	int y = 1;

	for (int which = 0; which < TOP_LINES; which++) {
		bool alarms = which == TOP_LINE_ALARMS;

		if (!top_line_print(s->top, which, &line))
			continue;
		attribute(s, PAIR_DROPPED, alarms);
		attron(alarms ? A_BOLD : A_NORMAL);
		line_put(s, y++, &line);
		attroff(alarms ? A_BOLD : A_NORMAL);
		attribute(s, PAIR_DROPPED, false);
		if (which == TOP_LINE_TOTALS)
			draw_history(s, y++);
	}
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
	text_shorten(text, (size_t)(COLS - x), ellipsis(s));
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

/* Those that `h` lists as well go where there is no room. */
static void draw_keys(const struct screen *s)
{
	static const struct {
		unsigned int rank;
		const char *text;
	} keys[] = {
		{LINE_STAYS, "q quit"}, {5, "  Tab view"}, {3, "  dpba sort"},
		{4, "  / filter"},      {2, "  r rule"},   {6, "  x deny"},
		{1, "  f forget"},      {1, "  n next"},   {LINE_STAYS, "  h help"},
	};
	struct screen_line line = {0};

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		line_add(&line, keys[i].rank, "%s", keys[i].text);
	line_put(s, LINES - 1, &line);
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
		snprintf(text, sizeof(text), "%s", s->message);
	if (!*text)
		draw_keys(s);
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
	draw_title(s);
	draw_lines(s);
	draw_rows(s);
	draw_foot(s);
	refresh();
}
