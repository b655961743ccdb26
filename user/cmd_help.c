// SPDX-License-Identifier: GPL-2.0-only
/* rlctl help [VERB], and what is said about words that are none. All of it comes from the tables of
 * verbs and options.
 */
#include <stdio.h>
#include <string.h>

#include "cmd.h"

#define NEAR_MAX      2  /* letters that a word may be wrong by */
#define HINT_WORD_MAX 32 /* nothing in the tables is longer */
#define VERB_WIDTH    32
#define OPTION_WIDTH  30
#define SCREEN_WIDTH  80

/* ---- near words ---- */

static unsigned int min3(unsigned int a, unsigned int b, unsigned int c)
{
	unsigned int least = a < b ? a : b;

	return least < c ? least : c;
}

/* Letters added, left out, changed or swapped with the next: optimal string alignment. */
static unsigned int word_distance(const char *a, const char *b)
{
	unsigned int rows[3][HINT_WORD_MAX + 1];
	unsigned int *before = rows[0], *last = rows[1], *row = rows[2];
	size_t len = strlen(b);

	for (size_t j = 0; j <= len; j++)
		last[j] = j;
	for (size_t i = 1; a[i - 1]; i++) {
		unsigned int *oldest = before;

		row[0] = i;
		for (size_t j = 1; j <= len; j++) {
			row[j] = min3(last[j] + 1, row[j - 1] + 1,
				      last[j - 1] + (a[i - 1] != b[j - 1]));
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
			    before[j - 2] + 1 < row[j])
				row[j] = before[j - 2] + 1;
		}
		before = last;
		last = row;
		row = oldest;
	}
	return last[len];
}

void hint_offer(struct hint *hint, const char *candidate)
{
	size_t word = strlen(hint->word), other = strlen(candidate);
	size_t shorter = word < other ? word : other;
	unsigned int distance;

	if (word > HINT_WORD_MAX || other > HINT_WORD_MAX || shorter < 2)
		return;
	distance = word_distance(hint->word, candidate);
	if (!strncmp(hint->word, candidate, shorter))
		distance = 1; /* "del" for "delete" */
	if (distance > NEAR_MAX || distance >= shorter)
		return;
	if (hint->best && distance >= hint->distance)
		return;
	hint->best = candidate;
	hint->distance = distance;
}

/* The first word names a family ("rule"): its second words are listed. */
static int family_unknown(char *const *words, int count)
{
	struct hint hint = {.word = count > 1 ? words[1] : ""};
	char *names = words_join("", NULL, 0);

	for (const struct verb *verb = verbs; verb->name; verb++) {
		char *before = names, *second = strchr(verb->name, ' ');

		if (!second || !verb_begins(verb, words[0]))
			continue;
		hint_offer(&hint, second + 1);
		second++;
		names = words_join(before, &second, 1);
		free(before);
	}
	if (hint.best)
		fail("%s: there is no '%s', did you mean %s?", words[0], words[1], hint.best);
	else if (count > 1)
		fail("%s: there is no '%s', only %s", words[0], words[1], names);
	else
		fail("%s: what about it? one of %s", words[0], names);
	free(names);
	return WRONG_WORDS;
}

int verb_unknown(char *const *words, int count)
{
	struct hint hint = {.word = words[0]};
	const struct verb *best = NULL;

	for (const struct verb *verb = verbs; verb->name; verb++) {
		const char *second = strchr(verb->name, ' ');
		const char *before = hint.best;

		if (verb_begins(verb, words[0]))
			return family_unknown(words, count);
		if (!verb->hidden)
			hint_offer(&hint, second ? second + 1 : verb->name);
		if (hint.best != before)
			best = verb;
	}
	if (best)
		return wrong("'%s' is no verb, did you mean %s?", words[0], best->name);
	return wrong("'%s' is no verb; `rlctl help` lists them", words[0]);
}

/* ---- help ---- */

static void option_print(FILE *file, const struct option_row *row)
{
	char left[80];

	snprintf(left, sizeof(left), "%c%c%c --%s%s%s", row->letter ? '-' : ' ',
		 row->letter ? row->letter : ' ', row->letter ? ',' : ' ', row->name,
		 row->argument ? " " : "", row->argument ? row->argument : "");
	fprintf(file, "  %-*s  %s\n", OPTION_WIDTH, left, row->help);
}

static void options_print(FILE *file, uint64_t options)
{
	for (int i = 0; i < OPTION_COUNT; i++)
		if (options & 1ull << i)
			option_print(file, &option_rows[i]);
}

static void verb_line_print(FILE *file, const struct verb *verb)
{
	char left[80];

	snprintf(left, sizeof(left), "%s%s%s", verb->name, *verb->words ? " " : "", verb->words);
	fprintf(file, "  %-*s  %s\n", VERB_WIDTH, left, verb->summary);
}

void usage_print(FILE *file)
{
	fputs("Usage: rlctl [OPTION ...] VERB [WORD ...]\n\n", file);
	for (const struct verb *verb = verbs; verb->name; verb++)
		if (!verb->hidden)
			verb_line_print(file, verb);
	fputs("\nOptions may stand anywhere; `rlctl help VERB` shows those of a verb:\n", file);
	options_print(file, OPTIONS_INSTANCE);
}

/* The verb with its words and the options that not every verb has: what the manual page says. */
static void synopsis_print(const struct verb *verb)
{
	int column =
		printf("Usage: rlctl %s%s%s", verb->name, *verb->words ? " " : "", verb->words);
	char word[80];

	for (int i = 0; i < OPTION_COUNT; i++) {
		const struct option_row *row = &option_rows[i];
		int len;

		if (!(verb->options & ~OPTIONS_INSTANCE & 1ull << i))
			continue;
		len = snprintf(word, sizeof(word), "[--%s%s%s]", row->name,
			       row->argument ? " " : "", row->argument ? row->argument : "");
		if (column + 1 + len > SCREEN_WIDTH)
			column = printf("\n            ") - 1;
		column += printf(" %s", word);
	}
	printf("\n%s.\n", verb->summary);
}

static void verb_print(const struct verb *verb)
{
	synopsis_print(verb);
	if (verb->more)
		printf("\n%s", verb->more);
	puts("\nOptions:");
	options_print(stdout, verb->options & ~OPTIONS_INSTANCE);
	options_print(stdout, verb->options & OPTIONS_INSTANCE);
}

static int family_print(char *const *words, int count)
{
	bool found = false;

	if (count > 1)
		return verb_unknown(words, count);
	for (const struct verb *verb = verbs; verb->name; verb++) {
		if (!verb_begins(verb, words[0]))
			continue;
		if (!found)
			printf("Usage: rlctl %s ... [OPTION ...]\n\n", words[0]);
		verb_line_print(stdout, verb);
		found = true;
	}
	return found ? 0 : verb_unknown(words, count);
}

int help_print(char *const *words, int count)
{
	const struct verb *verb;
	int used;

	if (!count) {
		usage_print(stdout);
		return 0;
	}
	verb = verb_find(words, count, &used);
	if (!verb)
		return family_print(words, count);
	verb_print(verb);
	return 0;
}

int cmd_help(const struct command *command)
{
	return help_print(command->words, command->word_count);
}
