// SPDX-License-Identifier: GPL-2.0-only
/* Numbers as text, escaping, the caret under a refused word, aligned tables: one test per row. */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/message.h" /* before cmocka, which makes a macro of the name fail */
#include "base/text.h"
#include "base/units.h"
#include "cases.h"
#include "cli/output/line.h"
#include "cli/output/output.h"
#include "cli/output/state_output.h"
#include "kernel/state/source.h"
#include "policy/policy.h"

#define TEN          "0123456789"
#define FIFTY        TEN TEN TEN TEN TEN
#define BLANKS_75    "                         " FIFTY_BLANKS
#define FIFTY_BLANKS "                                                  "

static const struct number_row {
	const char *name;
	void (*print)(char buf[NUMBER_TEXT_MAX], uint64_t n);
	uint64_t n;
	const char *text;
} numbers[] = {
	{"number: zero", number_print, 0, "0"},
	{"number: three digits", number_print, 999, "999"},
	{"number: four digits", number_print, 1000, "1,000"},
	{"number: six digits", number_print, 123456, "123,456"},
	{"number: seven digits", number_print, 1234567, "1,234,567"},
	{"number: largest", number_print, UINT64_MAX, "18,446,744,073,709,551,615"},
	{"size: zero", size_print, 0, "0 B"},
	{"size: below a KiB", size_print, 1023, "1023 B"},
	{"size: a KiB", size_print, 1024, "1.0 KiB"},
	{"size: tenths are cut", size_print, 1024 + 1023, "1.9 KiB"},
	{"size: below a MiB", size_print, 1024 * 1024 - 1, "1023.9 KiB"},
	{"size: a MiB and a half", size_print, 3 << 19, "1.5 MiB"},
	{"size: a GiB", size_print, 1 << 30, "1.0 GiB"},
	{"wait: none", wait_print, 0, "0ns"},
	{"wait: rounded up to a millisecond", wait_print, 1500 * NS_PER_MS + 1, "1501ms"},
	{"wait: rounded up to a second", wait_print, 59 * NS_PER_SECOND + 1, "1m"},
	{"wait: seconds", wait_print, 59 * NS_PER_SECOND, "59s"},
	{"wait: minutes and seconds", wait_print, 599 * NS_PER_SECOND, "9m 59s"},
	{"wait: hours, and no minute", wait_print, 3659 * NS_PER_SECOND, "1h"},
	{"wait: days and hours", wait_print, 90000 * NS_PER_SECOND, "1d 1h"},
	{"wait: longest", wait_print, UINT64_MAX, "213503d 23h"},
	{"size: largest", size_print, UINT64_MAX, "16777215.9 TiB"},
};

ROWS(number_test, numbers, row)
{
	char text[NUMBER_TEXT_MAX];

	row->print(text, row->n);
	assert_string_equal(text, row->text);
}

static const struct escape_row {
	const char *name, *text, *escaped;
} escapes[] = {
	{"escape: nothing", "", ""},
	{"escape: plain", "eth0 ~", "eth0 ~"},
	{"escape: a terminal's sequence", "a\x1b[31mb", "a\\x1b[31mb"},
	{"escape: line feed and delete", "\n\x7f", "\\x0a\\x7f"},
	{"escape: a C1 control in UTF-8", "\xc2\x9b", "\\xc2\\x9b"},
	{"escape: a C1 control as a byte",
	 "\x9b"
	 "2J",
	 "\\x9b2J"},
	{"escape: carriage return", "a\rb", "a\\x0db"},
	{"escape: right to left", "\xe2\x80\xae", "\\xe2\\x80\\xae"},
	{"escape: no UTF-8", "\xc3(\xff", "\\xc3(\\xff"},
};

ROWS(escape_test, escapes, row)
{
	char *text = text_shown(row->text);

	assert_string_equal(text, row->escaped);
	free(text);
}

