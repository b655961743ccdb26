// SPDX-License-Identifier: GPL-2.0-only
/* The live display of `rlctl top`, with ncurses. All text is made here or printed by units.c and
 * policy.c: no byte of a packet and no foreign name reaches the terminal unescaped.
 */
#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* After our own headers: curses.h defines macros with common names. */
#include <curses.h>

#include "clock.h"
#include "hook_names.h"
#include "message.h"
#include "output.h"
#include "policy.h"
#include "policy_write.h"
#include "signals.h"
#include "source.h"
#include "source_forgive.h"
#include "terminal.h"
#include "top.h"
#include "units.h"

#define TURN_NS  NS_PER_SECOND
#define FIRST_NS (300 * NS_PER_MS)
#define WAIT_MS  100 /* the ring holds the samples of two seconds */
#define HEAD     4   /* lines of totals */
#define KEYS     "q quit  d/p/b/a sort  / filter  space pause  up/down select  f forgive"

enum mode { MODE_KEYS, MODE_FILTER, MODE_CONFIRM };
enum pair { PAIR_DROPPED = 1, PAIR_BANNED, PAIR_MESSAGE };

struct screen {
	struct top *top;
	enum mode mode;
	bool paused;
	bool ends;
	bool utf8;
	bool colours;
	size_t selected; /* row */
	size_t first;    /* row at the top */
	char input[PREFIX_TEXT_MAX];
	char message[160];
};

/* ---- drawing */

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

/* Where the headings are: below the totals and the lines of sources without a row. */
static int headings_line(const struct screen *s)
{
	int y = HEAD;

	for (int v = 0; v < TALKER_VERDICTS; v++)
		y += s->top->rare[v].rare.sources > 0;
	return y;
}

/* Between the headings and the last line. */
static size_t rows_shown(const struct screen *s)
{
	int y = headings_line(s);

	return LINES > y + 2 ? (size_t)(LINES - y - 2) : 0;
}

static void draw_head(const struct screen *s)
{
	const struct top *top = s->top;
	char text[TOP_TEXT_MAX], filter[PREFIX_TEXT_MAX] = "", clock[16];
	char *device = text_shown(top->instance->device);
	time_t now = time(NULL);
	struct tm tm;

	localtime_r(&now, &tm);
	strftime(clock, sizeof(clock), "%T", &tm);
	if (top->has_filter)
		prefix_print(filter, sizeof(filter), top->filter, top->filter_len);
	snprintf(text, sizeof(text), "%s %s  %s  by %s%s%s%s", device,
		 hook_name(top->instance->info.hook), clock, top_sort_names[top->sort],
		 top->has_filter ? "  in " : "", filter, s->paused ? "  PAUSED" : "");
	free(device);
	attron(A_BOLD);
	line_put(0, text);
	attroff(A_BOLD);
	top_totals(top, text, sizeof(text));
	line_put(1, text);
	top_sampled(top, text, sizeof(text));
	line_put(3, text);
	for (int v = 0, y = HEAD; v < TALKER_VERDICTS; v++)
		if (top_rare_text(top, v, text, sizeof(text)))
			line_put(y++, text);
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

/* The width of the widest visible cell, or of the heading. */
static int column_width(const struct screen *s, int column)
{
	int width = (int)strlen(top_columns[column].name);
	char text[TOP_TEXT_MAX];

	for (size_t i = s->first; i < s->top->count && i < s->first + rows_shown(s); i++) {
		int len;

		top_cell(s->top, &s->top->rows[i], column, text);
		len = (int)strlen(text);
		width = len > width ? len : width;
	}
	return width;
}

static void cell_put(int y, int x, int width, bool right, const char *text)
{
	char cell[TOP_TEXT_MAX + 8];

	if (x >= COLS)
		return;
	snprintf(cell, sizeof(cell), "%*s", right ? width : -width, text);
	mvaddnstr(y, x, cell, COLS - x);
}

static void draw_rows(const struct screen *s)
{
	const struct top *top = s->top;
	char text[TOP_TEXT_MAX];
	int x = 0;

	for (int c = 0; c < TOP_COLUMN_COUNT; c++) {
		int width = column_width(s, c), y = headings_line(s);

		attron(A_UNDERLINE);
		cell_put(y, x, width, top_columns[c].right, top_columns[c].name);
		attroff(A_UNDERLINE);
		for (size_t i = s->first; i < top->count && i < s->first + rows_shown(s); i++) {
			const struct top_row *row = &top->rows[i];

			top_cell(top, row, c, text);
			if (i == s->selected)
				attron(A_REVERSE);
			attribute(s, PAIR_BANNED, row->state.ban_ns);
			cell_put(++y, x, width, top_columns[c].right, text);
			attribute(s, PAIR_BANNED, false);
			attroff(A_REVERSE);
		}
		x += width + 2;
	}
}

/* A prompt or a message, else the keys. */
static void draw_foot(const struct screen *s)
{
	char text[TOP_TEXT_MAX];

	if (s->mode == MODE_FILTER)
		snprintf(text, sizeof(text), "show only sources in (empty for all): %s", s->input);
	else
		snprintf(text, sizeof(text), "%s", *s->message ? s->message : KEYS);
	attribute(s, PAIR_MESSAGE, s->mode == MODE_CONFIRM);
	line_put(LINES - 1, text);
	attribute(s, PAIR_MESSAGE, false);
	curs_set(s->mode == MODE_FILTER);
}

/* Follows the terminal's size even if SIGWINCH was lost. */
static void size_follow(void)
{
	struct winsize size;

	if (!ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) && size.ws_row && size.ws_col &&
	    is_term_resized(size.ws_row, size.ws_col))
		resizeterm(size.ws_row, size.ws_col);
}

