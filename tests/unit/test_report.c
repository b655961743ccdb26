// SPDX-License-Identifier: GPL-2.0-only
/* Counts that simulate --report collects, and the page: bins that widen, heavy sources in bounded
 * memory, times of alarms, text that would be more than text, and a page with an alarm.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/units.h"
#include "cases.h"
#include "cli/output/output.h"
#include "cli/report/page.h"
#include "cli/report/record.h"
#include "kernel/instance/instance.h"
#include "watch/traffic/heavy.h"
#include "watch/traffic/timeline.h"

#define START (1780000000 * NS_PER_SECOND)

/* ---- in the kernel's place */

static struct rule_counters kernel_counters[2];
static struct alarms_now kernel_alarms;
static struct instance kernel_instance;

const struct instance *simulation_instance(const struct simulation *s)
{
	(void)s;
	return &kernel_instance;
}

int simulation_counters_read(const struct simulation *s, struct rule_counters *out)
{
	(void)s;
	memcpy(out, kernel_counters, sizeof(kernel_counters));
	return 0;
}

int simulation_shares_read(const struct simulation *s, struct share_counts **out)
{
	(void)s;
	*out = NULL;
	return 0;
}

int simulation_alarms_read(const struct simulation *s, uint64_t now_ns, struct alarms_now *out)
{
	(void)s, (void)now_ns;
	*out = kernel_alarms;
	return 0;
}

int simulation_stats_read(const struct simulation *s, struct instance_stats *out)
{
	(void)s;
	memset(out, 0, sizeof(*out));
	return 0;
}

/* ---- timeline */

static struct timeline timeline;

static uint64_t series_sum(const struct series *series)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < TIMELINE_BINS; i++)
		sum += series->at[i].packets;
	return sum;
}

static void count_at(struct series *series, uint64_t time_ns)
{
	size_t bin = timeline_bin(&timeline, time_ns);

	assert_in_range(bin, 0, TIMELINE_BINS - 1);
	assert_true(timeline_begin_ns(&timeline, bin) <= time_ns &&
		    time_ns < timeline_begin_ns(&timeline, bin + 1));
	series->at[bin].packets++;
}

TEST(bins_widen)
{
	static const struct {
		uint64_t span_ns, width_ns;
	} rows[] = {
		{1, NS_PER_MS},
		{200 * NS_PER_MS, NS_PER_MS},
		{2 * NS_PER_SECOND, 10 * NS_PER_MS},
		{NS_PER_MINUTE, 1000 * NS_PER_MS},
		{2 * NS_PER_MINUTE, NS_PER_SECOND},
		{5 * NS_PER_MINUTE, 2 * NS_PER_SECOND},
		{NS_PER_HOUR, 30 * NS_PER_SECOND},
		{NS_PER_DAY, 10 * NS_PER_MINUTE},
		{365 * NS_PER_DAY, 2 * NS_PER_DAY},
	};

	for (size_t row = 0; row < ARRAY_SIZE(rows); row++) {
		struct series *series = timeline_series(&timeline);

		for (uint64_t i = 0; i <= 1000; i++)
			count_at(series, START + rows[row].span_ns / 1000 * i +
						 (i == 1000 ? rows[row].span_ns % 1000 : 0));
		assert_int_equal(series_sum(series), 1001);
		assert_int_equal(timeline_width_ns(&timeline), rows[row].width_ns);
		assert_true(rows[row].span_ns < 48 * NS_PER_MS || timeline.count >= 48);
		timeline_clear(&timeline);
	}
}

/* Each packet stays in the bin of its time, whatever the order and the gaps. */
TEST(bins_keep_their_packets)
{
	static const uint64_t steps[] = {NS_PER_MS,   77 * NS_PER_MS, 3 * NS_PER_SECOND,
					 NS_PER_HOUR, 9 * NS_PER_DAY, 4000 * NS_PER_DAY};
	struct series *series = timeline_series(&timeline);
	uint64_t times[60], wanted[TIMELINE_BINS] = {0};
	size_t count = 0;

	for (size_t i = 0; i < ARRAY_SIZE(steps); i++)
		for (uint64_t n = 0; n < 10; n++)
			times[count++] = START + n * steps[i] / 5 - steps[i];
	for (size_t i = 0; i < count; i++)
		count_at(series, times[i]);
	for (size_t i = 0; i < count; i++)
		wanted[times[i] / timeline_width_ns(&timeline) - timeline.first]++;
	for (size_t i = 0; i < TIMELINE_BINS; i++)
		assert_int_equal(series->at[i].packets, wanted[i]);
	timeline_clear(&timeline);
}

