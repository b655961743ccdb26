// SPDX-License-Identifier: GPL-2.0-only
/* Every word of the policy language is in user/man/rlctl-policy.5 as a literal (behind Cm): one
 * test per word. Run from the top directory.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "cases.h"
#include "policy/names.h"

#define PAGE     "user/man/rlctl-policy.5"
#define PAGE_MAX (1 << 18)

static char page[PAGE_MAX];

/* A macro's name: an upper and a lower case letter. */
static bool is_macro(const char *word)
{
	return strlen(word) == 2 && word[0] >= 'A' && word[0] <= 'Z' && word[1] >= 'a' &&
	       word[1] <= 'z';
}

/* Whether a line of the page has the word behind Cm. `line` is cut up. */
static bool line_has(char *line, const char *wanted)
{
	bool typed = false;
	char *word;

	if (*line++ != '.')
		return false;
	while ((word = strsep(&line, " "))) {
		if (is_macro(word))
			typed = !strcmp(word, "Cm");
		else if (typed && !strcmp(word, wanted))
			return true;
	}
	return false;
}

static void word_test(void **state)
{
	char *copy = strdup(page), *rest = copy, *line;
	bool found = false;

	assert_non_null(copy);
	while (!found && (line = strsep(&rest, "\n")))
		found = *line && line_has(line, *state);
	free(copy);
	if (!found)
		fail_msg("%s: '%s' stands nowhere behind .Cm", PAGE, (char *)*state);
}

static int page_read(void **state)
{
	FILE *file = fopen(PAGE, "r");
	size_t size = file ? fread(page, 1, sizeof(page) - 1, file) : 0;

	(void)state;
	if (file)
		fclose(file);
	return size ? 0 : -1;
}

AT_START(words_add)
{
	const char *word;

	for (size_t i = 0; (word = policy_word(i)); i++)
		test_add_named(word_test, word, "%s", word);
	for (size_t i = 0; (word = unit_word(i)); i++)
		test_add_named(word_test, word, "%s", word);
}

FIXTURE(page_read, NULL)
