// SPDX-License-Identifier: GPL-2.0-only
/* Members that were saved: model to text and back. */
#include "policy/sets/member_state.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "base/units.h"
#include "policy/sets/member_line.h"
#include "policy/named.h"

struct reading {
	struct member_state *state;
	uint64_t now_ns; /* not before the moment of saving */
	size_t line;
	bool skips; /* below a set without a valid name */
};

static struct member_list *list_of(struct reading *reading)
{
	struct member_state *state = reading->state;

	return state->count && !reading->skips ? &state->sets[state->count - 1].list
					       : &state->other;
}

/* The word after `statement`, up to a blank; an empty one is none. False: the line is another. */
static bool word_behind(const char *line, size_t size, const char *statement, char *out, size_t max)
{
	size_t len = strlen(statement), end;

	if (size < len || memcmp(line, statement, len))
		return false;
	for (end = len; end < size && !is_one_of(line[end], " \t\r#"); end++)
		;
	len = end - len < max ? end - len : 0;
	memcpy(out, line + strlen(statement), len);
	out[len] = '\0';
	return true;
}

static int line_read(struct reading *reading, const char *line, size_t size)
{
	struct member_state *state = reading->state;
	struct member_state_set *sets;
	char word[64];
	uint64_t saved_ns;
	int ret;

	if (word_behind(line, size, "saved ", word, sizeof(word))) {
		if (!time_parse(word, &saved_ns) && saved_ns > reading->now_ns)
			reading->now_ns = saved_ns;
		return 0;
	}
	if (word_behind(line, size, "set ", word, sizeof(word))) {
		reading->skips = !name_is_valid(word);
		if (reading->skips) {
			member_list_bad(&state->other, reading->line, line, size,
					"has no name of a set: what is below it is left out");
			return 0;
		}
		sets = reallocarray(state->sets, state->count + 1, sizeof(*sets));
		if (!sets)
			return -ENOMEM;
		state->sets = sets;
		sets += state->count++;
		*sets = (struct member_state_set){0};
		memcpy(sets->name, word, strlen(word));
		return 0;
	}
	if (!reading->skips && state->count) {
		ret = member_line_parse(line, size, reading->line, reading->now_ns,
					list_of(reading));
		return ret == -ENOMEM ? ret : 0;
	}
	if (size && !reading->skips && !is_one_of(line[0], "#\r"))
		member_list_bad(&state->other, reading->line, line, size, "is of no set");
	return 0;
}

int member_state_parse(const char *text, size_t size, uint64_t now_ns, struct member_state *out)
{
	struct reading reading = {.state = out, .now_ns = now_ns};
	const char *end = text + size;
	int ret = 0;

	while (!ret && text < end) {
		const char *newline = memchr(text, '\n', end - text);

		reading.line++;
		if (newline)
			ret = line_read(&reading, text, newline - text);
		else /* it may have lost some of its text */
			member_list_bad(list_of(&reading), reading.line, text, end - text,
					"is cut off");
		text = newline ? newline + 1 : end;
	}
	for (size_t i = 0; i < out->count; i++)
		for (size_t m = 0; m < out->sets[i].list.count; m++)
			if (!out->sets[i].list.items[m].life_ns)
				out->sets[i].list.items[m].life_ns = MEMBER_LIFE_NONE;
	return ret;
}

void member_state_clear(struct member_state *state)
{
	for (size_t i = 0; i < state->count; i++)
		member_list_clear(&state->sets[i].list);
	free(state->sets);
	member_list_clear(&state->other);
	*state = (struct member_state){0};
}

/* ---- to text */

void member_state_begin(FILE *file, uint64_t now_ns, const char *tag, const char *owner)
{
	char time[NUMBER_TEXT_MAX];

	time_print(time, now_ns, false);
	fprintf(file, "saved %s # %s%s%s\n", time, tag, *owner ? " of " : "", owner);
}

/* Rounded up to a second, so that nothing ends early. */
void member_state_member(FILE *file, const struct member *member, uint64_t end_ns)
{
	char text[PREFIX_TEXT_MAX], time[NUMBER_TEXT_MAX];

	member_print(text, member);
	if (!end_ns) {
		fprintf(file, "%s\n", text);
		return;
	}
	time_print(time, end_ns + NS_PER_SECOND - 1, false);
	fprintf(file, "%s until %s\n", text, time);
}