/* Strings of JSON: ASCII, and their value to a reader. */
static const struct json_row {
	const char *name, *text, *json;
} jsons[] = {
	{"JSON: plain", "eth0 ~/\"\\", "\"eth0 ~/\\\"\\\\\""},
	{"JSON: below a blank", "\x1b[2J\r\n", "\"\\u001b[2J\\r\\n\""},
	{"JSON: delete", "\x7f", "\"\\u007f\""},
	{"JSON: a C1 control in UTF-8", "\xc2\x9b", "\"\\u009b\""},
	{"JSON: a C1 control as a byte",
	 "\x9b"
	 "2J",
	 "\"\\\\x9b2J\""},
	{"JSON: a letter", "\xc3\xa9t\xc3\xa9", "\"\\u00e9t\\u00e9\""},
	{"JSON: right to left",
	 "a\xe2\x80\xae"
	 "b",
	 "\"a\\u202eb\""},
	{"JSON: beyond 16 bits", "\xf0\x9f\x90\x8c", "\"\\ud83d\\udc0c\""},
	{"JSON: the last character", "\xf4\x8f\xbf\xbf", "\"\\udbff\\udfff\""},
	{"JSON: beyond the last", "\xf4\x90\x80\x80", "\"\\\\xf4\\\\x90\\\\x80\\\\x80\""},
	{"JSON: five bytes", "\xf9\x90\x80\x80\x80", "\"\\\\xf9\\\\x90\\\\x80\\\\x80\\\\x80\""},
	{"JSON: half of a pair", "\xed\xa0\x80", "\"\\\\xed\\\\xa0\\\\x80\""},
	{"JSON: longer than need be", "\xc0\x9b\xe0\x82\x9b",
	 "\"\\\\xc0\\\\x9b\\\\xe0\\\\x82\\\\x9b\""},
	{"JSON: cut off", "\xe2\x80", "\"\\\\xe2\\\\x80\""},
	{"JSON: no UTF-8", "\xff(\xc3(", "\"\\\\xff(\\\\xc3(\""},
};

static const struct caret_row {
	const char *name, *place, *line;
	uint32_t column;
	const char *text;
} carets[] = {
	{"caret: first column", NULL, "fo", 1, "rlctl: column 1: wrong\n  fo\n  ^\n"},
	{"caret: one past the end", NULL, "fo", 3, "rlctl: column 3: wrong\n  fo\n    ^\n"},
	{"caret: far past the end", NULL, "fo", 99, "rlctl: column 99: wrong\n  fo\n    ^\n"},
	{"caret: empty line", NULL, "", 1, "rlctl: column 1: wrong\n  \n  ^\n"},
	{"caret: place", "a:7", "x yz", 3, "rlctl: a:7:3: wrong\n  x yz\n    ^\n"},
	{"caret: place with controls", "\x1b:7", "x", 1, "rlctl: \\x1b:7:1: wrong\n  x\n  ^\n"},
	{"caret: a tab is one column", "a:1", "x\tyz", 3, "rlctl: a:1:3: wrong\n  x yz\n    ^\n"},
	{"caret: escapes before it", "a:1", "\x1b yz", 3,
	 "rlctl: a:1:3: wrong\n  \\x1b yz\n       ^\n"},
	{"caret: C1, carriage return, right to left", "a:1", "\x9b\r\xe2\x80\xae!", 6,
	 "rlctl: a:1:6: wrong\n  \\x9b\\x0d\\xe2\\x80\\xae!\n                      ^\n"},
	{"caret: cut at the end", "a:1", "x" FIFTY, 1,
	 "rlctl: a:1:1: wrong\n  x" TEN TEN "012345678...\n  ^\n"},
	{"caret: cut at the front", "a:1", FIFTY FIFTY "x", 101,
	 "rlctl: a:1:101: wrong\n  ..." FIFTY TEN TEN "x\n" BLANKS_75 "^\n"},
};

ROWS(caret_test, carets, row)
{
	struct policy_error err = {.column = row->column, .text = "wrong"};
	FILE *terminal = stderr;
	char *text = NULL;
	size_t size;

	stderr = open_memstream(&text, &size);
	assert_non_null(stderr);
	assert_int_equal(fail_at(row->place, row->line, strlen(row->line), &err), -1);
	fclose(stderr);
	stderr = terminal;
	assert_string_equal(text, row->text);
	free(text);
}

/* Returns the stdout of `print`; to be freed. */
static char *output_of(void (*print)(void))
{
	FILE *terminal = stdout;
	char *text = NULL;
	size_t size;

	stdout = open_memstream(&text, &size);
	assert_non_null(stdout);
	print();
	fclose(stdout);
	stdout = terminal;
	return text;
}

