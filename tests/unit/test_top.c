// SPDX-License-Identifier: GPL-2.0-only
/* The columns and lines of top where there is little room, its views, and what
 * rules counted between two moments. */
#include <stdio.h>
#include <string.h>

#include "cases.h"
#include "cli/top/top.h"
#include "watch/traffic/pattern.h"

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

ROWS(is_shortened, texts, row)
{
	char text[TOP_TEXT_MAX];

	snprintf(text, sizeof(text), "%s", row->text);
	text_shorten(text, row->room, "..");
	assert_true(strlen(text) <= row->room);
	assert_string_equal(text, row->shown);
}

/* Three bytes in one column. */
TEST(columns_are_not_bytes)
{
	char text[TOP_TEXT_MAX] = "any udp dport 53 limit 1000/second burst 2000";

	text_shorten(text, 30, "\u2026");
	assert_string_equal(text, "any udp dport 53 lim\u2026urst 2000");
}

#define ALL   (((1u << TOP_COLUMN_COUNT) - 1) & ~(BIT(SHARE) | BIT(FROM)))
#define MINOR (BIT(PASSED_BITS) | BIT(DROPPED_BITS) | BIT(PASSED_ERROR) | BIT(REMAINING))

/* Widths: of an IPv4 source, and of the longest IPv6 /64. */
enum { SHORT = 15, LONG = 24 };

static const struct fit {
	const char *name;
	int source, width;
	uint32_t empty, gone;
} fits[] = {
	{"all", SHORT, 140, 0, 0},
	{"the empty ones first", SHORT, 112, BIT(BANNED) | BIT(REMAINING), BIT(REMAINING)},
	{"only as many as must go", SHORT, 122, BIT(BANNED) | BIT(REMAINING), 0},
	{"80 columns, some banned", SHORT, 80, 0, MINOR},
	{"80 columns, none banned", SHORT, 80, BIT(BANNED), MINOR | BIT(BANNED)},
	{"80 columns, an IPv6 source", LONG, 80, BIT(BANNED), MINOR | BIT(BANNED)},
	{"80 columns, a banned IPv6 source", LONG, 80, 0, MINOR | BIT(DPORT)},
	{"60 columns", SHORT, 60, BIT(BANNED) | BIT(REMAINING), MINOR | BIT(BANNED) | BIT(DPORT)},
	{"60 columns, a ban", SHORT, 60, 0, MINOR | BIT(DPORT) | BIT(PASSED)},
	{"source, drops, error and rule stay", SHORT, 10, 0,
	 ALL - BIT(NAME) - BIT(DROPPED) - BIT(DROPPED_ERROR) - BIT(RULE)},
};

ROWS(has_room, fits, row)
{
	const struct top_widths widths = {.of = {0, row->source, 0, 9, 3, 5, 8, 3, 5, 5, 9, 10, 44},
					  .filled = ALL & ~row->empty};

	assert_int_equal(ALL & ~top_columns_fit(&widths, ALL, row->width), row->gone);
}

/* The columns of a snapshot without them stay as the long source and the ban
 * made them. */
TEST(columns_keep_their_places)
{
	struct top_row rows[] = {
		{.addr = {0x2a, 0x02, 0x80, 0x71, 0x12, 0x34, 0x56, 0x78}, .state.ban_ns = 1},
		{.addr = {0x20, 0x01, 0x0d, 0xb8}},
	};
	struct top top = {.rows = rows, .count = 2};
	struct top_widths widths = {0}, before;

	top_widths_grow(&top, 0, 2, &widths);
	assert_int_equal(widths.of[COLUMN_NAME], LONG);
	assert_int_equal(widths.of[COLUMN_DROPPED], strlen("dropped/s"));
	assert_true(widths.filled & BIT(BANNED));
	assert_false(widths.filled & BIT(REMAINING));
	before = widths;
	top_widths_grow(&top, 1, 1, &widths);
	assert_memory_equal(&widths, &before, sizeof(widths));
	/* only the rows shown count */
	widths = (struct top_widths){0};
	top_widths_grow(&top, 1, 1, &widths);
	assert_int_equal(widths.of[COLUMN_NAME], strlen("2001:db8::/64"));
	assert_false(widths.filled & BIT(BANNED));
}

/* A ban's column has no value where there are no rows, and goes before what has
 * one at last. */
TEST(no_rows_fit)
{
	struct top top = {0};
	struct top_widths widths = {0};

	top_widths_grow(&top, 0, 0, &widths);
	assert_int_equal(ALL & ~top_columns_fit(&widths, ALL, 60),
			 BIT(REMAINING) | BIT(BANNED) | BIT(PASSED_BITS));
}

