/* SPDX-License-Identifier: GPL-2.0-only */
/* Policies by name: those that come with rlctl. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct policy_name {
	char *name, *title, *path;
};

/* Sorted by name. */
struct policy_names {
	struct policy_name *list;
	size_t count;
};

/* No folder of policies: none. */
void policy_names_read(struct policy_names *out);
void policy_names_clear(struct policy_names *names);

/* NULL if there is none. */
const struct policy_name *policy_names_find(const struct policy_names *names, const char *name);

/* Reports that the word is none of them, as "WORD: WHAT (NAMES)". Returns -1. */
int policy_unknown(const char *word, const char *what, const struct policy_names *names);

/* The path of the policy of that name; the caller frees it. NULL if there is none; reports. */
char *policy_name_path(const char *name);

/* Whether a policy may have that name: lower-case letters, digits and dashes. */
bool policy_name_possible(const char *word);