static const char *json_text;

static void print_json(void)
{
	json_print(json_object_new_string(json_text));
}

ROWS(json_test, jsons, row)
{
	char *text;

	json_text = row->text;
	text = output_of(print_json);
	assert_int_equal(text[strlen(text) - 1], '\n');
	text[strlen(text) - 1] = '\0';
	assert_string_equal(text, row->json);
	free(text);
}

static void library_says(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	message_send(MESSAGE_LIBRARY, format, args);
	va_end(args);
}

/* Messages of libraries go to stderr, line by line. */
NAMED_TEST("talk: what libraries say", talk_test)
{
	FILE *terminal = stderr;
	char *text = NULL;
	size_t size;

	stderr = open_memstream(&text, &size);
	assert_non_null(stderr);
	output_verbose = 1;

	library_says("libbpf: '%s'\n\tfound\n", "\x1b]0;\r\x9b");
	fclose(stderr);
	stderr = terminal;
	assert_string_equal(text, "libbpf: '\\x1b]0;\\x0d\\x9b'\n\tfound\n");
	free(text);
}

static void two_records(void)
{
	struct report report = {0};
	struct json_object *array;

	report_begin(&report, NULL);
	report_text(&report, "name", "name", "a\x1b");
	report_none(&report, "count");
	report_id(&report, "id", NULL, 1234);
	report_text(&report, NULL, "last", "as long as it likes");
	report_begin(&report, NULL);
	report_text(&report, "name", "name", "abcdef");
	report_number(&report, "count", "count", 12345678);
	report_text(&report, NULL, "last", "short");
	array = report_end(&report);
	if (output_json)
		json_print(array);
}

NAMED_TEST("report: text", report_text_test)
{
	char *text = output_of(two_records);

	assert_string_equal(text, "name         count  last\n"
				  "a\\x1b            -  as long as it likes\n"
				  "abcdef  12,345,678  short\n");
	free(text);
}

NAMED_TEST("report: JSON of the same", report_json_test)
{
	char *text;

	output_json = true;
	text = output_of(two_records);
	output_json = false;
	assert_string_equal(text, "[{\"name\":\"a\\u001b\",\"id\":1234},"
				  "{\"name\":\"abcdef\",\"count\":12345678}]\n");
	free(text);
}

static void no_records(void)
{
	struct report report = {0};

	json_object_put(report_end(&report));
}

NAMED_TEST("report: no records", report_empty_test)
{
	char *text = output_of(no_records);

	assert_string_equal(text, "");
	free(text);
}

NAMED_TEST("json_amount: 64 bits are exact", json_amount_test)
{
	const struct rl_amount amount = {.packets = UINT64_MAX, .bytes = 1};
	struct json_object *object = json_amount(&amount);

	assert_string_equal(json_object_to_json_string_ext(object, JSON_C_TO_STRING_PLAIN),
			    "{\"packets\":18446744073709551615,\"bytes\":1}");
	json_object_put(object);
}

/* A time comes back as it was printed; other texts are refused. */
NAMED_TEST("time: parsed as printed", time_parse_test)
{
	static const char *const refused[] = {"",
					      "yesterday",
					      "2026-11-20",
					      "2026-11-20T06:06:11",
					      "2026-11-20T06:06:11.Zx",
					      "1969-12-31T00:00:00Z"};
	char text[NUMBER_TEXT_MAX];
	uint64_t ns;

	time_ns_print(text, 1795156791012345678ull);
	assert_int_equal(time_parse(text, &ns), 0);
	assert_int_equal(ns, 1795156791012345678ull);
	time_print(text, ns, false);
	assert_int_equal(time_parse(text, &ns), 0);
	assert_int_equal(ns, 1795156791000000000ull);
	for (size_t i = 0; i < ARRAY_SIZE(refused); i++)
		assert_int_equal(time_parse(refused[i], &ns), -EINVAL);
}

NAMED_TEST("time: UTC and local", time_test)
{
	char text[NUMBER_TEXT_MAX];

	setenv("TZ", "XST-5:30", 1);
	tzset();
	time_print(text, 1795156791999999999ull, false);
	assert_string_equal(text, "2026-11-20T06:39:51Z");
	time_print(text, 1795156791999999999ull, true);
	assert_string_equal(text, "2026-11-20T12:09:51+05:30");
}

