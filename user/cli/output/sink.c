// SPDX-License-Identifier: GPL-2.0-only
/* Messages and progress of the library on stderr. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/message.h"
#include "cli/output/output.h"
#include "cli/progress.h"

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

static struct {
	bool wanted;
	char **texts;
	size_t count;
} printed; /* notes since notes_once() */

void notes_once(void)
{
	printed.wanted = true;
}

/* Whether the note is new. */
static bool note_is_new(const char *text)
{
	for (size_t i = 0; i < printed.count; i++)
		if (!strcmp(printed.texts[i], text))
			return false;
	printed.texts = xreallocarray(printed.texts, printed.count + 1, sizeof(*printed.texts));
	printed.texts[printed.count++] = xstrdup(text);
	return true;
}

static void message_print(enum message_kind kind, const char *text)
{
	bool library = kind == MESSAGE_LIBRARY || kind == MESSAGE_LIBRARY_DEBUG;

	if (!library &&
	    (kind == MESSAGE_ERROR || (!output_quiet && (!printed.wanted || note_is_new(text)))))
		line_print(text);
	/* Those of libbpf and libxdp include their newlines. */
	for (; library && output_verbose > (kind == MESSAGE_LIBRARY_DEBUG) && *text; text++)
		if (*text == '\n' || *text == '\t')
			putc(*text, stderr);
		else
			put_escaped(stderr, *text);
}

static const struct message_sink to_stderr = {.message = message_print, .progress = progress_show};

void output_begin(void)
{
	message_sink_set(&to_stderr);
}
