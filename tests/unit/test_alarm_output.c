// SPDX-License-Identifier: GPL-2.0-only
/* Alarms as stats, status, top and monitor show them, from readings that were never in a kernel. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/message.h" /* before cmocka, which makes a macro of the name fail */
#include "base/units.h"
#include "cases.h"
#include "cli/output/output.h"
#include "cli/output/sample_output.h"
#include "cli/output/stats_output.h"
#include "cli/state/stats_since.h"
#include "cli/top/top.h"
#include "watch/events/alarms.h"
#include "watch/traffic/rule_book.h"

/* Read at 06:39:51 UTC, after 1000 s of the other clock. */
static const struct clock_pair at = {1795156791999999999ull, 1000 * NS_PER_SECOND};

#define SECOND NS_PER_SECOND
#define PHASES(on, off, period, seconds)                                            \
	{                                                                           \
		{.amount = (on), .period_ns = (period), .for_ns = 5 * SECOND},      \
		{                                                                   \
			.amount = (off), .period_ns = (period), .for_ns = (seconds) \
		}                                                                   \
	}

static const struct alarms_now alarms = {
	.count = 3,
	.alarm =
		{
			{.name = "bits",
			 .unit = RL_BITS,
			 .counted = 100,
			 .rate = 12345.6,
			 .phase = PHASES(10000000, 5000000, SECOND, 60 * SECOND)},
			{.name = "flood",
			 .on = true,
			 .since_ns = 757 * SECOND,
			 .changes = 3,
			 .counted = 4000,
			 .rate = 12345.4,
			 .unit = RL_PACKETS,
			 .phase = PHASES(10000, 5000, SECOND, 30 * SECOND)},
			{.name = "quiet",
			 .since_ns = 999 * SECOND,
			 .changes = 2,
			 .rate = 0.4,
			 .unit = RL_BYTES,
			 .phase = PHASES(1000, 1000, 60 * SECOND, 100 * NS_PER_MS)},
		},
};

static const struct alarms_now manual = {
	.count = 3,
	.alarm =
		{
			{.name = "endless",
			 .manual = true,
			 .on = true,
			 .since_ns = 995 * SECOND,
			 .changes = 3},
			{.name = "pulled",
			 .manual = true,
			 .on = true,
			 .since_ns = 995 * SECOND,
			 .ends_ns = 1025 * SECOND,
			 .changes = 1},
			{.name = "resting", .manual = true},
		},
};

/* They have no rate, but may have an end. */
TEST(manual_is_shown)
{
	static const char *const wanted[] = {
		"endless on since 2026-11-20T12:09:46+05:30 (5s), manual",
		"pulled on since 2026-11-20T12:09:46+05:30 (5s), manual, off in 25s",
		"resting off, manual",
	};
	char text[ALARM_LINE_MAX];
	struct json_object *object;

	for (uint32_t i = 0; i < manual.count; i++) {
		alarm_line_print(text, sizeof(text), &manual.alarm[i], &at);
		assert_string_equal(text, wanted[i]);
	}
	alarms_on_print(text, sizeof(text), &manual, &at);
	assert_string_equal(text, "alarms on: endless since 12:09:46 (5s), manual; pulled since "
				  "12:09:46 (5s), manual");
	object = json_alarms(&manual, &at);
	assert_string_equal(
		json_object_to_json_string_ext(object, JSON_C_TO_STRING_PLAIN),
		"[{\"alarm\":\"endless\",\"on\":true,\"since\":\"2026-11-20T06:39:46Z\","
		"\"changes\":3,\"manual\":true},"
		"{\"alarm\":\"pulled\",\"on\":true,\"since\":\"2026-11-20T06:39:46Z\","
		"\"changes\":1,\"manual\":true,\"until\":\"2026-11-20T06:40:16Z\"},"
		"{\"alarm\":\"resting\",\"on\":false,\"changes\":0,\"manual\":true}]");
	json_object_put(object);
}

static const struct line {
	const char *name, *text;
} lines[] = {
	{"in bits, off, never on", "bits off, 98,765 bits/s, on over 10mbit for 5s"},
	{"in packets, on", "flood on since 2026-11-20T12:05:48+05:30 (4m 3s), 12,345 packets/s, "
			   "off under 5000/second for 30s"},
	{"in bytes, off again", "quiet off since 2026-11-20T12:09:50+05:30 (1s), 0 bytes/s, "
				"on over 1kbyte/minute for 5s"},
};

ROWS(is_a_line, lines, row)
{
	char text[ALARM_LINE_MAX];

	alarm_line_print(text, sizeof(text), &alarms.alarm[row - lines], &at);
	assert_string_equal(text, row->text);
}

