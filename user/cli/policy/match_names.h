/* SPDX-License-Identifier: GPL-2.0-only */
/* The names that arguments of matches may have, for completion. Pure. */
#pragma once

#include <stdbool.h>

/* Calls `offer` for each name that may stand behind the match; of a list of flags, behind what is
 * `typed` of it. False: the word is not such a match. */
bool match_names(const char *match, const char *typed, void (*offer)(void *arg, const char *name),
		 void *arg);

/* An argument that the match may have; NULL: it has none, or needs no sample. */
const char *match_sample(const char *match);
