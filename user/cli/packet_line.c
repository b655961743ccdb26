// SPDX-License-Identifier: GPL-2.0-only
/* The words of `rlctl explain` as far as they were typed, for completion. */
#include "packet_line.h"

#include <string.h>

#include "cmd.h"

char *packet_line(const struct command *command, bool *has_length, bool *wants_number)
{
	char **words = command->words;
	int count = command->word_count, kept = 0;
	char *matches[count + 1];

	*has_length = *wants_number = false;
	for (int i = 0; i < count; i++) {
		if (strcmp(words[i], "length") != 0) {
			matches[kept++] = words[i];
			continue;
		}
		*has_length = true;
		*wants_number = ++i == count;
	}
	return words_join("rule", matches, kept);
}
