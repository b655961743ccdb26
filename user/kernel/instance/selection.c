// SPDX-License-Identifier: GPL-2.0-only
/* Words that select devices. Pure. */

#include "kernel/instance/selection.h"

#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#define PART_MAX 64 /* bytes; a longer pattern matches nothing */

size_t selection_part(const char *words)
{
	return strcspn(words, ",");
}

bool selection_is_pattern(const char *part, size_t len)
{
	return (len == strlen(SELECTION_ALL) && !memcmp(part, SELECTION_ALL, len)) ||
	       memchr(part, '*', len) || memchr(part, '?', len) || memchr(part, '[', len);
}

bool selection_is_many(const char *words)
{
	return strchr(words, ',') || selection_is_pattern(words, strlen(words));
}

bool selection_part_matches(const char *part, size_t len, const char *device)
{
	char pattern[PART_MAX];

	if (len >= sizeof(pattern))
		return false;
	snprintf(pattern, sizeof(pattern), "%.*s", (int)len, part);
	return !strcmp(pattern, SELECTION_ALL) || !strcmp(pattern, device) ||
	       !fnmatch(pattern, device, 0);
}

bool selection_matches(const char *words, const char *device)
{
	size_t len = selection_part(words);

	while (!selection_part_matches(words, len, device)) {
		if (!words[len])
			return false;
		words += len + 1;
		len = selection_part(words);
	}
	return true;
}