TEST(bins_of_all_times)
{
	struct series *series = timeline_series(&timeline);

	count_at(series, 0);
	count_at(series, UINT64_MAX - NS_PER_DAY * 1000);
	assert_int_equal(series_sum(series), 2);
	timeline_clear(&timeline);
}

/* ---- heavy sources */

static struct heavy heavy;

static void source_send(uint32_t number, bool ipv6, uint64_t packets, unsigned int kind)
{
	uint8_t addr[16] = {[10] = 0xff, [11] = 0xff};

	if (ipv6)
		memcpy(addr, (uint8_t[12]){0x20, 1, 0xd, 0xb8}, 12);
	memcpy(addr + (ipv6 ? 4 : 12), (uint8_t[]){number >> 24, number >> 16, number >> 8, number},
	       4);
	for (uint64_t i = 0; i < packets; i++)
		assert_int_equal(heavy_add(&heavy, addr, kind, 100, START + i), 0);
}

TEST(heavy_exact)
{
	const struct heavy_source *top[4];
	char text[PREFIX_TEXT_MAX];

	for (uint32_t i = 1; i <= 100; i++)
		source_send(i, i % 2, i, i % 3 == 0);
	assert_int_equal(heavy_top(&heavy, HEAVY_ALL, UINT64_MAX, top, 4), 4);
	assert_int_equal(heavy_amount(top[0], HEAVY_ALL).packets, 100);
	assert_int_equal(heavy_amount(top[3], HEAVY_ALL).packets, 97);
	heavy_print(text, sizeof(text), top[1]);
	assert_string_equal(text, "2001:db8:0:63::/64");
	heavy_print(text, sizeof(text), top[0]);
	assert_string_equal(text, "0.0.0.100");
	assert_int_equal(heavy_top(&heavy, 1U << 1, UINT64_MAX, top, 2), 2);
	assert_int_equal(top[0]->amount[1].packets, 99);
	assert_int_equal(top[1]->amount[1].packets, 96);
	assert_int_equal(top[0]->amount[1].bytes, 9900);
	assert_int_equal(heavy.missed, 0);
	heavy_clear(&heavy);
}

/* Two of four sources have one packet of kind 1, one of them others besides. */
TEST(heavy_folded)
{
	struct heavy_source sum;

	source_send(1, false, 1, 1);
	source_send(2, false, 5, 0);
	source_send(2, false, 1, 1);
	source_send(3, false, 2, 1);
	source_send(4, false, 1, 0);
	assert_int_equal(heavy_singles(&heavy, 1U << 1, UINT64_MAX, &sum), 2);
	assert_int_equal(heavy_amount(&sum, 1U << 1).packets, 2);
	assert_int_equal(heavy_amount(&sum, HEAVY_ALL).bytes, 700);
	assert_int_equal(sum.first_ns, START);
	assert_int_equal(sum.last_ns, START + 4);
	assert_int_equal(heavy_singles(&heavy, HEAVY_ALL, UINT64_MAX, &sum), 2);
	assert_int_equal(heavy_singles(&heavy, HEAVY_ALL, START, &sum), 0);
	heavy_clear(&heavy);
}

/* Among ten times as many sources as there is room for, of one packet each, those of many are
 * found, and what is not known of them is no more than what is said. */
