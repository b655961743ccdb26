// SPDX-License-Identifier: GPL-2.0-only
/* Files of addresses: every format, what is refused of it and under which line, and bounds. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "base/units.h"
#include "cases.h"
#include "policy/sets/member_file.h"
#include "policy/sets/member_line.h"

#define NOW (1790000000ull * NS_PER_SECOND) /* 2026-09-21T14:13:20Z */

/* "ADDRESS", "ADDRESS 90s" or "ADDRESS ever", one a line, in the order of the file. */
static char *list_print(const struct member_list *list)
{
	char *text = NULL;
	size_t size;
	FILE *file = open_memstream(&text, &size);

	assert_non_null(file);
	for (size_t i = 0; i < list->count; i++) {
		char member[PREFIX_TEXT_MAX], life[QUANTITY_TEXT_MAX] = "";

		member_print(member, &list->items[i].member);
		if (list->items[i].life_ns == MEMBER_LIFE_NONE)
			strcpy(life, "ever");
		else if (list->items[i].life_ns)
			duration_print(life, sizeof(life), list->items[i].life_ns);
		fprintf(file, "%s%s%s%s", i ? " / " : "", member, *life ? " " : "", life);
	}
	fclose(file);
	return text;
}

static const struct file_row {
	const char *name, *text, *members;
	const char *why; /* part of the reason of a refusal, or NULL */
	size_t bad, bad_line, host_bits;
	const char *bad_why; /* part of the first bad line's reason */
} files[] = {
	{"plain: addresses and prefixes", "192.0.2.1\n10.0.0.0/8\n2001:db8::/32\n::1\n",
	 "192.0.2.1 / 10.0.0.0/8 / 2001:db8::/32 / ::1", .bad = 0},
	{"plain: no newline at the end", "192.0.2.1\n192.0.2.2", "192.0.2.1 / 192.0.2.2", .bad = 0},
	{"plain: CRLF", "192.0.2.1\r\n\r\n# x\r\n192.0.2.2\r\n", "192.0.2.1 / 192.0.2.2", .bad = 0},
	{"plain: comments and blank lines",
	 "# list\n\n  ; more\n192.0.2.1 # why\n192.0.2.2;who\n\t192.0.2.3\t\n192.0.2.4#x\n",
	 "192.0.2.1 / 192.0.2.2 / 192.0.2.3 / 192.0.2.4", .bad = 0},
	{"plain: a byte order mark",
	 "\xef\xbb\xbf"
	 "192.0.2.1\n",
	 "192.0.2.1", .bad = 0},
	{"plain: duplicates and overlapping prefixes stay", "10.0.0.0/8\n10.0.0.0/8\n10.1.0.0/16\n",
	 "10.0.0.0/8 / 10.0.0.0/8 / 10.1.0.0/16", .bad = 0},
	{"plain: host bits", "10.0.0.1/8\n2001:db8::1/32\n10.0.0.0/8\n",
	 "10.0.0.0/8 / 2001:db8::/32 / 10.0.0.0/8", .host_bits = 2},
	{"plain: all addresses", "0.0.0.0/0\n::/0\n", "0.0.0.0/0 / ::/0", .bad = 0},
	{"netset: as FireHOL writes it",
	 "#\n# firehol_level1\n#\n# Maintainer : x 1.2.3.4\n0.0.0.0/8\n1.10.16.0/20\n192.0.2.9\n",
	 "0.0.0.0/8 / 1.10.16.0/20 / 192.0.2.9", .bad = 0},
	{"Spamhaus DROP",
	 "; Spamhaus DROP List 2026/09/21\n1.10.16.0/20 ; SBL256894\n"
	 "2001:db8::/32 ; SBL1\n",
	 "1.10.16.0/20 / 2001:db8::/32", .bad = 0},
	{"CSV: further columns",
	 "192.0.2.1,spam,2026-01-01\n192.0.2.2 , x\n192.0.2.3|y\n192.0.2.4\tz\n",
	 "192.0.2.1 / 192.0.2.2 / 192.0.2.3 / 192.0.2.4", .bad = 0},
	{"CSV: quotation marks", "\"192.0.2.1\",\"a, b\"\n\" 192.0.2.2 \",x\n",
	 "192.0.2.1 / 192.0.2.2", .bad = 0},
	{"CSV: names of columns", "ip,reason\n192.0.2.1,spam\n", "192.0.2.1", .bad = 0},
	{"CSV: names of columns stand first only", "192.0.2.1,spam\nip,reason\n", "192.0.2.1",
	 .bad = 1, .bad_line = 2, .bad_why = "not an address"},
	{"range: one prefix", "192.0.2.0-192.0.2.255\n", "192.0.2.0/24", .bad = 0},
	{"range: blanks around the dash", "192.0.2.0 - 192.0.2.1 # x\n", "192.0.2.0/31", .bad = 0},
	{"range: several prefixes", "192.0.2.1-192.0.2.6\n",
	 "192.0.2.1 / 192.0.2.2/31 / 192.0.2.4/31 / 192.0.2.6", .bad = 0},
	{"range: one address", "192.0.2.1-192.0.2.1\n", "192.0.2.1", .bad = 0},
	{"range: all of IPv4", "0.0.0.0-255.255.255.255\n", "0.0.0.0/0", .bad = 0},
	{"range: all of IPv6", "::-ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff\n", "::/0", .bad = 0},
	{"range: the upper half", "8000::-ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff\n", "8000::/1",
	 .bad = 0},
	{"range: IPv6", "2001:db8::1-2001:db8::2\n", "2001:db8::1 / 2001:db8::2", .bad = 0},
	{"range: around the mapped addresses", "::fffe:ffff:ffff-::1:0:0:0\n",
	 "::fffe:ffff:ffff / ::1:0:0:0", .bad = 0},
	{"range: the wrong way round", "192.0.2.9-192.0.2.1\n192.0.2.1\n", "192.0.2.1", .bad = 1,
	 .bad_line = 1, .bad_why = "before the first"},
	{"range: both families", "192.0.2.9-2001:db8::1\n192.0.2.1\n", "192.0.2.1", .bad = 1,
	 .bad_line = 1, .bad_why = "other family"},
	{"range: prefixes", "192.0.2.0/24-192.0.3.0/24\n192.0.2.1\n", "192.0.2.1", .bad = 1,
	 .bad_line = 1, .bad_why = "range of prefixes"},
	{"set list: for", "192.0.2.1 for 2h\n192.0.2.2 for 90s # x\n",
	 "192.0.2.1 2h / 192.0.2.2 90s", .bad = 0},
	{"set list: until", "192.0.2.1 until 2026-09-21T14:14:20Z\n", "192.0.2.1 1m", .bad = 0},
	{"set list: until is over", "192.0.2.1 until 2026-09-21T14:13:20Z\n192.0.2.2\n",
	 "192.0.2.2", .bad = 0},
	{"bad: for without a time", "192.0.2.1 for\n192.0.2.2 for ever\n192.0.2.3\n", "192.0.2.3",
	 .bad = 2, .bad_line = 1, .bad_why = "no duration"},
	{"bad: for too long", "192.0.2.1 for 9999d\n192.0.2.3\n", "192.0.2.3", .bad = 1,
	 .bad_line = 1, .bad_why = "too long"},
	{"bad: until without a time", "192.0.2.3\n192.0.2.1 until tomorrow\n", "192.0.2.3",
	 .bad = 1, .bad_line = 2, .bad_why = "no time"},
	{"bad: more behind the time", "192.0.2.3\n192.0.2.1 for 1h please\n", "192.0.2.3", .bad = 1,
	 .bad_line = 2, .bad_why = "more than an address and its time"},
	{"bad: words behind the address", "192.0.2.3\n192.0.2.1 192.0.2.2\n", "192.0.2.3", .bad = 1,
	 .bad_line = 2, .bad_why = "more than an address"},
	{"bad: not an address", "192.0.2.1\n\n300.1.2.3\n", "192.0.2.1", .bad = 1, .bad_line = 3,
	 .bad_why = "not an address"},
	{"bad: length", "192.0.2.0/33\n192.0.2.1\n", "192.0.2.1", .bad = 1, .bad_line = 1,
	 .bad_why = "length"},
	{"bad: zone", "fe80::1%eth0\n192.0.2.1\n", "192.0.2.1", .bad = 1, .bad_line = 1,
	 .bad_why = "zone"},
	{"bad: mapped", "::ffff:192.0.2.1\n192.0.2.1\n", "192.0.2.1", .bad = 1, .bad_line = 1,
	 .bad_why = "written as IPv6"},
	{"bad: many lines are counted", "a\nb\nc\nd\ne\nf\n192.0.2.1\ng\n", "192.0.2.1", .bad = 7,
	 .bad_line = 1, .bad_why = "not an address"},
	{"bad: a line of 100 bytes",
	 "192.0.2.1\nxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
	 "xxxxxxxxxxxxxxxx\n",
	 "192.0.2.1", .bad = 1, .bad_line = 2, .bad_why = "not an address"},
	{"broken: empty", "", "", .why = "empty"},
	{"broken: comments only", "# none\n\n", "", .why = "empty"},
	{"broken: a page", "<!DOCTYPE html>\n<html>\n", "", .why = "no line", .bad = 2,
	 .bad_line = 1, .bad_why = "not an address"},
	{"broken: names of columns only", "ip,reason\n", "", .why = "no line"},
	{"broken: compressed", "\x1f\x8b\x08\n192.0.2.1\n", "", .why = "compressed"},
	{"ipset: save",
	 "create badguys hash:net family inet hashsize 1024 maxelem 65536 timeout 300\n"
	 "add badguys 192.0.2.1 timeout 300\nadd badguys 10.0.0.0/8 timeout 0\nadd badguys 192.0.2.9\n",
	 "192.0.2.1 5m / 10.0.0.0/8 ever / 192.0.2.9", .bad = 0},
	{"ipset: options that say nothing here",
	 "add x 192.0.2.1 packets 7 bytes 9 skbmark 0x1 timeout 60 comment \"timeout 9\"\n",
	 "192.0.2.1 1m", .bad = 0},
	{"ipset: restore", "-N x iphash\nflush x\n-A x 192.0.2.1\nadd -exist x 192.0.2.2\nCOMMIT\n",
	 "192.0.2.1 / 192.0.2.2", .bad = 0},
	{"ipset: a range", "add x 192.0.2.0-192.0.2.3\n", "192.0.2.0/30", .bad = 0},
	{"ipset: one set of another name", "add other 192.0.2.1\n", "192.0.2.1", .bad = 0},
	{"ipset: of several sets, ours", "add white 192.0.2.1\nadd badguys 192.0.2.2\n",
	 "192.0.2.2", .bad = 0},
	{"ipset: ours of both families",
	 "add badguys4 192.0.2.1\nadd badguys-v6 2001:db8::1\nadd badguysx 192.0.2.2\n",
	 "192.0.2.1 / 2001:db8::1", .bad = 0},
	{"ipset: several sets, none ours", "add white 192.0.2.1\nadd black 192.0.2.2\n", "",
	 .why = "several sets"},
	{"ipset: an exception is no member", "add x 10.0.0.0/8\nadd x 10.1.0.0/16 nomatch\n",
	 "10.0.0.0/8", .bad = 1, .bad_line = 2, .bad_why = "exception"},
	{"ipset: a port", "add x 192.0.2.1,tcp:80\nadd x 192.0.2.2\n", "192.0.2.2", .bad = 1,
	 .bad_line = 1, .bad_why = "not an address"},
	{"ipset: a bad timeout", "add x 192.0.2.1 timeout soon\nadd x 192.0.2.2\n", "192.0.2.2",
	 .bad = 1, .bad_line = 1, .bad_why = "timeout"},
	{"ipset: del", "add x 192.0.2.1\ndel x 192.0.2.2\n", "192.0.2.1", .bad = 1, .bad_line = 2,
	 .bad_why = "deletes"},
	{"ipset: sets without members", "create x hash:ip\ncreate y hash:ip\n", "", .why = "empty"},
	{"an address that begins as a word of ipset", "add::1\nadd:1::\n",
	 "add::1 / add:1::", .bad = 0},
	{"nft: list set",
	 "table inet filter {\n\tset badguys {\n\t\ttype ipv4_addr\n\t\tflags interval,timeout\n"
	 "\t\ttimeout 1h\n\t\telements = { 192.0.2.1 timeout 5m expires 4m59s500ms,\n"
	 "\t\t\t     10.0.0.0/8, 192.0.2.8-192.0.2.11 expires 1d2h }\n\t}\n}\n",
	 "192.0.2.1 299500ms / 10.0.0.0/8 / 192.0.2.8/30 26h", .bad = 0},
	{"nft: counters and comments",
	 "table ip f {\nset s {\nelements = { 192.0.2.1 counter packets 1 bytes 2 comment \"a, b}\","
	 "\n192.0.2.2 }\n}\n}\n",
	 "192.0.2.1 / 192.0.2.2", .bad = 0},
	{"nft: of several sets, ours",
	 "table ip f {\nset white {\nelements = { 192.0.2.1 }\n}\nset badguys {\nelements = { "
	 "192.0.2.2 }\n}\nset empty {\ntype ipv4_addr\n}\n}\n",
	 "192.0.2.2", .bad = 0},
	{"nft: several sets, none ours",
	 "table ip f {\nset white {\nelements = { 192.0.2.1 }\n}\nset black {\nelements = { "
	 "192.0.2.2 }\n}\n}\n",
	 "", .why = "several sets"},
	{"nft: add element", "add element inet filter x { 192.0.2.1, 192.0.2.2 timeout 30s }\n",
	 "192.0.2.1 / 192.0.2.2 30s", .bad = 0},
	{"nft: an element that is over", "add element ip f x { 192.0.2.1 expires 0s, 192.0.2.2 }\n",
	 "192.0.2.2", .bad = 0},
	{"nft: more than addresses",
	 "table ip f {\nset s {\nelements = { 192.0.2.1 . 80,\n192.0.2.2 }\n}\n}\n", "192.0.2.2",
	 .bad = 1, .bad_line = 3, .bad_why = "more than addresses"},
	{"nft: a bad element has its line",
	 "table ip f {\nset s {\nelements = { 192.0.2.1,\nfoo,\n192.0.2.2 }\n}\n}\n",
	 "192.0.2.1 / 192.0.2.2", .bad = 1, .bad_line = 4, .bad_why = "not an address"},
	{"nft: the text ends early", "table ip f {\nset s {\nelements = { 192.0.2.1,\n192.0.2.2",
	 "192.0.2.1 / 192.0.2.2", .bad = 1, .bad_line = 4, .bad_why = "ends early"},
	{"nft: a set without members", "table ip f {\nset badguys {\ntype ipv4_addr\n}\n}\n", "",
	 .why = "empty"},
};

