// SPDX-License-Identifier: GPL-2.0-only
/* Passes messages to the sink. */

#include "message.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

static const struct message_sink *the_sink;

void message_sink_set(const struct message_sink *sink)
{
	the_sink = sink;
}

int message_send(enum message_kind kind, const char *format, va_list args)
{
	char *text = NULL;
	int len;

	if (!the_sink)
		return 0;
	len = vasprintf(&text, format, args);
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

void progress_report(uint64_t done, const char *noun, int permille)
{
	if (the_sink && the_sink->progress)
		the_sink->progress(done, noun, permille);
}

void progress_over(void)
{
	progress_report(0, NULL, -1);
}
