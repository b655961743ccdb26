// SPDX-License-Identifier: GPL-2.0-only
/* Messages, and numbers and rules as text. Everything that is not printable ASCII leaves escaped,
 * so that no name of a file or a device can play with a terminal.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "output.h"
#include "units.h"

#define SHOWN_BEFORE 70 /* bytes of a refused line before the caret, and after it */
#define SHOWN_AFTER  30

bool output_json;
bool output_quiet;
int output_verbose;

static bool is_printable(char c)
{
	return c >= ' ' && c <= '~';
}

/* One byte of text from outside; returns how many columns it took. */
static int put_escaped(FILE *file, char c)
{
	if (!is_printable(c))
		return fprintf(file, "\\x%02x", (unsigned char)c);
	putc(c, file);
	return 1;
}

char *text_escape(const char *text)
{
	char *out = malloc(strlen(text) * 4 + 1), *at = out;

	if (!out)
		out_of_memory();
	for (; *text; text++)
		if (is_printable(*text))
			*at++ = *text;
		else
			at += sprintf(at, "\\x%02x", (unsigned char)*text);
	*at = '\0';
	return out;
}

void out_of_memory(void)
{
	fputs("rlctl: out of memory\n", stderr);
	exit(EXIT_FAILURE);
}

static bool status_shown;

void status_show(const char *text)
{
	fprintf(stderr, "\r%s\033[K", text);
	status_shown = true;
}

void status_clear(void)
{
	if (status_shown)
		fputs("\r\033[K", stderr);
	status_shown = false;
}

__attribute__((format(printf, 1, 0))) static void say(const char *format, va_list args)
{
	char *text = NULL;

	if (vasprintf(&text, format, args) < 0)
		out_of_memory();
	flockfile(stderr);
	status_clear();
	fputs("rlctl: ", stderr);
	for (const char *c = text; *c; c++)
		put_escaped(stderr, *c);
	putc('\n', stderr);
	funlockfile(stderr);
	free(text);
}

int talk(const char *format, va_list args)
{
	char *text = NULL;
	int len = vasprintf(&text, format, args);

	if (len < 0)
		out_of_memory();
	for (const char *c = text; *c; c++) {
		if (*c == '\n' || *c == '\t')
			putc(*c, stderr);
		else
			put_escaped(stderr, *c);
	}
	free(text);
	return len;
}

int fail(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	say(format, args);
	va_end(args);
	return -1;
}

void note(const char *format, ...)
{
	va_list args;

	if (output_quiet)
		return;
	va_start(args, format);
	say(format, args);
	va_end(args);
}

/* The line, or the part of it around the column (from 0), and a caret below. */
static void show_caret(const char *line, size_t len, size_t column)
{
	size_t first = column > SHOWN_BEFORE ? column - SHOWN_BEFORE : 0;
	size_t last = len - column > SHOWN_AFTER ? column + SHOWN_AFTER : len;
	int indent = fprintf(stderr, first ? "  ..." : "  ");

	for (size_t i = first; i < last; i++) {
		int width = put_escaped(stderr, line[i] == '\t' ? ' ' : line[i]);

		if (i < column)
			indent += width;
	}
	fprintf(stderr, "%s\n%*s^\n", last < len ? "..." : "", indent, "");
}

int fail_at(const char *place, const char *line, size_t len, const struct policy_error *err)
{
	size_t column = err->column ? err->column - 1 : 0;

	if (place)
		fail("%s:%" PRIu32 ": %s", place, err->column, err->text);
	else
		fail("column %" PRIu32 ": %s", err->column, err->text);
	show_caret(line, len, column < len ? column : len);
	return -1;
}

int output_flush(void)
{
	errno = 0;
	if (!fflush(stdout) && !ferror(stdout))
		return 0;
	return fail("standard output: %s", errno ? strerror(errno) : "cannot be written");
}

void number_print(char buf[NUMBER_TEXT_MAX], uint64_t n)
{
	char digits[NUMBER_TEXT_MAX];
	int len = snprintf(digits, sizeof(digits), "%" PRIu64, n);

	for (int i = 0; i < len; i++) {
		*buf++ = digits[i];
		if (i + 1 < len && (len - i) % 3 == 1)
			*buf++ = ',';
	}
	*buf = '\0';
}

void size_print(char buf[NUMBER_TEXT_MAX], uint64_t bytes)
{
	static const char *const units[] = {"KiB", "MiB", "GiB", "TiB"};
	size_t unit = 0;

	if (bytes < 1024) {
		snprintf(buf, NUMBER_TEXT_MAX, "%" PRIu64 " B", bytes);
		return;
	}
	for (; bytes >= 1024 * 1024 && unit < 3; unit++)
		bytes /= 1024;
	snprintf(buf, NUMBER_TEXT_MAX, "%" PRIu64 ".%" PRIu64 " %s", bytes / 1024,
		 bytes % 1024 * 10 / 1024, units[unit]);
}

void time_print(char buf[NUMBER_TEXT_MAX], uint64_t realtime_ns, bool local)
{
	time_t seconds = (time_t)(realtime_ns / NS_PER_SECOND);
	char zone[8];
	struct tm tm;
	size_t len;

	if (!local) {
		gmtime_r(&seconds, &tm);
		strftime(buf, NUMBER_TEXT_MAX, "%FT%TZ", &tm);
		return;
	}
	localtime_r(&seconds, &tm);
	len = strftime(buf, NUMBER_TEXT_MAX, "%FT%T", &tm);
	strftime(zone, sizeof(zone), "%z", &tm); /* +hhmm */
	snprintf(buf + len, NUMBER_TEXT_MAX - len, "%.3s:%s", zone, zone + 3);
}

void rule_words(char buf[RULE_TEXT_MAX], const struct rule *rule, const struct policy_context *ctx)
{
	const size_t word = strlen("rule ");
	char line[RULE_TEXT_MAX];

	rule_print(line, sizeof(line), rule, ctx);
	memcpy(buf, line + word, strlen(line) - word + 1);
}