/* ---- lines */

/* Some addresses, of which there may be so many, and that send 57,900 packets a
 * second. */
static struct top_group group_of(uint64_t about, uint64_t least, uint64_t most, bool once)
{
	return (struct top_group){
		.rare.sources = 1000, .rate.packets = 57900, .sources = {about, least, most, once}};
}

static const struct group_line {
	const char *name;
	struct rare_sources sources;
	bool prefix;
	enum talker_verdict verdict;
	size_t width;
	const char *shown;
} group_lines[] = {
	{"forged addresses",
	 {150000, 69000, 240000, true},
	 false,
	 TALKER_DROPPED,
	 80,
	 "about 150,000 sources seen once (69.0k-240k): forged addresses, 57.9k "
	 "dropped/s"},
	{"forged addresses, 60 columns",
	 {150000, 69000, 240000, true},
	 false,
	 TALKER_DROPPED,
	 60,
	 "about 150,000 sources: forged addresses, 57.9k dropped/s"},
	{"an estimate at the end of its range",
	 {95000, 55000, 95000, true},
	 false,
	 TALKER_DROPPED,
	 80,
	 "55.0k-95.0k sources seen once: forged addresses, 57.9k dropped/s"},
	{"a narrow range",
	 {1022, 1010, 1040, false},
	 false,
	 TALKER_PASSED,
	 80,
	 "about 1,000 sources seen too rarely for a rate: 57.9k passed/s"},
	{"too rarely, 60 columns",
	 {1100, 950, 1300, false},
	 false,
	 TALKER_PASSED,
	 60,
	 "about 1,100 sources seen too rarely: 57.9k passed/s"},
	{"exact",
	 {12, 12, 12, true},
	 false,
	 TALKER_DROPPED,
	 80,
	 "12 more sources seen once: 57.9k dropped/s"},
	{"a prefix",
	 {1022, 1010, 1040, false},
	 true,
	 TALKER_PASSED,
	 60,
	 "100.64.0.0/22: about 1,000 sources, 57.9k passed/s"},
	{"a prefix, exactly",
	 {1022, 1022, 1022, false},
	 true,
	 TALKER_PASSED,
	 80,
	 "100.64.0.0/22: 1,022 sources, 57.9k passed/s"},
	{"a prefix, a range",
	 {1100, 950, 1300, false},
	 true,
	 TALKER_DROPPED,
	 80,
	 "100.64.0.0/22: about 1,100 sources (950-1.3k), 57.9k dropped/s"},
};

ROWS(a_group_has_a_line, group_lines, row)
{
	const struct rare_sources *s = &row->sources;
	struct top_group group = group_of(s->about, s->least, s->most, s->once);
	enum top_line first = row->prefix ? TOP_LINE_PREFIX : TOP_LINE_RARE;
	struct top top = {0};
	struct screen_line line;

	if (row->prefix)
		assert_int_equal(prefix_parse("100.64.0.0/22", group.addr, &group.len, NULL), 0);
	(row->prefix ? top.prefix : top.rare)[row->verdict] = group;
	assert_true(top_line_print(&top, first + row->verdict, &line));
	line_fit(&line, row->width, "..");
	assert_string_equal(line.text, row->shown);
	assert_false(top_line_print(&top, first + !row->verdict, &line));
}

TEST(the_history_begins_at_the_left)
{
	static const char *const levels[] = {"0", "1", "2", "3"};
	struct top top = {.slices = 3};
	char text[TOP_HISTORY + 1];

	top.history[TOP_HISTORY - 3] = 10;
	top.history[TOP_HISTORY - 1] = 40;
	assert_int_equal(sparkline_print(&top, 80, levels, 4, text, sizeof(text)), 40);
	assert_string_equal(text, "103");
	assert_int_equal(sparkline_print(&top, 2, levels, 4, text, sizeof(text)), 40);
	assert_string_equal(text, "03");
	top.history[TOP_HISTORY - 1] = 0;
	assert_int_equal(sparkline_print(&top, 2, levels, 4, text, sizeof(text)), 0);
	assert_string_equal(text, "00");
}

/* ---- views */

static struct top_row dest_row(void)
{
	struct top_row row = {.rate[TALKER_DROPPED] = {1000, 8000},
			      .error[TALKER_DROPPED] = {100, 800},
			      .dport = {true, true, 53, 40}};
	uint8_t len;

	assert_int_equal(prefix_parse("2001:db8::5", row.addr, &len, NULL), 0);
	return row;
}

