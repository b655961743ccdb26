// SPDX-License-Identifier: GPL-2.0-only
/* The text of a file of addresses: which format each line has, and of which set its members are.
 * It is gone through twice: first for the names of sets that have members, then for the members.
 */
#include "policy/sets/member_file.h"
#include "policy/sets/member_line.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "base/text.h"
#include "base/units.h"
#include "policy/sets/set.h"

#define NAME_SIZE 64 /* of a set of nft or ipset, cut off */

struct text {
	const char *at, *end;
	size_t line;
};

struct reading {
	const char *set; /* ours */
	uint64_t now_ns;
	struct member_list *list;
	bool names_only;        /* the first time through */
	bool nft;               /* lines outside of elements say nothing */
	char inside[NAME_SIZE]; /* the set of nft that the text is in */
	char first[NAME_SIZE];  /* the first set that has members; "": none */
	bool several, ours;
	size_t found; /* lines or elements with a member */
	size_t lines; /* that are neither blank nor structure */
};

struct word {
	const char *at;
	size_t size;
};

static struct word word_next(struct text *text)
{
	struct word word;

	while (text->at < text->end && (*text->at == ' ' || *text->at == '\t'))
		text->at++;
	word.at = text->at;
	while (text->at < text->end && !isspace((unsigned char)*text->at))
		text->at++;
	word.size = text->at - word.at;
	return word;
}

static bool word_is(struct word word, const char *text)
{
	return word.size == strlen(text) && !memcmp(word.at, text, word.size);
}

/* ---- sets of ipset and nft by their names */

static bool is_ours(const char *set, const char *name)
{
	/* "4", "-v6", "_ipv4", "_inet6". */
	static const char *const families[] = {"4",    "6",    "v4",   "v6",
					       "ipv4", "ipv6", "inet", "inet6"};
	size_t len = strlen(set);

	if (strncmp(name, set, len))
		return false;
	name += len;
	if (!*name)
		return true;
	name += *name == '-' || *name == '_';
	for (size_t i = 0; i < sizeof(families) / sizeof(families[0]); i++)
		if (!strcmp(name, families[i]))
			return true;
	return false;
}

static void name_copy(char out[NAME_SIZE], struct word word)
{
	size_t size = word.size < NAME_SIZE ? word.size : NAME_SIZE - 1;

	memcpy(out, word.at, size);
	out[size] = '\0';
}

/* Members of a set of this name are here: to be taken? */
static bool set_begins(struct reading *reading, const char *name)
{
	if (!reading->names_only)
		return !reading->several || is_ours(reading->set, name);
	reading->ours = reading->ours || is_ours(reading->set, name);
	if (!reading->first[0])
		memcpy(reading->first, name, NAME_SIZE);
	else
		reading->several = reading->several || strcmp(reading->first, name) != 0;
	return false;
}

/* An element or a line of ipset: a member, unless `why` says why not. */
static int item_note(struct reading *reading, const struct text *item, const char *why)
{
	reading->lines++;
	reading->found += !why;
	if (why == MEMBER_NO_MEMORY)
		return -ENOMEM;
	if (why)
		member_list_bad(reading->list, item->line, item->at, item->end - item->at, why);
	return 0;
}

/* ---- elements of nft, up to the closing brace */

static uint64_t nft_duration(struct word word)
{
	uint64_t sum = 0, part;
	char text[QUANTITY_TEXT_MAX];
	size_t at = 0;

	while (at < word.size) {
		size_t len = 0;

		while (at + len < word.size && isdigit((unsigned char)word.at[at + len]))
			len++;
		while (at + len < word.size && isalpha((unsigned char)word.at[at + len]))
			len++;
		if (!len || len >= sizeof(text))
			return 0;
		memcpy(text, word.at + at, len);
		text[len] = '\0';
		if (!duration_parse(text, &part) && sum <= DURATION_MAX_NS)
			sum += part;
		at += len;
	}
	return sum;
}

/* The time that is left, as far as it is said. *ended: it is over. */
static const char *nft_options(struct text *element, uint64_t *life_ns, bool *ended)
{
	struct word word = word_next(element);

	if (word_is(word, ".") || word_is(word, ":"))
		return "is of a set that has more than addresses";
	for (; word.size; word = word_next(element)) {
		bool expires = word_is(word, "expires");

		if (word_is(word, "comment"))
			break;
		if (!expires && !word_is(word, "timeout"))
			continue;
		*life_ns = nft_duration(word_next(element));
		*ended = expires && !*life_ns;
		if (expires)
			break;
	}
	if (*life_ns > RL_MEMBER_LIFE_MAX)
		*life_ns = RL_MEMBER_LIFE_MAX;
	return NULL;
}

