// SPDX-License-Identifier: GPL-2.0-only
/* The words of a statement, read one by one, and error messages about them. */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "base/units.h"
#include "policy/parser.h"
#include "policy/policy.h"

#define WORD_SHOWN_MAX 40 /* bytes of a word that a message quotes */
#define QUOTED_MAX     (WORD_SHOWN_MAX * 4 + 8)

struct span span_after(const struct parser *p, struct span span)
{
	struct span next = {.at = span.at + span.len};

	while (next.at < p->end && is_blank(*next.at))
		next.at++;
	while (next.at + next.len < p->end && !is_blank(next.at[next.len]))
		next.len++;
	return next;
}

static void word_load(struct parser *p)
{
	size_t len = p->span.len <= WORD_MAX ? p->span.len : 0;

	memcpy(p->word, p->span.at, len);
	p->word[len] = '\0';
}

void words_open(struct parser *p, const char *line, const char *end)
{
	p->line = line;
	p->end = end;
	p->span = span_after(p, (struct span){.at = line});
	word_load(p);
}

void word_next(struct parser *p)
{
	if (p->span.len)
		p->before = p->span;
	p->span = span_after(p, p->span);
	word_load(p);
}

bool word_is(const struct parser *p, const char *text)
{
	return !strcmp(p->word, text);
}

int word_find(const struct parser *p, const char *const *words, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (word_is(p, words[i]))
			return (int)i;
	return -1;
}

/* Quotes a word: escaped for a terminal, and shortened. */
static void word_quote(char out[QUOTED_MAX], struct span span)
{
	size_t shown = span.len < WORD_SHOWN_MAX ? span.len : WORD_SHOWN_MAX;
	size_t used = 1;

	out[0] = '"';
	for (size_t i = 0; i < shown; i++) {
		unsigned char c = span.at[i];

		if (c == '"' || c == '\\')
			out[used++] = '\\';
		if (c >= ' ' && c <= '~')
			out[used++] = c;
		else
			used += snprintf(out + used, QUOTED_MAX - used, "\\x%02x", c);
	}
	snprintf(out + used, QUOTED_MAX - used, "%s\"", shown < span.len ? "..." : "");
}

int refuse(struct parser *p, struct span at, const char *format, ...)
{
	struct policy_error *err = p->err;
	char word[QUOTED_MAX];
	va_list args;
	int used;

	word_quote(word, at);
	used = snprintf(err->text, sizeof(err->text), "%s ", word);
	va_start(args, format);
	vsnprintf(err->text + used, sizeof(err->text) - used, format, args);
	va_end(args);
	err->column = at.at - p->line + 1;
	return -EINVAL;
}

int refuse_unknown(struct parser *p, const char *kind, const char *hint)
{
	char word[QUOTED_MAX];

	word_quote(word, p->span);
	snprintf(p->err->text, sizeof(p->err->text), "unknown %s %s: did you mean %s?", kind, word,
		 hint);
	p->err->column = p->span.at - p->line + 1;
	return -EINVAL;
}

int refuse_twice(struct parser *p)
{
	return refuse(p, p->span,
		      "repeats an earlier word of the same kind: remove one of the two");
}

int expected(struct parser *p, const char *what)
{
	if (p->span.len)
		return refuse(p, p->span, "is not %s", what);
	if (p->before.len)
		refuse(p, p->before, "must be followed by %s", what);
	else
		snprintf(p->err->text, sizeof(p->err->text), "expected %s", what);
	p->err->column = p->end - p->line + 1;
	return -EINVAL;
}

int parse_name(struct parser *p, const char *name, const char *of, const char *example,
	       char out[NAMED_MAX + 1])
{
	char what[80];

	if (!p->span.len) {
		snprintf(what, sizeof(what), "the name of %s: write for example %s", of, example);
		return expected(p, what);
	}
	if (!name_is_valid(name))
		return refuse(
			p, p->span,
			"is not the name of %s: write a lowercase letter, then up to 30 of a-z, "
			"0-9, - and _",
			of);
	memset(out, 0, NAMED_MAX + 1);
	snprintf(out, NAMED_MAX + 1, "%s", name);
	word_next(p);
	return 0;
}

int parse_number(struct parser *p, uint64_t min, uint64_t max, uint64_t *out)
{
	int rc = number_parse(p->word, min, max, out);
	char what[80];

	if (rc == WORD_RANGE)
		return refuse(p, p->span, "is out of range: write %" PRIu64 " to %" PRIu64, min,
			      max);
	if (rc) {
		snprintf(what, sizeof(what), "a number: write one from %" PRIu64 " to %" PRIu64,
			 min, max);
		return expected(p, what);
	}
	word_next(p);
	return 0;
}
