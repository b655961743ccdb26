// SPDX-License-Identifier: GPL-2.0-only
/* The live display of `rlctl top`: keys and the loop. */
#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* After our own headers: curses.h defines macros with common names. */
#include <curses.h>

#include "base/clock.h"
#include "base/message.h"
#include "base/signals.h"
#include "base/units.h"
#include "cli/output/output.h"
#include "cli/terminal.h"
#include "cli/top/draw.h"
#include "cli/top/top.h"
#include "kernel/policy/policy_read.h"
#include "kernel/state/source.h"
#include "policy/policy.h"
#include "watch/traffic/pattern.h"

#define TURN_NS  NS_PER_SECOND
#define FIRST_NS (300 * NS_PER_MS)
#define WAIT_MS  100 /* the ring holds the samples of two seconds */
#define HELP                                                     \
	"1 2 3 4  show sources, destinations, rules, patterns\n" \
	"Tab      show the next of them\n"                       \
	"d p b a  sort by dropped, passed, bits, address\n"      \
	"/        show only the addresses in a prefix\n"         \
	"space    pause\n"                                       \
	"up down  select a row\n"                                \
	"r        show the whole rule that decides for it\n"     \
	"x        deny it for a time\n"                          \
	"f        forget its states and bans\n"                  \
	"n        show the next device\n"                        \
	"q        quit"

/* The states of the rows up to the last one shown are read. */
static size_t rows_looked(const struct screen *s)
{
	return s->first + rows_shown(s);
}

/* ---- forgiving */

/* NULL, with a message, if none is. */
static const struct top_row *selected_row(struct screen *s)
{
	if (s->selected < s->top->count)
		return &s->top->rows[s->selected];
	snprintf(s->message, sizeof(s->message), "no %s is selected", top_views[s->top->by].name);
	return NULL;
}

static void forgive_confirm(struct screen *s)
{
	const struct top_row *row;
	char source[PREFIX_TEXT_MAX];

	if (s->top->by != TOP_BY_SOURCE) {
		snprintf(s->message, sizeof(s->message),
			 "states and bans are forgotten by source: press 1 for the sources");
		return;
	}
	row = selected_row(s);
	if (!row)
		return;
	memcpy(s->input, row->last.src,
	       sizeof(row->last.src)); /* rows may move before the answer */
	prefix_print(source, sizeof(source), row->last.src, 128);
	snprintf(s->message, sizeof(s->message), "Forget the states and bans of %s? [y/N]", source);
	s->mode = MODE_CONFIRM;
}

static void forgive(struct screen *s, bool agreed)
{
	struct source_entry *entries = NULL;
	char source[PREFIX_TEXT_MAX];
	struct policy policy = {0};
	uint8_t addr[16];
	size_t count = 0;
	int ret;

	s->mode = MODE_KEYS;
	*s->message = '\0';
	if (!agreed)
		return;
	memcpy(addr, s->input, sizeof(addr));
	prefix_print(source, sizeof(source), addr, 128);
	ret = instance_policy_read(s->top->instance, &policy);
	ret = ret ?: instance_source_read(s->top->instance, &policy, addr, &entries, &count);
	ret = ret ?: instance_source_forgive(s->top->instance, entries, count);
	if (ret)
		clearok(stdscr, true); /* redraws: the error was printed over the screen */
	snprintf(s->message, sizeof(s->message), ret ? "forgiving %s failed" : "forgave %s",
		 source);
	free(entries);
	policy_clear(&policy);
}

/* ---- denying */

#define DENY_USUAL "10m"

static void pattern_limit_show(struct screen *s)
{
	const struct top_row *row = selected_row(s);
	char match[PATTERN_TEXT_MAX], rule[PATTERN_RULE_MAX];
	struct pattern pattern;

	if (!row)
		return;
	memcpy(&pattern, row->addr, sizeof(pattern));
	pattern_print(match, &pattern, true);
	pattern_rule_print(rule, match);
	snprintf(s->message, sizeof(s->message), "limit it with `rlctl rule add -i %s %s`",
		 s->top->instance->device, rule + strlen("rule "));
}

