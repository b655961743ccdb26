/* SPDX-License-Identifier: GPL-2.0-only */
/* Words that select devices: NAME, all, or names and patterns separated by commas. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define SELECTION_ALL "all"

/* Is it more than a name: `all`, a list or a pattern? */
bool selection_is_many(const char *words);

/* Is the part, of `len` bytes, a pattern or `all`? */
bool selection_is_pattern(const char *part, size_t len);

/* The length of the first part of a list. */
size_t selection_part(const char *words);

/* Does the part of `len` bytes select the device? */
bool selection_part_matches(const char *part, size_t len, const char *device);

/* Does any part? */
bool selection_matches(const char *words, const char *device);
