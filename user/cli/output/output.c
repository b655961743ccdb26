// SPDX-License-Identifier: GPL-2.0-only
/* Output for users. Everything except printable ASCII is escaped, so that the name of a file or a
 * device cannot control the terminal.
 */

#include "cli/output/output.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/message.h"
#include "base/text.h"
#include "policy/policy.h"

#define SHOWN_BEFORE 70 /* bytes of an erroneous line shown before and after the caret */
#define SHOWN_AFTER  30

bool output_unread;
bool output_json;
bool output_quiet;
int output_verbose;

int put_escaped(FILE *file, char c)
{
	char text[5];
	int width = byte_escape(text, c);

	fputs(text, file);
	return width;
}

void out_of_memory(void)
{
	fputs("rlctl: out of memory\n", stderr);
	exit(EXIT_FAILURE);
}

static void *checked(void *memory)
{
	if (!memory)
		out_of_memory();
	return memory;
}

void *xcalloc(size_t count, size_t size)
{
	return checked(calloc(count, size));
}

void *xreallocarray(void *items, size_t count, size_t size)
{
	return checked(reallocarray(items, count, size));
}

char *xstrdup(const char *text)
{
	return checked(strdup(text));
}

FILE *memory_open(char **text, size_t *size)
{
	return checked(open_memstream(text, size));
}

void memory_close(FILE *file)
{
	if (fclose(file))
		out_of_memory();
}

char *text_shown(const char *text)
{
	return checked(text_escape(text));
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

int fail_at(const char *place, const char *line, size_t len, const struct policy_error *err)
{
	size_t column = err->column ? err->column - 1 : 0, first, last;
	int indent;

	if (place)
		fail("%s:%" PRIu32 ": %s", place, err->column, err->text);
	else
		fail("column %" PRIu32 ": %s", err->column, err->text);
	/* The line, or the part around the column, and a caret below. */
	column = column < len ? column : len;
	first = column > SHOWN_BEFORE ? column - SHOWN_BEFORE : 0;
	last = len - column > SHOWN_AFTER ? column + SHOWN_AFTER : len;
	indent = fprintf(stderr, first ? "  ..." : "  ");
	for (size_t i = first; i < last; i++) {
		int width = put_escaped(stderr, line[i] == '\t' ? ' ' : line[i]);

		if (i < column)
			indent += width;
	}
	fprintf(stderr, "%s\n%*s^\n", last < len ? "..." : "", indent, "");
	return -1;
}

void text_print(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	if (!output_json)
		vprintf(format, args);
	va_end(args);
}

void text_note(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	if (!output_json)
		message_send(MESSAGE_NOTE, format, args);
	va_end(args);
}

int output_flush(void)
{
	errno = 0;
	if (!fflush(stdout) && !ferror(stdout))
		return 0;
	output_unread = errno == EPIPE;
	if (output_unread)
		return -1;
	return fail("standard output: %s", errno ? strerror(errno) : "cannot be written");
}
