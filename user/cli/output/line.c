// SPDX-License-Identifier: GPL-2.0-only
#include "cli/output/line.h"

#include <stdio.h>
#include <string.h>

#include "cli/output/output.h"
#include "cli/terminal.h"

/* Columns that the last part keeps, ", rule " and some of it: while there are parts of the first
 * ranks, and after. */
#define RANK_USUAL 3
#define LAST_USUAL (7 + REST_USUAL)
#define LAST_LEAST (7 + REST_LEAST)

void line_add_va(struct screen_line *line, unsigned int rank, const char *format, va_list args)
{
	size_t room = sizeof(line->text) - line->used;
	int len;

	if (line->count == LINE_PARTS)
		return;
	line->parts[line->count].at = line->used;
	line->parts[line->count++].rank = rank;
	len = vsnprintf(line->text + line->used, room, format, args);
	line->used += len < 0 ? 0 : (size_t)len < room ? (size_t)len : room - 1;
}

void line_add(struct screen_line *line, unsigned int rank, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	line_add_va(line, rank, format, args);
	va_end(args);
}

static size_t part_length(const struct screen_line *line, size_t i)
{
	return (i + 1 < line->count ? line->parts[i + 1].at : line->used) - line->parts[i].at;
}

/* With the parts above the rank, and the last of them as short as it may be. */
static size_t length_above(const struct screen_line *line, unsigned int rank)
{
	size_t keeps = rank < RANK_USUAL ? LAST_USUAL : LAST_LEAST, sum = 0, spare = 0;

	for (size_t i = 0; i < line->count; i++) {
		size_t len = part_length(line, i);

		if (line->parts[i].rank != LINE_STAYS && line->parts[i].rank <= rank)
			continue;
		sum += len;
		spare = len > keeps ? len - keeps : 0;
	}
	return sum - spare;
}

/* A line whose first part is gone begins with the next one's separator. */
static void parts_leave_out(struct screen_line *line, unsigned int rank)
{
	size_t used = 0, last = 0;

	for (size_t i = 0; i < line->count; i++) {
		size_t at = line->parts[i].at, len = part_length(line, i);

		if (line->parts[i].rank != LINE_STAYS && line->parts[i].rank <= rank)
			continue;
		while (!used && len && line->text[at] == ' ') {
			at++;
			len--;
		}
		memmove(line->text + used, line->text + at, len);
		last = used;
		used += len;
	}
	line->text[used] = '\0';
	line->parts[0].at = last;
	line->used = used;
}

void line_fit(struct screen_line *line, size_t columns, const char *ellipsis)
{
	unsigned int rank = 0, most = 0;

	for (size_t i = 0; i < line->count; i++)
		most = line->parts[i].rank > most ? line->parts[i].rank : most;

	while (rank < most && length_above(line, rank) > columns)
		rank++;
	if (line->used <= columns)
		return;
	parts_leave_out(line, rank);
	if (line->parts[0].at + LAST_LEAST <= columns)
		text_shorten(line->text + line->parts[0].at, columns - line->parts[0].at, ellipsis);
	else
		text_shorten(line->text, columns, ellipsis);
}

void line_print(struct screen_line *line)
{
	unsigned int rows, columns;

	if (terminal_size(&rows, &columns))
		line_fit(line, columns, "..");
	puts(line->text);
}

void text_shorten(char *text, size_t room, const char *ellipsis)
{
	size_t bytes = strlen(ellipsis), columns = ellipsis[0] & 0x80 ? 1 : bytes;
	size_t len = strlen(text), left, head, tail;

	if (len <= room)
		return;
	if (room <= columns + 2) {
		text[room] = '\0';
		return;
	}
	left = room - columns;
	head = left - left / 3;
	tail = left - head;
	memmove(text + head + bytes, text + len - tail, tail + 1);
	memcpy(text + head, ellipsis, bytes);
}
