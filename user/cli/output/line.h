/* SPDX-License-Identifier: GPL-2.0-only */
/* A line in parts, of which those that matter least are left out where it is too long. */
#pragma once

#include <stdarg.h>
#include <stddef.h>

#include "policy/policy.h"

#define LINE_PARTS 24
#define LINE_STAYS 0 /* the rank of a part that is never left out */

struct screen_line { /* zero-initialised */
	char text[RULE_TEXT_MAX + 1024];
	struct {
		size_t at;
		unsigned int rank;
	} parts[LINE_PARTS];
	size_t count, used;
};

/* Adds a part. The parts of rank 1 go first, then those of 2, and so on. */
void line_add(struct screen_line *line, unsigned int rank, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
void line_add_va(struct screen_line *line, unsigned int rank, const char *format, va_list args)
	__attribute__((format(printf, 3, 0)));

/* Makes it fit: at last, its last part is shortened. `ellipsis` takes one column if it is of more
 * than one byte of UTF-8, else a column a byte. */
void line_fit(struct screen_line *line, size_t columns, const char *ellipsis);

/* To stdout, as wide as its terminal, or whole if it is none, and ends it. */
void line_print(struct screen_line *line);

/* Shortens ASCII text to `room` columns, in its middle: the text has room for the ellipsis. */
void text_shorten(char *text, size_t room, const char *ellipsis);