ROWS(file_check, files, row)
{
	struct member_list list = {.max = 100};
	const char *why = member_file_parse(row->text, strlen(row->text), "badguys", NOW, &list);
	char *members = list_print(&list);

	if (!row->why) {
		assert_ptr_equal(why, NULL);
		assert_string_equal(members, row->members);
	} else {
		assert_non_null(why);
		assert_non_null(strstr(why, row->why));
	}
	assert_int_equal(list.bad_count, row->bad);
	assert_int_equal(list.host_bits, row->host_bits);
	assert_int_equal(list.bad[0].line, row->bad_line);
	if (row->bad)
		assert_non_null(strstr(list.bad[0].why, row->bad_why));
	assert_false(list.over);
	free(members);
	member_list_clear(&list);
}

TEST(bad_text_is_cut)
{
	struct member_list list = {0};
	const char *line = "0123456789012345678901234567890123456789ABC";

	assert_int_equal(member_line_parse(line, strlen(line), 7, NOW, &list), -22);
	assert_string_equal(list.bad[0].text, "0123456789012345678901234567890123456789");
	assert_int_equal(member_line_parse("a\0b", 3, 8, NOW, &list), -22);
	assert_string_equal(list.bad[1].text, "a?b");
	member_list_clear(&list);
}

TEST(until_over_is_counted)
{
	const char *text = "192.0.2.1 until 2026-01-01T00:00:00Z\n";
	struct member_list list = {0};

	assert_ptr_equal(member_file_parse(text, strlen(text), "x", NOW, &list), NULL);
	assert_int_equal(list.ended, 1);
	assert_int_equal(list.count, 0);
	member_list_clear(&list);
}

