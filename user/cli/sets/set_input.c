// SPDX-License-Identifier: GPL-2.0-only
/* Addresses for a set: words of a command line, lines of a file or of a stream. */
#include "cli/sets/set_parts.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BUFFER_SIZE 262144 /* bytes, of whole lines and the beginning of one */
#define SHOWN_MAX   60     /* bytes of a wrong line in a message */

/* ---- items */

void set_items_add(struct set_items *items, const struct member *member, uint64_t life_ns)
{
	if (items->count == items->capacity) {
		size_t capacity = 2 * items->capacity + 64;

		items->entries = xreallocarray(items->entries, capacity, sizeof(*items->entries));
		items->lives = xreallocarray(items->lives, capacity, sizeof(*items->lives));
		items->capacity = capacity;
	}
	items->entries[items->count] = (struct member_entry){.member = *member};
	items->lives[items->count++] = life_ns;
}

void set_items_clear(struct set_items *items)
{
	free(items->entries);
	free(items->lives);
	*items = (struct set_items){0};
}

/* ---- addresses and lives */

static const char *const member_errors[] = {
	[MEMBER_WRONG] = "not an address or prefix: write for example 203.0.113.7, 10.0.0.0/8 or "
			 "2001:db8::/32",
	[MEMBER_LENGTH] = "prefix length out of range: write /0 to /32 for IPv4, /0 to /128 for "
			  "IPv6",
	[MEMBER_ZONE] = "has a zone, which packets do not carry: leave out % and what follows",
	[MEMBER_MAPPED] = "an IPv4 address written as IPv6: write it as IPv4, for example "
			  "203.0.113.7",
};

#define LIFE_RANGE "write 1ms to 2920d, or leave it out"

/* NULL, or what is wrong. */
static const char *life_parse(const char *word, uint64_t *out_ns)
{
	uint64_t life_ns;
	int rc = duration_parse(word, &life_ns);

	if (rc == WORD_FORM)
		return "invalid duration: write for example 10m, 1h or 7d";
	if (rc)
		return "duration out of range: " LIFE_RANGE;
	if (life_ns < NS_PER_MS)
		return "duration too short: " LIFE_RANGE;
	if (life_ns > RL_MEMBER_LIFE_MAX)
		return "duration too long: " LIFE_RANGE;
	*out_ns = life_ns;
	return NULL;
}

int set_life_words(const char *verb, char *const *words, int *count, uint64_t *out_ns)
{
	const char *error;
	int at = 0;

	*out_ns = 0;
	while (at < *count && strcmp(words[at], "for") != 0)
		at++;
	if (at == *count)
		return 0;
	if (at + 1 == *count)
		return wrong("%s: missing duration after 'for': write for example `for 1h`", verb);
	if (at + 2 < *count)
		return wrong("%s: unexpected argument '%s' after 'for %s': the duration comes last",
			     verb, words[at + 2], words[at + 1]);
	error = life_parse(words[at + 1], out_ns);
	if (error)
		return wrong("for '%s': %s", words[at + 1], error);
	*count = at;
	return 0;
}

int set_word_parse(const char *word, struct member *out, bool *host_bits)
{
	enum member_error error = member_parse(word, strlen(word), out, host_bits);

	return error ? wrong("invalid address '%s': %s", word, member_errors[error]) : 0;
}

/* ---- one line */

struct word {
	const char *at;
	size_t len;
};

/* The next word of the text, empty at its end. */
static struct word word_next(const char **at, const char *end)
{
	struct word word;

	while (*at < end && isspace((unsigned char)**at))
		++*at;
	word.at = *at;
	while (*at < end && !isspace((unsigned char)**at))
		++*at;
	word.len = *at - word.at;
	return word;
}

static const char *line_life_parse(const char **at, const char *end, uint64_t *out_ns)
{
	struct word word = word_next(at, end);
	char text[QUANTITY_TEXT_MAX];

	if (!word.len)
		return NULL;
	if (word.len != strlen("for") || memcmp(word.at, "for", word.len) != 0)
		return "unexpected word after the address: only `for DURATION` may follow";
	word = word_next(at, end);
	if (!word.len)
		return "missing duration after 'for': write for example 10m, 1h or 7d";
	snprintf(text, sizeof(text), "%.*s", (int)(word.len < 64 ? word.len : 64), word.at);
	if (word_next(at, end).len)
		return "unexpected word after the duration: write one address a line";
	return life_parse(text, out_ns);
}