/* A destination is one address, where a source is a /64, and has no state. */
TEST(a_destination_is_one_address)
{
	struct top_row row = dest_row();
	struct top top = {.rows = &row, .count = 1, .by = TOP_BY_DEST};
	char text[TOP_TEXT_MAX];

	top_cell(&top, &row, COLUMN_NAME, text);
	assert_string_equal(text, "2001:db8::5");
	assert_string_equal(top_heading(&top, COLUMN_NAME), "destination");
	assert_string_equal(top_heading(&top, COLUMN_DROPPED), "dropped/s");
	top_cell(&top, &row, COLUMN_DPORT, text);
	assert_string_equal(text, "53+");
	top_cell(&top, &row, COLUMN_DROPPED_ERROR, text);
	assert_string_equal(text, "10%");
	assert_int_equal(ALL & ~top_views[TOP_BY_DEST].columns, BIT(REMAINING) | BIT(BANNED));
	top.by = TOP_BY_SOURCE;
	top_cell(&top, &row, COLUMN_NAME, text);
	assert_string_equal(text, "2001:db8::5/64");
}

/* Only the columns of the view take room. */
TEST(a_view_has_its_columns)
{
	struct top_row row = dest_row();
	struct top top = {.rows = &row, .count = 1, .by = TOP_BY_RULE};
	uint32_t columns = top_views[TOP_BY_RULE].columns;
	struct top_widths widths = {0};

	assert_int_equal(columns, BIT(DROPPED) | BIT(DROPPED_BITS) | BIT(PASSED) |
					  BIT(PASSED_BITS) | BIT(RULE));
	top_widths_grow(&top, 0, 1, &widths);
	assert_int_equal(widths.of[COLUMN_NAME], 0);
	assert_int_equal(widths.of[COLUMN_DROPPED], strlen("dropped/s"));
	assert_int_equal(top_columns_fit(&widths, columns, 80), columns);
	widths.of[COLUMN_RULE] = 60;
	assert_int_equal(columns & ~top_columns_fit(&widths, columns, 60), BIT(PASSED_BITS));
}

TEST(a_pattern_is_of_all_packets)
{
	const struct pattern pattern = {.known = true,
					.proto = 17,
					.has_port = true,
					.dport = 53,
					.has_ip = true,
					.hops = 48};
	struct top top = {.by = TOP_BY_PATTERN, .rate = {{.packets = 600}, {.packets = 400}}};
	struct top_row row = {.rate = {{.packets = 500}, {.packets = 220}}, .network = 0x20010db8};
	static const char *const wanted[] = {"72%", "udp/53 ttl 48-63", "2001:db8::/32"};
	char text[TOP_TEXT_MAX];

	memcpy(row.addr, &pattern, sizeof(row.addr));
	for (int c = COLUMN_SHARE; c <= COLUMN_FROM; c++) {
		top_cell(&top, &row, c, text);
		assert_string_equal(text, wanted[c]);
	}
	row.network = 0;
	top_cell(&top, &row, COLUMN_FROM, text);
	assert_string_equal(text, "-");
}

/* ---- rules */

static struct rule_count items[2][3] = {
	{{.id = 3, .verdict = {{10, 1000}, {5, 500}}}, {.id = 7, .verdict = {{100, 6000}, {0, 0}}}},
	{{.id = 3, .verdict = {{12, 1200}, {5, 500}}},
	 {.id = 5, .verdict = {{4, 240}, {1, 60}}},
	 {.id = 7, .verdict = {{20, 1200}, {9, 540}}}},
};

static const struct since {
	const char *name;
	uint32_t id;
	struct rl_amount dropped, passed;
} sinces[] = {
	{"it grew", 3, {2, 200}, {0, 0}},
	{"a new rule: all of it", 5, {4, 240}, {1, 60}},
	{"set to zero meanwhile: what came then", 7, {20, 1200}, {9, 540}},
	{"a rule that counted nothing", 9, {0, 0}, {0, 0}},
};

ROWS(is_counted_since, sinces, row)
{
	const struct rule_counts from = {.items = items[0], .count = 2};
	const struct rule_counts to = {.items = items[1], .count = 3};
	const struct rule rule = {.counter_id = row->id};
	struct rule_count count = rule_counts_since(&from, &to, &rule);

	assert_memory_equal(&count.verdict[TALKER_DROPPED], &row->dropped, sizeof(row->dropped));
	assert_memory_equal(&count.verdict[TALKER_PASSED], &row->passed, sizeof(row->passed));
}
