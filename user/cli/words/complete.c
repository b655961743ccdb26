// SPDX-License-Identifier: GPL-2.0-only
/* The words that `rlctl complete` offers. */
#include "cli/words/complete.h"

#include <string.h>

/* Whether the word is new and there is room to remember it. */
static bool offered_add(struct completion *c, const char *text)
{
	size_t left = sizeof(c->offered) - c->offered_len;
	char line[WORD_MAX];
	int len = snprintf(line, sizeof(line), "\n%s\n", text);

	if (len >= (int)sizeof(line) || strstr(c->offered, line) || (size_t)len > left)
		return false;
	memcpy(c->offered + c->offered_len - 1, line, len + 1);
	c->offered_len += len - 1;
	return true;
}

/* A device may have any name, and shells print candidates to the terminal unescaped. */
static bool is_one_word(const char *text)
{
	while (*text > ' ' && *text <= '~')
		text++;
	return !*text;
}

void offer(struct completion *c, const char *text, const char *meaning)
{
	if (strncmp(text, c->word, strlen(c->word)) || !is_one_word(text))
		return;
	if (!offered_add(c, text))
		return;
	printf("%.*s%s%s%s\n", c->before_len, c->before, text, meaning ? "\t" : "",
	       meaning ? meaning : "");
}