/* NULL, or what is wrong. A line of comment has nothing wrong. */
static const char *line_parse(struct set_lines *lines, const char *at, const char *end,
			      struct set_items *items)
{
	const char *comment = memchr(at, '#', end - at), *error;
	uint64_t life_ns = lines->life_ns;
	enum member_error wrong_member;
	struct member member;
	struct word word;
	bool host_bits;

	end = comment ? comment : end;
	word = word_next(&at, end);
	if (!word.len)
		return NULL;
	wrong_member = member_parse(word.at, word.len, &member, &host_bits);
	if (wrong_member)
		return member_errors[wrong_member];
	error = line_life_parse(&at, end, &life_ns);
	if (error)
		return error;
	lines->host_bits += host_bits;
	set_items_add(items, &member, life_ns);
	return NULL;
}

static void bad_report(struct set_lines *lines, const char *at, const char *end, const char *error)
{
	int len = end - at < SHOWN_MAX ? (int)(end - at) : SHOWN_MAX;

	if (lines->bad++ < SET_NAMED_MAX)
		fail("%s:%" PRIu64 ": '%.*s%s': %s", lines->name, lines->line, len, at,
		     end - at > SHOWN_MAX ? "..." : "", error);
}

static void line_take(struct set_lines *lines, const char *at, const char *end,
		      struct set_items *items)
{
	const char *error = NULL;

	lines->line += !lines->overlong;
	if (!lines->overlong)
		error = end - at > SET_LINE_MAX ? "line too long: write one address a line"
						: line_parse(lines, at, end, items);
	lines->overlong = false;
	if (end > at && end[-1] == '\r')
		end--;
	if (error)
		bad_report(lines, at, end, error);
}

/* ---- reading */

int set_lines_open(struct set_lines *lines, const char *path)
{
	bool is_stdin = !strcmp(path, "-");

	*lines = (struct set_lines){.name = is_stdin ? "stdin" : path};
	lines->fd = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
	if (lines->fd < 0)
		return fail("%s: %s", path, strerror(errno));
	if (!is_stdin && file_kind_check(path, lines->fd)) {
		close(lines->fd);
		return -1;
	}
	lines->buffer = xcalloc(BUFFER_SIZE, 1);
	return 0;
}

/* Takes whole lines from the buffer; at the end of the input, what is left as well. */
static void buffer_take(struct set_lines *lines, struct set_items *items)
{
	const char *at = lines->buffer, *end = at + lines->used, *newline;

	while ((newline = memchr(at, '\n', end - at))) {
		line_take(lines, at, newline, items);
		at = newline + 1;
	}
	if (lines->ended && at < end) {
		line_take(lines, at, end, items);
		at = end;
	}
	lines->used = end - at;
	memmove(lines->buffer, at, lines->used);
	if (lines->used <= SET_LINE_MAX)
		return;
	if (!lines->overlong) {
		lines->line++;
		bad_report(lines, lines->buffer, lines->buffer + lines->used,
			   "line too long: write one address a line");
	}
	lines->overlong = true;
	lines->used = 0;
}

int set_lines_read(struct set_lines *lines, struct set_items *items)
{
	ssize_t size;

	do
		size = read(lines->fd, lines->buffer + lines->used, BUFFER_SIZE - lines->used);
	while (size < 0 && errno == EINTR);
	if (size < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
		return 0;
	if (size < 0)
		return fail("%s: %s", lines->name, strerror(errno));
	lines->ended = !size;
	lines->used += size;
	buffer_take(lines, items);
	return 0;
}

void set_lines_close(struct set_lines *lines)
{
	if (lines->bad > SET_NAMED_MAX)
		fail("%s: %" PRIu64 " more lines were wrong", lines->name,
		     lines->bad - SET_NAMED_MAX);
	if (lines->fd != STDIN_FILENO)
		close(lines->fd);
	free(lines->buffer);
	lines->buffer = NULL;
}
