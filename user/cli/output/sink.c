// SPDX-License-Identifier: GPL-2.0-only
/* Messages and progress of the library on stderr. */
#include <stdio.h>

#include "message.h"
#include "output.h"
#include "progress.h"

/* One line, prefixed with the name of the program. */
static void line_print(const char *text)
{
	flockfile(stderr);
	status_clear();
	fputs("rlctl: ", stderr);
	for (; *text; text++)
		put_escaped(stderr, *text);
	putc('\n', stderr);
	funlockfile(stderr);
}

/* Messages of libbpf and libxdp, which include their newlines. */
static void lines_print(const char *text)
{
	for (; *text; text++)
		if (*text == '\n' || *text == '\t')
			putc(*text, stderr);
		else
			put_escaped(stderr, *text);
}

static void message_print(enum message_kind kind, const char *text)
{
	bool library = kind == MESSAGE_LIBRARY || kind == MESSAGE_LIBRARY_DEBUG;

	if (library && output_verbose > (kind == MESSAGE_LIBRARY_DEBUG))
		lines_print(text);
	else if (!library && (kind == MESSAGE_ERROR || !output_quiet))
		line_print(text);
}

static const struct message_sink to_stderr = {.message = message_print, .progress = progress_show};

void output_begin(void)
{
	message_sink_set(&to_stderr);
}
