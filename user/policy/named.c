// SPDX-License-Identifier: GPL-2.0-only
/* Lists of structs that begin with their name. */
#include "policy/named.h"

#include <stdlib.h>
#include <string.h>

bool name_is_valid(const char *name)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz";
	size_t len = strlen(name);

	return len && len <= NAMED_MAX && strchr(letters, name[0]) &&
	       strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_-") == len;
}

static char *item_at(struct named list, size_t at)
{
	return (char *)list.items + at * list.size;
}

/* Where the one of that name is, or would be. */
static size_t name_place(struct named list, const char *name)
{
	size_t at = 0;

	while (at < list.count && strcmp(item_at(list, at), name) < 0)
		at++;
	return at;
}

void *named_find(struct named list, const char *name)
{
	size_t at = name_place(list, name);

	return at < list.count && !strcmp(item_at(list, at), name) ? item_at(list, at) : NULL;
}

struct named named_put(struct named list, const void *item)
{
	size_t at = name_place(list, item);
	void *there = named_find(list, item);

	if (there) {
		memcpy(there, item, list.size);
		return list;
	}
	list.items = reallocarray(list.items, list.count + 1, list.size);
	if (!list.items)
		return list;
	memmove(item_at(list, at + 1), item_at(list, at), (list.count - at) * list.size);
	memcpy(item_at(list, at), item, list.size);
	list.count++;
	return list;
}

bool named_next(struct named from, struct named to, struct named_place *at, const void **left,
		const void **right)
{
	const char *a = at->left < from.count ? item_at(from, at->left) : NULL;
	const char *b = at->right < to.count ? item_at(to, at->right) : NULL;
	int order = a && b ? strcmp(a, b) : 0;

	*left = order > 0 ? NULL : a;
	*right = order < 0 ? NULL : b;
	at->left += !!*left;
	at->right += !!*right;
	return *left || *right;
}
