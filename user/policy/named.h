/* SPDX-License-Identifier: GPL-2.0-only */
/* Lists of structs that begin with their name, in the order of their names: the sets and the alarms
 * of a policy. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Is it [a-z][a-z0-9_-]{0,30}? */
#define NAMED_MAX 31 /* bytes of a name, without the NUL */
bool name_is_valid(const char *name);

struct named {
	void *items; /* of malloc(), or NULL */
	size_t count, size;
};

/* The one of that name, or NULL. */
void *named_find(struct named list, const char *name);

/* Adds a copy, or replaces the one of the same name. Returns the list, which may have moved and
 * whose `items` is NULL if there is no memory; then the former one is unchanged. */
struct named named_put(struct named list, const void *item);

/* Walks over two lists by name. Returns false at the end; else *left and *right are of the same
 * name, or one of them is NULL. `at` begins as zeros. */
struct named_place {
	size_t left, right;
};
bool named_next(struct named from, struct named to, struct named_place *at, const void **left,
		const void **right);