static int nft_element(struct reading *reading, struct text element)
{
	struct text all = element;
	struct word word = word_next(&element);
	bool ended = false;
	uint64_t life_ns = 0;
	const char *why;

	if (!word.size)
		return 0;
	why = nft_options(&element, &life_ns, &ended);
	all.at = word.at;
	if (!why && !ended)
		why = member_word_parse(word.at, word.size, life_ns, reading->list);
	reading->list->ended += !why && ended;
	return item_note(reading, &all, why);
}

/* One element, up to a comma or the brace, neither of them between quotation marks. */
static struct text element_take(struct text *text)
{
	struct text element;
	bool quoted = false;

	while (text->at < text->end && isspace((unsigned char)*text->at))
		text->line += *text->at++ == '\n';
	element = *text;
	for (; text->at < text->end; text->at++) {
		if (*text->at == '"')
			quoted = !quoted;
		if (!quoted && (*text->at == ',' || *text->at == '}'))
			break;
		text->line += *text->at == '\n';
	}
	element.end = text->at;
	while (element.end > element.at && isspace((unsigned char)element.end[-1]))
		element.end--;
	return element;
}

/* A line break within an element is a blank to nft. */
static int nft_elements(struct reading *reading, struct text *text, bool wanted)
{
	int ret = 0;

	while (!ret && text->at < text->end) {
		struct text element = element_take(text);

		if (wanted)
			ret = nft_element(reading, element);
		if (text->at < text->end && *text->at++ == '}')
			return ret;
	}
	if (!ret && wanted)
		member_list_bad(reading->list, text->line, "}", 1,
				"is missing: the text ends early");
	return ret;
}

/* ---- lines */

/* `add element inet filter badguys { …`, `set badguys {`, `elements = {`: where the elements begin,
 * or NULL. */
static const char *nft_line(struct reading *reading, struct text line)
{
	const char *brace = memchr(line.at, '{', line.end - line.at);
	struct word first = word_next(&line), second = word_next(&line);

	if (!brace)
		return NULL;
	if (word_is(first, "table")) {
		reading->nft = true;
	} else if (word_is(first, "set") || word_is(first, "map")) {
		reading->nft = true;
		name_copy(reading->inside, second);
	} else if (word_is(first, "add") && word_is(second, "element")) {
		reading->nft = true;
		word_next(&line);
		word_next(&line);
		name_copy(reading->inside, word_next(&line));
		return brace + 1;
	} else if (reading->nft && word_is(first, "elements")) {
		return brace + 1;
	}
	return NULL;
}

enum ipset_line { IPSET_NOT, IPSET_ADD, IPSET_OTHER, IPSET_DEL };

/* Which line of ipset it is; of an add, *name and *line after it. */
static enum ipset_line ipset_line(struct text *line, struct word *name)
{
	static const char *const others[] = {"create", "flush", "destroy", "swap",
					     "-N",     "-F",    "-X",      "--create",
					     "COMMIT", "-W",    "n",       "-exist"};
	struct word word = word_next(line);

	if (word_is(word, "add") || word_is(word, "-A") || word_is(word, "--add")) {
		*name = word_next(line);
		if (word_is(*name, "-exist") || word_is(*name, "-!"))
			*name = word_next(line);
		return IPSET_ADD;
	}
	if (word_is(word, "del") || word_is(word, "-D"))
		return IPSET_DEL;
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (word_is(word, others[i]))
			return IPSET_OTHER;
	return IPSET_NOT;
}

/* `timeout N` in seconds; 0 is for ever. An exception must not become a member. */
static const char *ipset_options(struct text *line, uint64_t *life_ns)
{
	struct word word;

	while ((word = word_next(line)).size) {
		char text[24];
		uint64_t seconds;

		if (word_is(word, "nomatch"))
			return "is an exception, which sets do not have";
		if (word_is(word, "comment"))
			return NULL;
		if (!word_is(word, "timeout"))
			continue;
		word = word_next(line);
		if (!word.size || word.size >= sizeof(text))
			return "has no number after timeout";
		memcpy(text, word.at, word.size);
		text[word.size] = '\0';
		if (number_parse(text, 0, RL_MEMBER_LIFE_MAX / NS_PER_SECOND, &seconds))
			return "has a timeout that is no number of seconds, or is too long";
		*life_ns = seconds ? seconds * NS_PER_SECOND : MEMBER_LIFE_NONE;
	}
	return NULL;
}

