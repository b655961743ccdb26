/* SPDX-License-Identifier: GPL-2.0-only */
/* The nearest word, for messages: "did you mean". */
#pragma once

/* The nearest of the words offered; `best` is NULL if none is near enough. */
struct hint {
	const char *word;
	const char *best;
	unsigned int distance;
};
void hint_offer(struct hint *hint, const char *candidate);