/* Names as long as they may be, in a line that is too short for all. */
TEST(those_that_are_on)
{
	struct alarms_now many = {.count = RL_ALARMS_MAX};
	char text[200];

	assert_true(alarms_on_print(text, sizeof(text), &alarms, &at));
	assert_string_equal(text, "alarms on: flood since 12:05:48 (4m 3s), 12,345 packets/s");
	for (int i = 0; i < RL_ALARMS_MAX; i++) {
		many.alarm[i] = alarms.alarm[1];
		memset(many.alarm[i].name, 'a' + i, RL_ALARM_NAME_MAX);
	}
	assert_true(alarms_on_print(text, sizeof(text), &many, &at));
	assert_in_range(strlen(text), 100, sizeof(text) - 1);
	many.count = 0;
	assert_false(alarms_on_print(text, sizeof(text), &many, &at));
}

/* ---- JSON and tables */

TEST(is_json)
{
	struct json_object *object = json_object_new_object();
	static const struct alarms_now none;

	json_put_alarms(object, &none, &at);
	assert_string_equal(json_object_to_json_string_ext(object, JSON_C_TO_STRING_PLAIN), "{}");
	json_put_alarms(object, &alarms, &at);
	assert_string_equal(
		json_object_to_json_string_ext(object, JSON_C_TO_STRING_PLAIN),
		"{\"alarms\":["
		"{\"alarm\":\"bits\",\"on\":false,\"changes\":0,\"counted\":{\"bytes\":100},"
		"\"rate\":{\"bytes\":12346},\"over\":\"10mbit for 5s\",\"under\":\"5mbit for 1m\"},"
		"{\"alarm\":\"flood\",\"on\":true,\"since\":\"2026-11-20T06:35:48Z\",\"changes\":3,"
		"\"counted\":{\"packets\":4000},\"rate\":{\"packets\":12345},"
		"\"over\":\"10000\\/second for 5s\",\"under\":\"5000\\/second for 30s\"},"
		"{\"alarm\":\"quiet\",\"on\":false,\"since\":\"2026-11-20T06:39:50Z\",\"changes\":2,"
		"\"counted\":{\"bytes\":0},\"rate\":{\"bytes\":0},"
		"\"over\":\"1kbyte\\/minute for 5s\",\"under\":\"1kbyte\\/minute for 100ms\"}]}");
	json_object_put(object);
}

/* Returns what `print` writes to stdout; the caller frees it. */
static char *printed(void (*print)(void))
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

static void table_of_all(void)
{
	alarms_print(&alarms, &at);
}

TEST(is_a_table)
{
	char *text = printed(table_of_all);

	assert_string_equal(text,
			    "state  since                              changes              rate  "
			    "on over               off under                alarm\n"
			    "off    -                                        0     98,765 bits/s  "
			    "10mbit for 5s         5mbit for 1m             bits\n"
			    "on     2026-11-20T12:05:48+05:30 (4m 3s)        3  12,345 packets/s  "
			    "10000/second for 5s   5000/second for 30s      flood\n"
			    "off    2026-11-20T12:09:50+05:30 (1s)           2         0 bytes/s  "
			    "1kbyte/minute for 5s  1kbyte/minute for 100ms  quiet\n");
	free(text);
}

/* The object of stats and status has the array; a policy without an alarm has none. */
TEST(stats_have_them)
{
	const struct instance instance = {.device = "eth0"};
	struct instance_stats stats = {.alarms = alarms, .alarms_at = at};
	struct json_object *object = json_stats(&instance, &stats), *array;

	assert_true(json_object_object_get_ex(object, "alarms", &array));
	assert_int_equal(json_object_array_length(array), 3);
	json_object_put(object);
	stats.alarms.count = 0;
	object = json_stats(&instance, &stats);
	assert_false(json_object_object_get_ex(object, "alarms", &array));
	json_object_put(object);
}

/* ---- stats --since */

#define BEFORE(alarm)                                                                \
	"[{\"device\":\"eth0\",\"hook\":\"xdp\",\"since\":\"1970-01-01T00:00:00Z\"," \
	"\"time\":\"2026-11-20T06:00:00Z\",\"alarms\":[" alarm "]}]"

static const struct since_row {
	const char *name, *document;
	uint64_t changes, counted;
} sinces[] = {
	{"since: it changed and counted",
	 BEFORE("{\"alarm\":\"flood\",\"changes\":1,\"counted\":{\"packets\":1000}}"), 2, 3000},
	{"since: another policy, which counts anew",
	 BEFORE("{\"alarm\":\"flood\",\"changes\":3,\"counted\":{\"packets\":9000}}"), 0, 4000},
	{"since: a new alarm", BEFORE("{\"alarm\":\"other\",\"changes\":3}"), 3, 4000},
	{"since: no alarm then", BEFORE(""), 3, 4000},
	{"since: nonsense", BEFORE("7, {\"alarm\": 3}"), 3, 4000},
};

