// SPDX-License-Identifier: GPL-2.0-only
/* The comment after a rule: UTF-8 that is safe to print on a terminal. */
#include <string.h>

#include "policy/parser.h"
#include "policy/policy.h"

_Static_assert(sizeof(struct rl_comment) > RL_COMMENT_MAX, "with its NUL");

/* The UTF-8 character (RFC 3629) at `text`. Returns its length, or 0 if the bytes are none. */
static size_t character_read(const char *text, size_t left, uint32_t *out)
{
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	unsigned char first = *text;
	size_t len = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;

	if ((first & 0xc0) == 0x80 || first >= 0xf8 || len > left)
		return 0;
	*out = len == 1 ? first : first & 0x7fu >> len;
	for (size_t i = 1; i < len; i++) {
		if ((text[i] & 0xc0) != 0x80)
			return 0;
		*out = *out << 6 | (text[i] & 0x3f);
	}
	return *out >= least[len] && *out <= 0x10ffff && *out >> 11 != 0xd800 >> 11 ? len : 0;
}

/* Control characters, and those that break lines or change the direction of writing. */
static bool is_control(uint32_t character)
{
	static const uint32_t ranges[][2] = {{0, 0x1f},        {0x7f, 0x9f},     {0x61c, 0x61c},
					     {0x200e, 0x200f}, {0x2028, 0x202e}, {0x2066, 0x2069}};

	for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++)
		if (character >= ranges[i][0] && character <= ranges[i][1])
			return true;
	return false;
}

size_t plain_length(const char *text, const char *end)
{
	const char *at = text;

	while (at < end) {
		uint32_t character = 0;
		size_t len = character_read(at, end - at, &character);

		if (!len || is_control(character))
			break;
		at += len;
	}
	return at - text;
}

const char *comment_begin(const char *line, const char *end)
{
	bool quoted = false;

	while (line < end && (*line != '#' || quoted))
		quoted ^= *line++ == '"';
	return line;
}

void comment_set(struct rule *rule, const char *text, const char *end)
{
	size_t used = 0, len;

	while (text < end && is_blank(*text))
		text++;
	while (end > text && is_blank(end[-1]))
		end--;
	for (; text < end; text += len) {
		uint32_t character = 0;
		size_t valid = character_read(text, end - text, &character);
		bool keeps = valid && !is_control(character);

		len = valid ? valid : 1;
		if (used + (keeps ? len : 1) > RL_COMMENT_MAX)
			break;
		if (keeps)
			memcpy(rule->comment + used, text, len);
		else
			rule->comment[used] = *text == '\t' ? ' ' : '?';
		used += keeps ? len : 1;
	}
	rule->comment_cut = text < end;
	while (used && is_blank(rule->comment[used - 1]))
		used--;
	rule->comment[used] = '\0';
}