TEST(duplicates_unite)
{
	const char *text = "192.0.2.9\n192.0.2.1 for 1h\n192.0.2.9\n192.0.2.1 for 2h\n192.0.2.1\n";
	struct member_list list = {0};
	char *members;

	assert_ptr_equal(member_file_parse(text, strlen(text), "x", NOW, &list), NULL);
	member_list_unite(&list);
	members = list_print(&list);
	assert_string_equal(members, "192.0.2.1 2h / 192.0.2.9");
	free(members);
	member_list_clear(&list);
}

/* Duplicates never fill a list, different members do, and memory is bounded. */
TEST(list_is_bounded)
{
	struct member_list list = {.max = 4};
	struct member member = {.addr = {[10] = 0xff, [11] = 0xff}, .len = 128};

	for (uint32_t i = 0; i < 3 * MEMBER_LIST_SPARE; i++) {
		member.addr[15] = i % 4;
		assert_int_equal(member_list_add(&list, &member, 0), 0);
	}
	assert_false(list.over);
	assert_true(list.capacity <= 2 * 4 + MEMBER_LIST_SPARE);
	for (uint32_t i = 0; i < 2 * MEMBER_LIST_SPARE; i++) {
		member.addr[15] = i;
		member.addr[14] = i >> 8;
		member.addr[13] = i >> 16;
		assert_int_equal(member_list_add(&list, &member, 0), 0);
	}
	assert_true(list.over);
	assert_true(list.count > 4);
	assert_true(list.capacity <= 2 * 4 + MEMBER_LIST_SPARE);
	member_list_clear(&list);
}