TEST(heavy_bounded)
{
	const struct heavy_source *top[10];
	uint64_t all = 0;

	for (uint32_t i = 0; i < 10 * HEAVY_MAX; i++) {
		source_send(0x0b000000 + i, false, 1, 0);
		all++;
		if (i % 40 == 39) {
			source_send(1 + i / 40 % 10, false, 1, 1);
			all++;
		}
		assert_true(HASH_COUNT(heavy.list) <= HEAVY_MAX);
	}
	assert_true(heavy.missed > 0 && heavy.missed <= all / (HEAVY_MAX / 2));
	assert_int_equal(heavy_top(&heavy, HEAVY_ALL, UINT64_MAX, top, 10), 10);
	for (int i = 0; i < 10; i++) {
		uint64_t sent = 10 * HEAVY_MAX / 40 / 10;

		assert_in_range(top[i]->addr[15], 1, 10);
		assert_in_range(heavy_amount(top[i], HEAVY_ALL).packets, sent - top[i]->missed,
				sent + 1);
	}
	heavy_clear(&heavy);
}

/* ---- text */

static char *file_read(const char *path)
{
	FILE *file = fopen(path, "r");
	char *text = calloc(1, 1 << 20);

	assert_non_null(file);
	assert_true(fread(text, 1, (1 << 20) - 1, file) > 0);
	fclose(file);
	return text;
}

/* The text of the page with the document, which it takes. */
static char *page_text(enum page_kind kind, struct json_object *document)
{
	char path[] = "/tmp/rlctl-report-XXXXXX", *text;

	close(mkstemp(path));
	assert_int_equal(page_save(kind, document, path), 0);
	text = file_read(path);
	unlink(path);
	return text;
}

/* In a script element of HTML, whatever a string contains. */
TEST(text_stays_text)
{
	static const struct {
		const char *text, *json;
	} rows[] = {
		{"plain", "plain"},
		{"<script>alert('1')</script>", "\\u003cscript>alert('1')\\u003c/script>"},
		{"a\" onload=\"b & c", "a\\\" onload=\\\"b & c"},
		{"Müller ▲", "M\\u00fcller \\u25b2"},
		{"\xff\xc0\x80 tail\xe2\x80", "\\\\xff\\\\xc0\\\\x80 tail\\\\xe2\\\\x80"},
		{"\xe2\x80\xae evil \xe2\x81\xa6", "\\u202e evil \\u2066"},
		{"line\nbreak\x1b[31m\x7f", "line\\nbreak\\u001b[31m\\u007f"},
		{"]]>--><!--", "]]>-->\\u003c!--"},
		{"", ""},
	};

	for (size_t i = 0; i < 2 * ARRAY_SIZE(rows); i++) {
		struct json_object *document = json_object_new_object();
		enum page_kind kind = i % 2 ? PAGE_INCIDENTS : PAGE_SIMULATION;
		char wanted[256], *text;

		json_put(document, "text", json_object_new_string(rows[i / 2].text));
		text = page_text(kind, document);
		snprintf(wanted, sizeof(wanted),
			 "<code>rlctl %s</code>.</p></noscript>\n"
			 "<script type=\"application/json\" id=\"data\">{\"text\":\"%s\"}"
			 "</script>\n</body>\n</html>\n",
			 kind == PAGE_INCIDENTS ? "report" : "simulate -j", rows[i / 2].json);
		assert_non_null(strstr(text, wanted));
		free(text);
	}
}

/* ---- alarms */

static void alarm_is(uint64_t changes, bool on, uint64_t since_ns)
{
	kernel_alarms.count = 1;
	kernel_alarms.alarm[0] = (struct alarm_now){
		.name = "flood", .on = on, .since_ns = since_ns, .changes = changes};
}

/* Readings, each "TIME CHANGES on|off SINCE" in seconds, and the spans "FROM-TO" that come of them.
 */
