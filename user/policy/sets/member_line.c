// SPDX-License-Identifier: GPL-2.0-only
/* A line with an address, and its parts. */
#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "base/text.h"
#include "base/units.h"
#include "policy/sets/member_line.h"

#define WORD_SIZE 64

const char MEMBER_NO_MEMORY[] = "out of memory";

static const char *const errors[] = {
	[MEMBER_WRONG] = "is not an address",
	[MEMBER_LENGTH] = "has a prefix length that is too large",
	[MEMBER_ZONE] = "has a zone: leave out what begins with %",
	[MEMBER_MAPPED] = "is an IPv4 address written as IPv6: write it as IPv4",
};

static const char *range_parse(const char *text, size_t size, const char *dash, uint64_t life_ns,
			       struct member_list *list)
{
	struct member first, last;
	bool host_bits;
	enum member_error error = member_parse(text, dash - text, &first, &host_bits);
	int ret;

	if (!error)
		error = member_parse(dash + 1, text + size - dash - 1, &last, &host_bits);
	if (error)
		return errors[error];
	if (first.len != 128 || last.len != 128)
		return "is a range of prefixes: write FIRST-LAST, two addresses";
	ret = member_list_add_range(list, first.addr, last.addr, life_ns);
	if (ret == -EINVAL)
		return "is not a range: the last address is before the first, or of the other "
		       "family";
	if (ret == -E2BIG)
		return "is a range of more than 64 prefixes: write it as prefixes";
	if (ret == -ERANGE)
		return MEMBER_TOO_WIDE;
	return ret ? MEMBER_NO_MEMORY : NULL;
}

const char *member_word_parse(const char *word, size_t size, uint64_t life_ns,
			      struct member_list *list)
{
	const char *dash = memchr(word, '-', size);
	enum member_error error;
	struct member member;
	bool host_bits;

	if (dash)
		return range_parse(word, size, dash, life_ns, list);
	error = member_parse(word, size, &member, &host_bits);
	if (error)
		return errors[error];
	if (member_is_wide(list->shortest, &member))
		return MEMBER_TOO_WIDE;
	list->host_bits += host_bits;
	return member_list_add(list, &member, life_ns) ? MEMBER_NO_MEMORY : NULL;
}

/* ---- a line */

struct line {
	const char *at, *end;
};

#define BLANKS " \t\r"

static void blanks_skip(struct line *line)
{
	while (line->at < line->end && is_one_of(*line->at, BLANKS))
		line->at++;
}

static void line_trim(struct line *line)
{
	blanks_skip(line);
	while (line->at < line->end && is_one_of(line->end[-1], BLANKS))
		line->end--;
}

static bool is_comment(const struct line *line)
{
	return line->at == line->end || *line->at == '#' || *line->at == ';';
}

/* Up to a blank or a separator. */
static struct line word_take(struct line *line)
{
	struct line word = {line->at, line->at};

	while (word.end < line->end && !is_one_of(*word.end, BLANKS ",;|#\""))
		word.end++;
	line->at = word.end;
	return word;
}

/* The first column: "QUOTED", or a word; a range may have blanks around its dash, which
 * `joined` receives without them. */
static struct line column_take(struct line *line, char joined[2 * WORD_SIZE])
{
	struct line word, rest, last;
	const char *quote;

	if (*line->at == '"') {
		quote = memchr(line->at + 1, '"', line->end - line->at - 1);
		word = (struct line){line->at + 1, quote ? quote : line->end};
		line->at = quote ? quote + 1 : line->end;
		line_trim(&word);
		return word;
	}
	word = word_take(line);
	rest = *line;
	blanks_skip(&rest);
	if (rest.end - rest.at < 3 || rest.at[0] != '-' || !is_one_of(rest.at[1], BLANKS))
		return word;
	rest.at++;
	blanks_skip(&rest);
	last = word_take(&rest);
	if (word.end - word.at + last.end - last.at >= 2 * WORD_SIZE - 1)
		return word;
	memcpy(joined, word.at, word.end - word.at);
	joined[word.end - word.at] = '-';
	memcpy(joined + (word.end - word.at) + 1, last.at, last.end - last.at);
	line->at = rest.at;
	return (struct line){joined, joined + (word.end - word.at) + 1 + (last.end - last.at)};
}

static bool word_is(const struct line *word, const char *text)
{
	size_t size = word->end - word->at;

	return size == strlen(text) && !memcmp(word->at, text, size);
}

/* The words after the address. *ended: its time is over. */
static const char *rest_read(struct line *line, uint64_t now_ns, uint64_t *life_ns, bool *ended)
{
	bool tab = line->at < line->end && *line->at == '\t', until;
	char text[WORD_SIZE] = "";
	uint64_t end_ns;
	struct line word;

	blanks_skip(line);
	if (is_comment(line) || *line->at == ',' || *line->at == '|')
		return NULL;
	word = word_take(line);
	until = word_is(&word, "until");
	if (!until && !word_is(&word, "for"))
		return tab ? NULL : "has more than an address: put # in front of a comment";
	blanks_skip(line);
	word = word_take(line);
	if (word.end - word.at < WORD_SIZE && !memchr(word.at, '\0', word.end - word.at))
		memcpy(text, word.at, word.end - word.at);
	if (!until && duration_parse(text, life_ns))
		return "has no duration after `for`: write for example for 2h";
	if (!until && *life_ns > RL_MEMBER_LIFE_MAX)
		return "is for too long: write up to 2920d";
	if (until && time_parse(text, &end_ns))
		return "has no time after `until`: write for example until 2027-01-31T12:00:00Z";
	if (until)
		*life_ns = end_ns > now_ns ? end_ns - now_ns : 0;
	if (*life_ns > RL_MEMBER_LIFE_MAX)
		*life_ns = RL_MEMBER_LIFE_MAX;
	*ended = !*life_ns;
	blanks_skip(line);
	return is_comment(line) ? NULL : "has more than an address and its time";
}

int member_line_parse(const char *line, size_t size, size_t number, uint64_t now_ns,
		      struct member_list *list)
{
	struct line rest = {line, line + size}, word;
	char joined[2 * WORD_SIZE];
	uint64_t life_ns = 0;
	bool ended = false, host_bits;
	struct member member;
	const char *why;

	line_trim(&rest);
	line = rest.at;
	size = rest.end - rest.at;
	if (is_comment(&rest))
		return 0;
	word = column_take(&rest, joined);
	why = rest_read(&rest, now_ns, &life_ns, &ended);
	/* That says more of a line of prose than what follows its first word. */
	if (why && !memchr(word.at, '-', word.end - word.at) &&
	    member_parse(word.at, word.end - word.at, &member, &host_bits) == MEMBER_WRONG)
		why = errors[MEMBER_WRONG];
	else if (!why && ended)
		list->ended++;
	else if (!why)
		why = member_word_parse(word.at, word.end - word.at, life_ns, list);
	if (why == MEMBER_NO_MEMORY)
		return -ENOMEM;
	if (!why)
		return 1;
	member_list_bad(list, number, line, size, why);
	return -EINVAL;
}