/* A text costs so many steps at most, whatever it says: short lines that are many prefixes each. */
TEST(costly_text_is_given_up)
{
	static const char many[] = "::2-ffff:ffff:ffff:ffff:ffff:ffff:ffff:fffd\n";
	static const char half[] = "0.0.0.1-255.255.255.254\n";
	struct member_list list = {.max = 4};

	assert_int_equal(member_line_parse(many, strlen(many) - 1, 1, NOW, &list), -22);
	assert_non_null(strstr(list.bad[0].why, "more than 64 prefixes"));
	assert_int_equal(list.work, 0);
	assert_int_equal(member_line_parse(half, strlen(half) - 1, 2, NOW, &list), 1);
	assert_int_equal(list.work, 62);
	for (size_t i = 0; i < MEMBER_WORK_MAX(4) / 62 + 10; i++)
		member_line_parse(half, strlen(half) - 1, 3, NOW, &list);
	assert_true(list.over);
	assert_true(list.work <= MEMBER_WORK_MAX(4) + 1);
	member_list_clear(&list);
}

static const struct wide_row {
	const char *text, *members;
	size_t wide;
} wides[] = {
	{"0.0.0.0/0\n::/0\n192.0.2.1\n", "192.0.2.1", 2},
	{"10.0.0.0/8\n10.0.0.0/7\n2001:2000::/19\n2000::/18\n", "10.0.0.0/8 / 2001:2000::/19", 2},
	/* All of a range, or nothing of it. */
	{"1.0.0.0-255.255.255.255\n10.0.0.0-11.255.255.255\n10.0.0.1-11.0.0.0\n9.0.0.0-9.0.0.1\n",
	 "10.0.0.1 / 10.0.0.2/31 / 10.0.0.4/30 / 10.0.0.8/29 / 10.0.0.16/28 / 10.0.0.32/27 / "
	 "10.0.0.64/26 / 10.0.0.128/25 / 10.0.1.0/24 / 10.0.2.0/23 / 10.0.4.0/22 / 10.0.8.0/21 / "
	 "10.0.16.0/20 / 10.0.32.0/19 / 10.0.64.0/18 / 10.0.128.0/17 / 10.1.0.0/16 / 10.2.0.0/15 / "
	 "10.4.0.0/14 / 10.8.0.0/13 / 10.16.0.0/12 / 10.32.0.0/11 / 10.64.0.0/10 / 10.128.0.0/9 / "
	 "11.0.0.0 / 9.0.0.0/31",
	 2},
	{"add x 0.0.0.0/1\nadd x 192.0.2.1\n", "192.0.2.1", 1},
	{"add element ip f x { 0.0.0.0/1, 192.0.2.1 }\n", "192.0.2.1", 1},
};