TEST(alarm_spans)
{
	static const struct {
		const char *readings, *spans;
		uint64_t lost;
	} rows[] = {
		{"1 0 off 0; 2 0 off 0", "", 0},
		{"1 0 off 0; 5 1 on 3; 6 1 on 3; 9 2 off 8", "3-8", 0},
		{"5 1 on 3; 9 3 on 7", "3-5,7-", 1},
		{"2 0 off 0; 9 2 off 7", "2-7", 1},
		{"2 0 off 0; 9 5 on 7", "7-", 4},
		{"3 1 on 2; 5 2 off 4; 7 3 on 6", "2-4,6-", 0},
		{"3 1 on 2; 5 0 off 0; 9 1 on 8", "2-3,8-", 0}, /* started over */
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct alarm_record *record = calloc(1, sizeof(*record));
		char readings[128], found[128] = "", *rest = readings, *reading;

		snprintf(readings, sizeof(readings), "%s", rows[i].readings);
		while ((reading = strsep(&rest, ";"))) {
			unsigned int time, changes, since;
			char on[8];

			assert_int_equal(
				sscanf(reading, " %u %u %7s %u", &time, &changes, on, &since), 4);
			alarm_is(changes, !strcmp(on, "on"), since * NS_PER_SECOND);
			record_alarms(record, &kernel_alarms, time * NS_PER_SECOND);
		}
		for (size_t n = 0; n < record->span_count; n++) {
			const struct alarm_span *span = &record->spans[n];
			size_t used = strlen(found);

			snprintf(found + used, sizeof(found) - used, "%s%u-", n ? "," : "",
				 (unsigned int)(span->from_ns / NS_PER_SECOND));
			used = strlen(found);
			if (!span->open)
				snprintf(found + used, sizeof(found) - used, "%u",
					 (unsigned int)(span->to_ns / NS_PER_SECOND));
		}
		assert_string_equal(found, rows[i].spans);
		assert_int_equal(record->lost, rows[i].lost);
		free(record);
	}
}

/* ---- a page */

/* A minute, of which the second half is dropped by the first rule, with the alarm on from second 31
 * to 50. */
static void packet_run(struct record *record, uint32_t second)
{
	static const uint8_t frame[64];
	const struct captured packet = {.time_ns = START + second * NS_PER_SECOND,
					.data = frame,
					.size = sizeof(frame),
					.bytes = 100};
	struct record_verdict verdicts[RECORD_SIDES] = {
		{second < 30 ? RL_REASON_WITHIN : RL_REASON_OVER, 0}};
	struct rl_amount *amount =
		second < 30 ? &kernel_counters[0].passed : &kernel_counters[0].dropped;

	if (second == 31)
		alarm_is(1, true, packet.time_ns);
	if (second == 50)
		alarm_is(2, false, packet.time_ns);
	assert_int_equal(record_turn(record, packet.time_ns), 0);
	amount->packets++;
	amount->bytes += 100;
	record_packet(record, &packet, verdicts);
}

TEST(page_with_alarm)
{
	struct rule rule = {
		.action = RL_ACTION_DENY, .kind = PREFIX_ANY, .comment = "why <b>not</b>"};
	struct policy_alarm alarm = {.name = "flood"};
	const struct policy policy = {
		.rules = &rule, .count = 1, .alarms = &alarm, .alarm_count = 1};
	struct record *record = calloc(1, sizeof(*record));
	const struct page page = {.record = record, .capture = "a&b.pcap"};
	struct json_object *document = json_object_new_object();
	char *text;

	memset(kernel_counters, 0, sizeof(kernel_counters));
	alarm_is(0, false, 0);
	record_side_add(record, "p", &policy, NULL);
	for (uint32_t second = 0; second <= 60; second++)
		packet_run(record, second);
	assert_int_equal(record_end(record), 0);
	json_put(document, "report", page_json(&page));
	text = page_text(PAGE_SIMULATION, document);
	assert_non_null(strstr(text, "\"capture\":\"a&b.pcap\""));
	assert_non_null(strstr(text, "\"comment\":\"why \\u003cb>not\\u003c/b>\""));
	assert_null(strstr(text, "<b>not"));
	assert_non_null(strstr(
		text,
		"\"bins\":{\"first_us\":1780000000000000,\"width_us\":1000000,\"count\":61}"));
	assert_non_null(strstr(text, "\"dropped\":{\"packets\":31,\"bytes\":3100}"));
	assert_non_null(strstr(text, "\"spans\":[{\"alarm\":\"flood\",\"from_us\":1780000031000000,"
				     "\"to_us\":1780000050000000,\"open\":false}]"));
	free(text);
	record_clear(record);
	free(record);
}