static void draw(struct screen *s)
{
	size_follow();
	if (s->selected >= s->top->count)
		s->selected = s->top->count ? s->top->count - 1 : 0;
	if (s->selected < s->first)
		s->first = s->selected;
	if (rows_shown(s) && s->selected >= s->first + rows_shown(s))
		s->first = s->selected - rows_shown(s) + 1;
	erase();
	draw_head(s);
	draw_history(s);
	draw_rows(s);
	draw_foot(s);
	refresh();
}

/* ---- forgiving */

static const struct top_row *selected_row(const struct screen *s)
{
	return s->selected < s->top->count ? &s->top->rows[s->selected] : NULL;
}

static void forgive_confirm(struct screen *s)
{
	const struct top_row *row = selected_row(s);
	char source[PREFIX_TEXT_MAX];

	if (!row) {
		snprintf(s->message, sizeof(s->message), "no source is selected");
		return;
	}
	memcpy(s->input, row->last.src,
	       sizeof(row->last.src)); /* rows may move before the answer */
	prefix_print(source, sizeof(source), row->last.src, 128);
	snprintf(s->message, sizeof(s->message), "Forget the states and bans of %s? [y/N]", source);
	s->mode = MODE_CONFIRM;
}

static void forgive(struct screen *s)
{
	struct source_entry *entries = NULL;
	char source[PREFIX_TEXT_MAX];
	struct policy policy = {0};
	uint8_t addr[16];
	size_t count = 0;
	int ret;

	memcpy(addr, s->input, sizeof(addr));
	prefix_print(source, sizeof(source), addr, 128);
	ret = instance_policy_read(s->top->instance, &policy);
	if (!ret)
		ret = instance_source_read(s->top->instance, &policy, addr, &entries, &count);
	if (!ret)
		ret = instance_source_forgive(s->top->instance, entries, count);
	if (ret)
		clearok(stdscr, true); /* redraws: the error was printed over the screen */
	snprintf(s->message, sizeof(s->message), ret ? "forgiving %s failed" : "forgave %s",
		 source);
	free(entries);
	policy_clear(&policy);
}

/* ---- keys */

static void filter_set(struct screen *s)
{
	struct top *top = s->top;
	char canonical[PREFIX_TEXT_MAX] = "";

	if (!*s->input) {
		top->has_filter = false;
	} else if (!prefix_parse(s->input, top->filter, &top->filter_len, canonical)) {
		top->has_filter = true;
	} else if (*canonical) {
		snprintf(s->message, sizeof(s->message), "invalid prefix '%s': write %s", s->input,
			 canonical);
	} else {
		snprintf(s->message, sizeof(s->message),
			 "invalid prefix '%s': use an IPv4 or IPv6 address, with /LEN for a prefix",
			 s->input);
	}
	s->mode = MODE_KEYS;
	top_filter(top);
}

static void key_filter(struct screen *s, int key)
{
	size_t len = strlen(s->input);

	if (key == '\n' || key == '\r' || key == KEY_ENTER) {
		filter_set(s);
	} else if (key == 27) {
		s->mode = MODE_KEYS;
	} else if (key == KEY_BACKSPACE || key == 127 || key == '\b') {
		s->input[len ? len - 1 : 0] = '\0';
	} else if (key > ' ' && key <= '~' && len + 1 < sizeof(s->input)) {
		s->input[len] = (char)key;
		s->input[len + 1] = '\0';
	}
}

