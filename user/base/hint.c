// SPDX-License-Identifier: GPL-2.0-only
/* The nearest known word to an unknown one. */

#include "base/hint.h"

#include <string.h>

#define NEAR_MAX      2  /* the largest distance of a hint, in letters */
#define HINT_WORD_MAX 32 /* the longest word in the tables */

/* Optimal string alignment: letters inserted, deleted, changed or swapped with the next. */
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
			row[j] = last[j - 1] + (a[i - 1] != b[j - 1]);
			if (last[j] + 1 < row[j])
				row[j] = last[j] + 1;
			if (row[j - 1] + 1 < row[j])
				row[j] = row[j - 1] + 1;
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
