// SPDX-License-Identifier: GPL-2.0-only
/* Passes messages to the sink. */

#include "base/message.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* Takes over the text; false if there is no memory for it. */
static bool message_keep(enum message_kind kind, char *text)
{
	struct kept *items = reallocarray(held.items, held.count + 1, sizeof(*items));

	if (!items)
		return false;
	items[held.count++] = (struct kept){kind, text};
	held.items = items;
	return true;
}

int message_send(enum message_kind kind, const char *format, va_list args)
{
	char *text = NULL;
	int len;

	if (!the_sink)
		return 0;
	len = vasprintf(&text, format, args);
	if (held.depth && len >= 0 && message_keep(kind, text))
		return len;
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
	static char *noted[32];
	size_t i = 0;
	va_list args;
	char *text;
	int length;

	va_start(args, format);
	length = vasprintf(&text, format, args);
	va_end(args);
	if (length < 0)
		return;
	while (i < sizeof(noted) / sizeof(noted[0]) && noted[i] && strcmp(noted[i], text) != 0)
		i++;
	if (i < sizeof(noted) / sizeof(noted[0]) && noted[i]) {
		free(text);
		return;
	}
	note("%s", text);
	if (i < sizeof(noted) / sizeof(noted[0]))
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