static void key_confirm(struct screen *s, int key)
{
	s->mode = MODE_KEYS;
	*s->message = '\0';
	if (key == 'y' || key == 'Y')
		forgive(s);
}

static void sort_by(struct screen *s, enum top_sort sort)
{
	s->top->sort = sort;
	s->selected = 0;
	top_arrange(s->top);
}

static void key_command(struct screen *s, int key)
{
	*s->message = '\0';
	switch (key) {
	case 'q':
		s->ends = true;
		return;
	case 'd':
		sort_by(s, TOP_DROPPED);
		return;
	case 'p':
		sort_by(s, TOP_PASSED);
		return;
	case 'b':
		sort_by(s, TOP_BITS);
		return;
	case 'a':
		sort_by(s, TOP_ADDRESS);
		return;
	case ' ':
		s->paused = !s->paused;
		return;
	case 'f':
		forgive_confirm(s);
		return;
	case '/':
		*s->input = '\0';
		s->mode = MODE_FILTER;
		return;
	case KEY_UP:
	case 'k':
		s->selected -= s->selected > 0;
		return;
	case KEY_DOWN:
	case 'j':
		s->selected++;
		return;
	}
}

static void keys_read(struct screen *s)
{
	int key;

	while (!s->ends && (key = getch()) != ERR) {
		if (key == KEY_RESIZE)
			continue;
		if (s->mode == MODE_FILTER)
			key_filter(s, key);
		else if (s->mode == MODE_CONFIRM)
			key_confirm(s, key);
		else
			key_command(s, key);
	}
}

/* ---- the loop */

static void wait_for_keys(struct screen *s, int signals)
{
	struct pollfd fds[] = {
		{.fd = STDIN_FILENO, .events = POLLIN},
		{.fd = signals, .events = POLLIN},
	};

	if (poll(fds, 2, WAIT_MS) < 0)
		return; /* EINTR: the terminal was resized */
	s->ends |= fds[1].revents || fds[0].revents & (POLLERR | POLLHUP | POLLNVAL);
}

static int screen_run(struct screen *s, int signals)
{
	uint64_t next_ns = clock_ns(CLOCK_MONOTONIC) + FIRST_NS;
	int ret = 0;

	while (!ret && !s->ends) {
		draw(s);
		wait_for_keys(s, signals);
		keys_read(s);
		ret = top_drain(s->top);
		if (ret || clock_ns(CLOCK_MONOTONIC) < next_ns)
			continue;
		next_ns = clock_ns(CLOCK_MONOTONIC) + TURN_NS;
		if (!s->paused)
			ret = top_turn(s->top, s->first + rows_shown(s));
	}
	return ret;
}

static void colours_make(struct screen *s)
{
	s->colours = colours_wanted(stdout) && has_colors() && start_color() == OK;
	if (!s->colours)
		return;
	use_default_colors();
	init_pair(PAIR_DROPPED, COLOR_RED, -1);
	init_pair(PAIR_BANNED, COLOR_YELLOW, -1);
	init_pair(PAIR_MESSAGE, COLOR_YELLOW, -1);
}

int top_show(struct top *top)
{
	struct screen s = {.top = top};
	int signals = signals_open(), ret;
	bool quiet = output_quiet;
	SCREEN *terminal;

	setlocale(LC_CTYPE, "");
	s.utf8 = !strcmp(nl_langinfo(CODESET), "UTF-8");
	terminal = signals < 0 ? NULL : newterm(NULL, stdout, stdin);
	if (!terminal)
		return fail("top: unknown terminal type (TERM): use --once for one snapshot");
	cbreak();
	noecho();
	nodelay(stdscr, true);
	keypad(stdscr, true);
	set_escdelay(25);
	colours_make(&s);
	output_quiet = true; /* a note would be printed over the screen */
	ret = screen_run(&s, signals);
	endwin();
	delscreen(terminal);
	close(signals);
	output_quiet = quiet;
	if (ret == -ENODEV)
		note("%s: no longer attached", top->instance->device);
	else if (ret)
		fail("%s: watching failed: %s", top->instance->device, strerror(-ret));
	return ret == -ENODEV ? 0 : ret;
}
