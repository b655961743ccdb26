// SPDX-License-Identifier: GPL-2.0-only
/* Saved members: what is written is read again, with the time that is left, and what is damaged is
 * named while the rest is taken.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "cases.h"
#include "policy/sets/member_state.h"

#define NOW   (1790000000ull * NS_PER_SECOND) /* 2026-09-21T14:13:20Z */
#define SAVED "saved 2026-09-21T14:13:20Z # tag\n"

/* "SET: ADDRESS SECONDS, ADDRESS; SET: …" */
static char *state_print(const struct member_state *state)
{
	char *text = NULL, member[PREFIX_TEXT_MAX];
	size_t size;
	FILE *file = open_memstream(&text, &size);

	assert_non_null(file);
	for (size_t i = 0; i < state->count; i++) {
		const struct member_list *list = &state->sets[i].list;

		fprintf(file, "%s%s:", i ? "; " : "", state->sets[i].name);
		for (size_t m = 0; m < list->count; m++) {
			member_print(member, &list->items[m].member);
			fprintf(file, "%s %s", m ? "," : "", member);
			if (list->items[m].life_ns != MEMBER_LIFE_NONE)
				fprintf(file, " %g",
					(double)list->items[m].life_ns / NS_PER_SECOND);
		}
	}
	fclose(file);
	return text;
}

static const struct state_row {
	const char *name, *text, *state;
	int64_t late_s; /* the clock now, against the moment of saving */
	size_t bad, bad_line;
} rows[] = {
	{"one set", SAVED "set a\n192.0.2.1\n10.0.0.0/8 until 2026-09-21T14:14:20Z\n",
	 "a: 192.0.2.1, 10.0.0.0/8 60", .bad = 0},
	{"several sets", SAVED "set a\n192.0.2.1\nset b\nset c\n2001:db8::/32\n",
	 "a: 192.0.2.1; b:; c: 2001:db8::/32", .bad = 0},
	{"time has passed", SAVED "set a\n192.0.2.1 until 2026-09-21T14:14:20Z\n",
	 "a: 192.0.2.1 20", .late_s = 40},
	{"its time is over", SAVED "set a\n192.0.2.1 until 2026-09-21T14:14:20Z\n192.0.2.2\n",
	 "a: 192.0.2.2", .late_s = 60},
	{"a clock that is behind adds nothing",
	 SAVED "set a\n192.0.2.1 until 2026-09-21T14:14:20Z\n", "a: 192.0.2.1 60",
	 .late_s = -86400},
	{"without the moment of saving", "set a\n192.0.2.1 until 2026-09-21T14:14:20Z\n",
	 "a: 192.0.2.1 60", .bad = 0},
	{"an end beyond what a member can have",
	 SAVED "set a\n192.0.2.1 until 2100-01-01T00:00:00Z\n", "a: 192.0.2.1 2.52288e+08",
	 .bad = 0},
	{"comments and blank lines", "# x\n\n" SAVED "set a # x\n\n192.0.2.1 # y\n", "a: 192.0.2.1",
	 .bad = 0},
	{"nothing", "", "", .bad = 0},
	{"a bad line", SAVED "set a\nfoo\n192.0.2.1\n", "a: 192.0.2.1", .bad = 1, .bad_line = 3},
	{"a bad name: what is below is not of the set before",
	 SAVED "set a\n192.0.2.1\nset A!\n192.0.2.2\nset b\n192.0.2.3\n",
	 "a: 192.0.2.1; b: 192.0.2.3", .bad = 1, .bad_line = 4},
	{"a member of no set", SAVED "192.0.2.1\nset a\n192.0.2.2\n", "a: 192.0.2.2", .bad = 1,
	 .bad_line = 2},
	{"cut off: a part of an address is one, too", SAVED "set a\n192.0.2.1\n192.0.2.2",
	 "a: 192.0.2.1", .bad = 1, .bad_line = 4},
	{"cut off: in the name of a set", SAVED "set a\n192.0.2.1\nset ab", "a: 192.0.2.1",
	 .bad = 1, .bad_line = 4},
	{"an end that is no time", SAVED "set a\n192.0.2.1 until 2026-09\n", "a:", .bad = 1,
	 .bad_line = 3},
};

ROWS(row_check, rows, row)
{
	struct member_state state = {0};
	size_t bad, line;
	char *text;

	assert_int_equal(member_state_parse(row->text, strlen(row->text),
					    NOW + row->late_s * (int64_t)NS_PER_SECOND, &state),
			 0);
	text = state_print(&state);
	assert_string_equal(text, row->state);
	bad = state.other.bad_count;
	line = state.other.bad[0].line;
	for (size_t i = 0; i < state.count; i++) {
		bad += state.sets[i].list.bad_count;
		if (state.sets[i].list.bad_count)
			line = state.sets[i].list.bad[0].line;
	}
	assert_int_equal(bad, row->bad);
	assert_int_equal(line, row->bad_line);
	free(text);
	member_state_clear(&state);
}

/* A written state is read as it was, but for a second that an end is rounded up to. */
TEST(written_is_read)
{
	const struct member forever = {.addr = {[10] = 0xff, [11] = 0xff, [12] = 10}, .len = 104};
	const struct member timed = {.addr = {0x20, 1, 0xd, 0xb8}, .len = 32};
	char *text = NULL, *read;
	struct member_state read_back = {0};
	size_t size;
	FILE *file = open_memstream(&text, &size);

	assert_non_null(file);
	member_state_begin(file, NOW, "tag", "eth0 at xdp");
	fputs("set a\n", file);
	member_state_member(file, &forever, 0);
	member_state_member(file, &timed, NOW + 59 * NS_PER_SECOND + 1);
	fclose(file);
	assert_int_equal(member_state_parse(text, size, NOW, &read_back), 0);
	read = state_print(&read_back);
	assert_string_equal(read, "a: 10.0.0.0/8, 2001:db8::/32 60");
	free(read);
	free(text);
	member_state_clear(&read_back);
}
