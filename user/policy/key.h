/* SPDX-License-Identifier: GPL-2.0-only */
/* The key of a limit, from words and to words. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "rlctl_abi.h"

struct parser;

/* Sets the key, with the lengths that its addresses have where none are written. */
void key_set(struct rl_limit *limit, enum rl_key_kind key);

/* Reads the word after `per`. Returns 0, or -EINVAL with p->err filled. */
int parse_key(struct parser *p);

/* Refuses limits that cannot have their key; all clauses are read. */
int key_check(struct parser *p);

/* The word after `per`, in canonical spelling. */
#define KEY_WORD_MAX 64
void key_word(char buf[KEY_WORD_MAX], const struct rl_limit *limit);

/* For completion: what is written, up to its last `+`, and then part number `index`; false after
 * the last, and where there is no `+`. */
bool key_word_next(char buf[KEY_WORD_MAX], const char *written, int index);

/* Does the word leave out that every address of a family is a key of its own? */
bool key_has_usual_lengths(const struct rl_limit *limit);