/* Is the row's address one that prefixes of rules are for? If not, says what to do. */
static bool row_is_deniable(struct screen *s)
{
	enum top_by wanted = s->top->book.ctx.by_dest ? TOP_BY_DEST : TOP_BY_SOURCE;

	if (s->top->by == wanted)
		return true;
	if (s->top->by == TOP_BY_PATTERN)
		pattern_limit_show(s);
	else if (s->top->by == TOP_BY_RULE)
		snprintf(s->message, sizeof(s->message),
			 "addresses are denied: press 1 for the sources, 2 for the destinations");
	else
		snprintf(s->message, sizeof(s->message),
			 "prefixes of this instance are %s: deny the %s with "
			 "`rlctl rule add any %s ADDRESS deny`",
			 top_views[wanted].names, top_views[s->top->by].name,
			 wanted == TOP_BY_DEST ? "src" : "dst");
	return false;
}

static void deny_ask(struct screen *s)
{
	const struct top_row *row = row_is_deniable(s) ? selected_row(s) : NULL;

	if (!row)
		return;
	top_cell(s->top, row, COLUMN_NAME, s->message);
	snprintf(s->chosen, sizeof(s->chosen), "%s", s->message);
	*s->message = '\0';
	snprintf(s->input, sizeof(s->input), DENY_USUAL);
	s->offered = true;
	s->mode = MODE_DENY;
}

static void deny(struct screen *s)
{
	s->mode = MODE_KEYS;
	if (*s->input)
		deny_run(s->top, s->chosen, s->input, s->message, sizeof(s->message));
	else
		snprintf(s->message, sizeof(s->message), "no time was given: nothing was changed");
}

/* ---- keys */

static void rule_show(struct screen *s)
{
	const struct top_row *row = selected_row(s);
	char name[TOP_TEXT_MAX], rule[TOP_TEXT_MAX];

	if (!row)
		return;
	top_cell(s->top, row, COLUMN_NAME, name);
	top_cell(s->top, row, COLUMN_RULE, rule);
	if (s->top->by == TOP_BY_RULE)
		snprintf(s->message, sizeof(s->message), "%s", rule);
	else
		snprintf(s->message, sizeof(s->message), "%.128s: %s", name,
			 row->rule ? rule : "no rule decides for it");
}

static void filter_set(struct screen *s)
{
	struct top_filter *filter = &s->top->filter[s->top->by];
	char canonical[PREFIX_TEXT_MAX] = "";

	if (!*s->input) {
		filter->set = false;
	} else if (!prefix_parse(s->input, filter->addr, &filter->len, canonical)) {
		filter->set = true;
	} else if (*canonical) {
		snprintf(s->message, sizeof(s->message), "invalid prefix '%s': write %s", s->input,
			 canonical);
	} else {
		snprintf(s->message, sizeof(s->message),
			 "invalid prefix '%s': use an IPv4 or IPv6 address, with /LEN for a prefix",
			 s->input);
	}
	s->mode = MODE_KEYS;
	s->widths = (struct top_widths){0};
	top_remake(s->top, rows_looked(s));
}

static void filter_ask(struct screen *s)
{
	if (!top_has_addresses(s->top)) {
		snprintf(s->message, sizeof(s->message),
			 "a prefix is of addresses: press 1 for the sources, 2 for the "
			 "destinations");
		return;
	}
	*s->input = '\0';
	s->offered = false;
	s->mode = MODE_FILTER;
}

/* Reads a word, and calls `done` at its end. */
static void key_input(struct screen *s, int key, void (*done)(struct screen *s))
{
	bool offered = s->offered;
	size_t len = strlen(s->input);

	s->offered = false;
	if (key == '\n' || key == '\r' || key == KEY_ENTER) {
		done(s);
	} else if (key == 27) {
		s->mode = MODE_KEYS;
	} else if (key == KEY_BACKSPACE || key == 127 || key == '\b') {
		s->input[len ? len - 1 : 0] = '\0';
	} else if (key > ' ' && key <= '~' && len + 1 < sizeof(s->input)) {
		len = offered ? 0 : len; /* typing replaces what was offered */
		s->input[len] = (char)key;
		s->input[len + 1] = '\0';
	}
}

