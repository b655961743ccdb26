// SPDX-License-Identifier: GPL-2.0-only
/* What top shows where there is little room. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "top.h"

#define BIT(name) (1u << COLUMN_##name)

static const struct shortened {
	const char *name, *text;
	size_t room;
	const char *shown;
} texts[] = {
	{"it fits", "any deny", 8, "any deny"},
	{"the middle goes", "any udp dport 53 limit 1000/second burst 2000", 30,
	 "any udp dport 53 li..urst 2000"},
	{"one column too few", "any deny", 7, "any ..y"},
	{"no room for the ellipsis", "any deny", 4, "any "},
	{"none", "any deny", 0, ""},
};

static void is_shortened(void **state)
{
	const struct shortened *row = *state;
	char text[TOP_TEXT_MAX];

	snprintf(text, sizeof(text), "%s", row->text);
	text_shorten(text, row->room, "..", 2);
	assert_true(strlen(text) <= row->room);
	assert_string_equal(text, row->shown);
}

/* Three bytes in one column. */
static void columns_are_not_bytes(void **state)
{
	char text[TOP_TEXT_MAX] = "any udp dport 53 limit 1000/second burst 2000";

	(void)state;
	text_shorten(text, 30, "\u2026", 1);
	assert_string_equal(text, "any udp dport 53 lim\u2026urst 2000");
}

static const struct fit {
	const char *name;
	int width;
	uint32_t empty, gone;
} fits[] = {
	{"all", 140, 0, 0},
	{"the empty ones first", 112, BIT(BANNED) | BIT(REMAINING), BIT(REMAINING)},
	{"only as many as must go", 122, BIT(BANNED) | BIT(REMAINING), 0},
	{"80 columns, some banned", 80, 0,
	 BIT(PASSED_BITS) | BIT(DROPPED_BITS) | BIT(PASSED_ERROR) | BIT(REMAINING) | BIT(DPORT) |
		 BIT(DROPPED_ERROR)},
	{"80 columns, none banned", 80, BIT(BANNED),
	 BIT(BANNED) | BIT(PASSED_BITS) | BIT(DROPPED_BITS) | BIT(PASSED_ERROR) | BIT(REMAINING)},
	{"source, drops and rule stay", 10, 0,
	 (1u << TOP_COLUMN_COUNT) - 1 - BIT(SOURCE) - BIT(DROPPED) - BIT(RULE)},
};

static void columns_fit(void **state)
{
	static const int widths[TOP_COLUMN_COUNT] = {15, 9, 3, 5, 8, 3, 5, 5, 9, 10, 44};
	const struct fit *row = *state;
	uint32_t shown = top_columns_fit(widths, row->empty, row->width);

	assert_int_equal(((1u << TOP_COLUMN_COUNT) - 1) & ~shown, row->gone);
}

int main(void)
{
	struct CMUnitTest
		tests[sizeof(texts) / sizeof(texts[0]) + sizeof(fits) / sizeof(fits[0]) + 1];
	size_t n = 0;

#define ROWS(table, function)                                             \
	for (size_t i = 0; i < sizeof(table) / sizeof((table)[0]); i++)   \
		tests[n++] = (struct CMUnitTest){.name = (table)[i].name, \
						 .test_func = (function), \
						 .initial_state = (void *)&(table)[i]};
	ROWS(texts, is_shortened)
	ROWS(fits, columns_fit)
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(columns_are_not_bytes);
	return _cmocka_run_group_tests("top", tests, n, NULL, NULL);
}
