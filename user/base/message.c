// SPDX-License-Identifier: GPL-2.0-only
/* Passes messages to the sink. */

#include "base/message.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOTED_MAX 32

static const struct message_sink *the_sink;

struct kept {
	enum message_kind kind;
	char *text;
};

static _Thread_local struct {
	unsigned int depth;
	size_t count;
	struct kept *items;
} held;

const struct message_sink *message_sink_set(const struct message_sink *sink)
{
	const struct message_sink *former = the_sink;

	the_sink = sink;
	return former;
}

void message_hold(void)
{
	held.depth++;
}

void message_release(void)
{
	if (!--held.depth)
		message_flush();
}

void message_flush(void)
{
	for (size_t i = 0; i < held.count; i++) {
		the_sink->message(held.items[i].kind, held.items[i].text);
		free(held.items[i].text);
	}
	free(held.items);
	held.items = NULL;
	held.count = 0;
}

int message_send(enum message_kind kind, const char *format, va_list args)
{
	struct kept *items = NULL;
	char *text = NULL;
	int len;

	if (!the_sink)
		return 0;
	len = vasprintf(&text, format, args);
	if (held.depth && len >= 0)
		items = reallocarray(held.items, held.count + 1, sizeof(*items));
	if (items) {
		items[held.count++] = (struct kept){kind, text};
		held.items = items;
		return len;
	}
	the_sink->message(kind, len < 0 ? "out of memory" : text);
	if (len >= 0)
		free(text);
	return len;
}

int fail(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	message_send(MESSAGE_ERROR, format, args);
	va_end(args);
	return -1;
}

void note(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	message_send(MESSAGE_NOTE, format, args);
	va_end(args);
}

void note_once(const char *format, ...)
{
	static char *noted[NOTED_MAX];
	size_t i = 0;
	va_list args;
	char *text;
	int length;

	va_start(args, format);
	length = vasprintf(&text, format, args);
	va_end(args);
	if (length < 0)
		return;
	while (i < NOTED_MAX && noted[i] && strcmp(noted[i], text) != 0)
		i++;
	if (i == NOTED_MAX || !noted[i])
		note("%s", text);
	if (i < NOTED_MAX && !noted[i])
		noted[i] = text;
	else
		free(text);
}

void progress_report(uint64_t done, const char *noun, int permille)
{
	if (the_sink && the_sink->progress && !held.depth)
		the_sink->progress(done, noun, permille);
}

void progress_over(void)
{
	progress_report(0, NULL, -1);
}