ROWS(is_since, sinces, row)
{
	const struct instance instance = {.device = "eth0"};
	struct instance_stats stats = {.alarms = alarms, .read_ns = at.realtime_ns};
	struct since since = {"a file", json_tokener_parse(row->document)};
	uint64_t elapsed_ns;

	assert_non_null(since.document);
	assert_int_equal(since_subtract(&since, &instance, &stats, &elapsed_ns), 0);
	assert_int_equal(stats.alarms.alarm[1].changes, row->changes);
	assert_int_equal(stats.alarms.alarm[1].counted, row->counted);
	assert_true(stats.alarms.alarm[1].on);
	since_clear(&since);
}

/* ---- monitor */

static char told[200];

static void on_change(const struct alarm_now *alarm, void *arg)
{
	size_t used = strlen(told);

	(void)arg;
	snprintf(told + used, sizeof(told) - used, "%s%s ", alarm->name, alarm->on ? "+" : "-");
}

static void look(struct alarm_changes *changes, const struct alarms_now *now, const char *wanted)
{
	*told = '\0';
	alarm_changes_tell(changes, now, on_change, NULL);
	assert_string_equal(told, wanted);
}

TEST(changes_are_told_once)
{
	struct alarm_changes changes = {0};
	struct alarms_now now = alarms;

	look(&changes, &now, "");
	look(&changes, &now, "");
	now.alarm[0].on = true;
	now.alarm[0].changes = 1;
	now.alarm[1].on = false;
	now.alarm[1].changes++;
	look(&changes, &now, "bits+ flood- ");
	look(&changes, &now, "");
	now.alarm[2].changes += 2; /* on and off again */
	look(&changes, &now, "quiet- ");
	now.count = 1; /* another policy: without these, then with them anew */
	look(&changes, &now, "");
	now = alarms;
	now.alarm[1].changes = 1;
	now.alarm[2].changes = 0;
	look(&changes, &now, "bits- flood+ "); /* bits was defined anew */
	now.count = 1;
	assert_false(alarms_same_places(&changes.before, &now));
	look(&changes, &now, "flood- ");
	look(&changes, &now, "");
	assert_true(alarms_same_places(&changes.before, &now));
	snprintf(now.alarm[0].name, sizeof(now.alarm[0].name), "other");
	assert_false(alarms_same_places(&changes.before, &now));
}

static const struct instance monitored = {.device = "eth0"};
static const struct rule_book book = {.instance = &monitored};

static void monitor_line(void)
{
	alarm_change_print(&alarms.alarm[1], 1795156548000000007ull, &book);
	alarm_change_print(&alarms.alarm[0], 1795156548000000007ull, &book);
}

TEST(a_change_is_a_line)
{
	char *text;

	text = printed(monitor_line);
	assert_string_equal(text, "12:05:48.000000 alarm-on flood, 12,345 packets/s\n"
				  "12:05:48.000000 alarm-off bits, 98,765 bits/s\n");
	free(text);
	output_json = true;
	text = printed(monitor_line);
	output_json = false;
	assert_string_equal(text,
			    "{\"time\":\"2026-11-20T06:35:48.000000007Z\",\"event\":\"alarm-on\","
			    "\"device\":\"eth0\",\"hook\":\"xdp\",\"alarm\":\"flood\","
			    "\"rate\":{\"packets\":12345}}\n"
			    "{\"time\":\"2026-11-20T06:35:48.000000007Z\",\"event\":\"alarm-off\","
			    "\"device\":\"eth0\",\"hook\":\"xdp\",\"alarm\":\"bits\","
			    "\"rate\":{\"bytes\":12346}}\n");
	free(text);
}

/* ---- top */

static struct top top;

static void top_text(void)
{
	snapshot_print(&top, false);
}

TEST(top_shows_those_that_are_on)
{
	struct json_object *object, *array;
	char *text;

	top = (struct top){
		.instance = (struct instance *)&monitored, .alarms = alarms, .alarms_at = at};
	text = printed(top_text);
	assert_non_null(strstr(text, "\nalarms on: flood since 12:05:48 (4m 3s), 12,345 "
				     "packets/s\n"));
	free(text);
	object = snapshot_json(&top);
	assert_true(json_object_object_get_ex(object, "alarms", &array));
	assert_int_equal(json_object_array_length(array), 3);
	json_object_put(object);
	top.alarms.count = 0;
	text = printed(top_text);
	assert_null(strstr(text, "alarm"));
	free(text);
	object = snapshot_json(&top);
	assert_false(json_object_object_get_ex(object, "alarms", &array));
	json_object_put(object);
}

AT_START(begin)
{
	setenv("TZ", "XST-5:30", 1);
	output_begin();
}