static int ipset_add(struct reading *reading, const struct text *whole, struct text line,
		     struct word name)
{
	char text[NAME_SIZE];
	uint64_t life_ns = 0;
	struct word word;
	const char *why;

	name_copy(text, name);
	if (!set_begins(reading, text))
		return 0;
	word = word_next(&line);
	why = ipset_options(&line, &life_ns);
	if (!why)
		why = member_word_parse(word.at, word.size, life_ns, reading->list);
	return item_note(reading, whole, why);
}

/* The names of columns, as the first line: columns, and no digit or colon in the first. */
static bool is_heading(const struct text *line)
{
	size_t size = line->end - line->at, column = 0;

	while (column < size && !is_one_of(line->at[column], ",;|\t"))
		column++;
	if (column == size)
		return false;
	for (size_t i = 0; i < column; i++)
		if (isdigit((unsigned char)line->at[i]) || line->at[i] == ':')
			return false;
	return column;
}

static int plain_line(struct reading *reading, const struct text *line)
{
	int ret;

	if (!reading->lines && line->at < line->end && !is_one_of(*line->at, "#; \t\r") &&
	    is_heading(line)) {
		reading->lines++;
		return 0;
	}
	ret = member_line_parse(line->at, line->end - line->at, line->line, reading->now_ns,
				reading->list);
	reading->lines += ret != 0;
	reading->found += ret == 1;
	return ret == -ENOMEM ? ret : 0;
}

static int ipset_or_plain(struct reading *reading, const struct text *line)
{
	struct text rest = *line;
	struct word name = {0};

	switch (ipset_line(&rest, &name)) {
	case IPSET_ADD:
		return ipset_add(reading, line, rest, name);
	case IPSET_OTHER:
		return 0;
	case IPSET_DEL:
		if (!reading->names_only)
			member_list_bad(
				reading->list, line->line, line->at, line->end - line->at,
				"deletes a member: write what the set has, not what it has not");
		return 0;
	case IPSET_NOT:
		break;
	}
	return reading->names_only ? 0 : plain_line(reading, line);
}

/* The whole text, once. */
static int text_read(struct reading *reading, struct text text)
{
	int ret = 0;

	reading->nft = false;
	while (!ret && text.at < text.end) {
		const char *newline = memchr(text.at, '\n', text.end - text.at);
		struct text line = {text.at, newline ? newline : text.end, text.line};
		const char *elements = nft_line(reading, line);

		if (elements) {
			bool wanted = set_begins(reading, reading->inside);

			text.at = elements;
			ret = nft_elements(reading, &text, wanted);
			continue;
		}
		if (!reading->nft)
			ret = ipset_or_plain(reading, &line);
		text.at = line.end + (line.end < text.end);
		text.line++;
	}
	return ret;
}

static bool begins(const struct text *text, const char *with, size_t size)
{
	return (size_t)(text->end - text->at) >= size && !memcmp(text->at, with, size);
}

const char *member_file_parse(const char *text, size_t size, const char *set, uint64_t now_ns,
			      struct member_list *list)
{
	struct reading reading = {.set = set, .now_ns = now_ns, .list = list, .names_only = true};
	struct text whole = {text, text + size, 1};

	if (begins(&whole, "\xef\xbb\xbf", 3))
		whole.at += 3;
	if (begins(&whole, "\x1f\x8b", 2) ||
	    begins(&whole,
		   "\xfd"
		   "7zXZ",
		   5) ||
	    begins(&whole, "BZh", 3) || begins(&whole, "PK\3\4", 4))
		return "it is compressed: unpack it";
	text_read(&reading, whole);
	if (reading.several && !reading.ours)
		return "it has members of several sets, and none of them is called as this one: "
		       "name one so, or leave the members of one set in the file";
	reading.names_only = false;
	if (text_read(&reading, whole))
		return MEMBER_NO_MEMORY;
	list->lines = reading.found;
	if (!reading.found && list->wide_count)
		return "all its prefixes are wider than the set takes: write shortest after the "
		       "set's name if they are meant";
	if (!reading.found)
		return reading.lines ? "no line of it is an address" : "it is empty";
	return NULL;
}