/* ---- keys of states */

static const struct key_row {
	const char *name, *key, *text;
} keys[] = {
	{"key: source", "source", "2001:db8::/64"},
	{"key: dest", "dest/32,128", "2001:db8:9::2"},
	{"key: source+dport", "source+dport", "2001:db8::/64 to port 53"},
	{"key: source+dest", "source+dest", "2001:db8::1 to 2001:db8:9::2"},
	{"key: flow", "flow", "protocol 17, 2001:db8::1 port 9 to 2001:db8:9::2 port 53"},
	{"key: rule", "rule", "all"},
	{"key: dest+dport", "dest+dport", "to 2001:db8:9::/64 port 53"},
	{"key: dport", "dport", "to port 53"},
	{"key: sport", "sport", "from port 9"},
	{"key: both ports", "sport+dport", "from port 9 to port 53"},
	{"key: a port to an address", "dest+sport", "from port 9 to 2001:db8:9::/64"},
	{"key: a network's port", "source/24,48+sport", "2001:db8::/48 port 9"},
	{"key: proto", "proto", "protocol 17"},
	{"key: dest+proto", "dest+proto", "protocol 17, to 2001:db8:9::/64"},
	{"key: vlan", "vlan", "VLAN 7"},
	{"key: source+vlan", "source+vlan", "VLAN 7, 2001:db8::/64"},
	{"key: numbers", "sport+proto+vlan", "VLAN 7, protocol 17, from port 9"},
	{"key: networks and a port", "source/24,48+dest/24,32+dport",
	 "2001:db8::/48 to 2001:db8::/32 port 53"},
};

ROWS(key_test, keys, row)
{
	static const struct policy_context ctx = {.mtu = 1500};
	static const uint8_t source[16] = {0x20, 1, 0xd, 0xb8, [15] = 1};
	static const uint8_t dest[16] = {0x20, 1, 0xd, 0xb8, 0, 9, [15] = 2};
	struct rl_sample packet = {.sport = 9, .dport = 53, .proto = 17, .vlan = 7};
	char line[128], text[KEY_TEXT_MAX];
	struct policy_error err;
	struct rl_state_key key;
	struct rule rule;
	bool found;

	snprintf(line, sizeof(line), "rule any limit 9/s per %s", row->key);
	assert_int_equal(statement_parse(line, &ctx, &rule, &found, &err), 0);
	memcpy(packet.src, source, sizeof(source));
	memcpy(packet.dst, dest, sizeof(dest));
	key = packet_key(&rule, &packet, NULL);
	key_print(text, &key, &rule);
	assert_string_equal(text, row->text);
}

/* ---- lines where there is little room */

#define RULE_WORDS "any udp dport 27015-27030 limit 600/second burst 1200"

static const struct fit_row {
	const char *name;
	size_t width;
	const char *text;
} fits[] = {
	{"line: all", 99, "12:00:00.123 over 192.0.2.1, one of 653, rule " RULE_WORDS},
	{"line: the rule is shortened first", 80,
	 "12:00:00.123 over 192.0.2.1, one of 653, rule any udp dport 27015..nd burst 1200"},
	{"line: then the first rank goes", 72,
	 "12:00:00 over 192.0.2.1, one of 653, rule any udp dport 270.. burst 1200"},
	{"line: the rule goes", 55, "12:00:00 over 192.0.2.1, one of 653"},
	{"line: no blank comes first", 30, "over 192.0.2.1, one of 653"},
	{"line: what stays is cut", 20, "over 192.0.2..of 653"},
};

ROWS(fit_test, fits, row)
{
	struct screen_line line = {0};

	line_add(&line, 5, "12:00:00");
	line_add(&line, 1, ".123");
	line_add(&line, LINE_STAYS, " over");
	line_add(&line, LINE_STAYS, " 192.0.2.1");
	line_add(&line, LINE_STAYS, ", one of 653");
	line_add(&line, 4, ", rule %s", RULE_WORDS);
	line_fit(&line, row->width, "..");
	assert_string_equal(line.text, row->text);
	assert_true(strlen(line.text) <= row->width);
}

AT_START(begin)
{
	output_begin();
}