static void sort_by(struct screen *s, enum top_sort sort)
{
	s->top->sort = sort;
	s->selected = 0;
	s->widths = (struct top_widths){0};
	top_arrange(s->top);
}

static void view_show(struct screen *s, enum top_by by)
{
	s->selected = s->first = 0;
	s->widths = (struct top_widths){0};
	s->failed = top_switch(s->top, by, rows_looked(s));
}

/* For the same device the history would be lost. */
static void device_next(struct screen *s)
{
	s->next = s->ends = s->top->has_next;
	if (!s->next)
		snprintf(
			s->message, sizeof(s->message),
			"no other device to show: `rlctl top` without a device shows each that has "
			"an instance");
}

static void key_command(struct screen *s, int key)
{
	static const char sorts[] = "dpba"; /* enum top_sort */
	const char *sort = key > 0 && key <= 'z' ? strchr(sorts, key) : NULL;

	*s->message = '\0';
	if (sort)
		return sort_by(s, (enum top_sort)(sort - sorts));
	switch (key) {
	case 'q':
		s->ends = true;
		return;
	case '1' ... '4':
		return view_show(s, (enum top_by)(key - '1'));
	case '\t':
		return view_show(s, (s->top->by + 1) % TOP_BYS);
	case ' ':
		s->paused = !s->paused;
		return;
	case 'r':
		return rule_show(s);
	case 'h':
	case '?':
		snprintf(s->message, sizeof(s->message), "%s", HELP);
		return;
	case 'x':
		return deny_ask(s);
	case 'n':
		return device_next(s);
	case 'f':
		return forgive_confirm(s);
	case '/':
		return filter_ask(s);
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
			key_input(s, key, filter_set);
		else if (s->mode == MODE_DENY)
			key_input(s, key, deny);
		else if (s->mode != MODE_CONFIRM)
			key_command(s, key);
		else
			forgive(s, key == 'y' || key == 'Y');
	}
}

/* ---- the loop */

static int screen_run(struct screen *s, int signals)
{
	uint64_t next_ns = clock_ns(CLOCK_MONOTONIC) + FIRST_NS;
	int ret = 0;

	while (!ret && !s->ends) {
		struct pollfd fds[] = {{.fd = STDIN_FILENO, .events = POLLIN},
				       {.fd = signals, .events = POLLIN}};

		screen_draw(s);
		if (poll(fds, 2, WAIT_MS) >= 0) /* else EINTR: the terminal was resized */
			s->ends |=
				fds[1].revents || fds[0].revents & (POLLERR | POLLHUP | POLLNVAL);
		keys_read(s);
		ret = s->failed ? s->failed : top_drain(s->top);
		if (ret || clock_ns(CLOCK_MONOTONIC) < next_ns)
			continue;
		next_ns = clock_ns(CLOCK_MONOTONIC) + TURN_NS;
		if (!s->paused)
			ret = top_turn(s->top, rows_looked(s));
	}
	return ret;
}

int top_show(struct top *top, bool *next)
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
	s.colours = colours_wanted(stdout) && has_colors() && start_color() == OK;
	if (s.colours) {
		use_default_colors();
		init_pair(PAIR_DROPPED, COLOR_RED, -1);
		init_pair(PAIR_BANNED, COLOR_YELLOW, -1);
		init_pair(PAIR_MESSAGE, COLOR_YELLOW, -1);
	}
	output_quiet = true; /* a note would be printed over the screen */
	ret = screen_run(&s, signals);
	endwin();
	delscreen(terminal);
	close(signals);
	output_quiet = quiet;
	*next = !ret && s.next;
	if (ret == -ENODEV)
		note("%s: no longer attached", top->instance->device);
	else if (ret)
		fail("%s: watching failed: %s", top->instance->device, strerror(-ret));
	return ret == -ENODEV ? 0 : ret;
}