TEST(wide_is_left_out)
{
	for (size_t i = 0; i < ARRAY_SIZE(wides); i++) {
		struct member_list list = {.max = 100, .shortest = {8, 19}};
		const char *text = wides[i].text;
		char *members;

		assert_ptr_equal(member_file_parse(text, strlen(text), "x", NOW, &list), NULL);
		members = list_print(&list);
		assert_string_equal(members, wides[i].members);
		assert_int_equal(list.wide_count, wides[i].wide);
		assert_int_equal(list.bad_count, 0);
		free(members);
		member_list_clear(&list);
	}
}

/* The prefixes of a range are its addresses: each once, and none beside it. */
TEST(ranges_are_exact)
{
	for (unsigned int first = 0; first < 64; first += 3)
		for (unsigned int last = first; last < 256; last += 5) {
			struct member_list list = {0};
			char text[64];

			snprintf(text, sizeof(text), "192.0.2.%u-192.0.2.%u", first, last);
			assert_ptr_equal(member_file_parse(text, strlen(text), "x", NOW, &list),
					 NULL);
			for (unsigned int i = 0; i < 256; i++) {
				uint8_t addr[16] = {0, 0, 0,    0,    0,   0, 0, 0,
						    0, 0, 0xff, 0xff, 192, 0, 2, i};
				unsigned int found = 0;

				for (size_t m = 0; m < list.count; m++)
					found += prefix_contains(list.items[m].member.addr,
								 list.items[m].member.len, addr);
				assert_int_equal(found, i >= first && i <= last);
			}
			member_list_clear(&list);
		}
}
