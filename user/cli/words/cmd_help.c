// SPDX-License-Identifier: GPL-2.0-only
/* rlctl help [VERB], from the tables of verbs and options. */
#include <string.h>

#include "cli/cmd.h"

#define VERB_WIDTH   32
#define OPTION_WIDTH 30
#define SCREEN_WIDTH 80

static void options_print(FILE *file, const struct verb *verb, option_bits options)
{
	char left[80];

	for (int i = 0; i < OPTION_COUNT; i++) {
		const struct option_row *row = &option_rows[i];
		const char *argument = option_argument(verb, i);

		if (!option_in(options, i))
			continue;
		snprintf(left, sizeof(left), "%c%c%c --%s%s%s", row->letter ? '-' : ' ',
			 row->letter ? row->letter : ' ', row->letter ? ',' : ' ', row->name,
			 argument ? " " : "", argument ? argument : "");
		fprintf(file, "  %-*s  %s\n", OPTION_WIDTH, left, option_help(verb, i));
	}
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
	fputs("\nCommon options, in any position; `rlctl help VERB` lists the others:\n", file);
	options_print(file, NULL, OPTIONS_INSTANCE);
}

/* The verb, its words and its own options, as in the manual page. */
static void synopsis_print(const struct verb *verb)
{
	int column =
		printf("Usage: rlctl %s%s%s", verb->name, *verb->words ? " " : "", verb->words);
	char word[80];

	for (int i = 0; i < OPTION_COUNT; i++) {
		const char *argument = option_argument(verb, i);
		int len;

		if (!option_in(verb->options & ~OPTIONS_INSTANCE, i))
			continue;
		len = snprintf(word, sizeof(word), "[--%s%s%s]", option_rows[i].name,
			       argument ? " " : "", argument ? argument : "");
		if (column + 1 + len > SCREEN_WIDTH)
			column = printf("\n            ") - 1;
		column += printf(" %s", word);
	}
	printf("\n%s.\n", verb->summary);
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
	synopsis_print(verb);
	if (verb->more)
		printf("\n%s", verb->more);
	puts("\nOptions:");
	options_print(stdout, verb, verb->options & ~OPTIONS_INSTANCE);
	options_print(stdout, verb, verb->options & OPTIONS_INSTANCE);
	return 0;
}

int cmd_help(const struct command *command)
{
	return help_print(command->words, command->word_count);
}
