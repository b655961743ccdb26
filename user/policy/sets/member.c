// SPDX-License-Identifier: GPL-2.0-only
/* A member of a set: text and model. */
#include "policy/sets/member.h"

#include <ctype.h>
#include <string.h>

enum member_error member_parse(const char *text, size_t size, struct member *out, bool *host_bits)
{
	char word[PREFIX_TEXT_MAX + 1], canonical[PREFIX_TEXT_MAX];
	struct member member;
	int rc;

	*host_bits = false;
	if (!size || size > PREFIX_TEXT_MAX)
		return memchr(text, '%', size) ? MEMBER_ZONE : MEMBER_WRONG;
	memcpy(word, text, size);
	word[size] = '\0';
	if (strchr(word, '%'))
		return MEMBER_ZONE;
	rc = prefix_parse(word, member.addr, &member.len, canonical);
	if (rc == WORD_HOST_BITS) {
		*host_bits = true;
		rc = prefix_parse(canonical, member.addr, &member.len, NULL);
	}
	if (rc == WORD_RANGE)
		return MEMBER_LENGTH;
	if (rc == WORD_MAPPED)
		return MEMBER_MAPPED;
	if (rc)
		return MEMBER_WRONG;
	*out = member;
	return MEMBER_OK;
}

void member_print(char buf[PREFIX_TEXT_MAX], const struct member *member)
{
	prefix_print(buf, PREFIX_TEXT_MAX, member->addr, member->len);
}
