// SPDX-License-Identifier: GPL-2.0-only
/* How events are written: as JSON, and as lines for people. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cases.h"
#include "cli/events/event_json.h"
#include "cli/events/event_sink.h"
#include "cli/output/output.h"

static struct event event_made(void)
{
	struct event event = {.kind = EVENT_DROPS_BEGIN,
			      .time_ns = 1763888400123456789ull,
			      .device = "eth0",
			      .rule = "10.0.0.0/8 deny",
			      .has_rate = true,
			      .rate = {.packets = 1000, .bytes = 60000},
			      .text = "a rule begins to drop"};

	return event;
}

static void json_is(const struct event *event, const char *wanted)
{
	struct json_object *object = event_json(event);
	char *line = json_line(object);

	assert_string_equal(line, wanted);
	free(line);
	json_object_put(object);
}

TEST(json_members)
{
	struct event event = event_made();

	json_is(&event, "{\"time\":\"2025-11-23T09:00:00.123Z\",\"event\":\"drops-begin\","
			"\"device\":\"eth0\",\"hook\":\"xdp\",\"rule\":\"10.0.0.0/8 deny\","
			"\"rate\":{\"packets\":1000,\"bytes\":60000},"
			"\"text\":\"a rule begins to drop\"}");
	event = (struct event){.kind = EVENT_ALARM_ON,
			       .time_ns = 1,
			       .device = "e",
			       .alarm = "a",
			       .has_rate = true,
			       .rate = {.packets = 7}};
	json_is(&event, "{\"time\":\"1970-01-01T00:00:00.000Z\",\"event\":\"alarm-on\","
			"\"device\":\"e\",\"hook\":\"xdp\",\"alarm\":\"a\","
			"\"rate\":{\"packets\":7}}");
	event.kind = EVENT_ALARM_OFF;
	event.rate = (struct rl_amount){.bytes = 9};
	event.rate_unit = RL_BITS;
	event.excerpt = json_tokener_parse("{\"sources\":[{\"address\":\"10.0.0.1\"}]}");
	json_is(&event, "{\"time\":\"1970-01-01T00:00:00.000Z\",\"event\":\"alarm-off\","
			"\"device\":\"e\",\"hook\":\"xdp\",\"alarm\":\"a\","
			"\"rate\":{\"bytes\":9},\"sources\":[{\"address\":\"10.0.0.1\"}]}");
	json_object_put(event.excerpt);
	event = (struct event){.kind = EVENT_BAN_BEGIN,
			       .time_ns = 1,
			       .device = "e",
			       .hook = RL_HOOK_EGRESS,
			       .key = "10.0.0.1",
			       .until_ns = 1763888400123456789ull};
	json_is(&event,
		"{\"time\":\"1970-01-01T00:00:00.000Z\",\"event\":\"ban-begin\",\"device\":\"e\","
		"\"hook\":\"egress\",\"key\":\"10.0.0.1\",\"until\":\"2025-11-23T09:00:00.123Z\"}");
}

TEST(json_is_ascii_and_bounded)
{
	struct event event = event_made();
	struct json_object *object;
	char *line;

	memset(event.text, '\x1b', sizeof(event.text) - 1);
	memset(event.rule, '\xff', sizeof(event.rule) - 1);
	memset(event.key, '"', sizeof(event.key) - 1);
	memset(event.device, '\n', sizeof(event.device) - 1);
	object = event_json(&event);
	line = json_line(object);
	assert_true(strlen(line) + 1 < EVENT_JSON_MAX);
	for (const char *c = line; *c; c++)
		assert_true(*c >= ' ' && *c <= '~');
	free(line);
	json_object_put(object);
}

static char *printed(const char *json)
{
	struct json_object *object = json_tokener_parse(json);
	char *text = NULL;
	size_t size;
	FILE *file = open_memstream(&text, &size);

	assert_non_null(object);
	event_print(file, object);
	fclose(file);
	json_object_put(object);
	return text;
}

static const struct {
	const char *json, *wanted;
} text_rows[] = {
	{"{\"time\":\"2025-11-23T09:00:00.123Z\",\"event\":\"apply\",\"device\":\"eth0\","
	 "\"hook\":\"xdp\",\"text\":\"1 rule\"}",
	 "2025-11-23 09:00:00.123 eth0: apply: 1 rule\n"},
	{"{\"time\":\"2025-11-23T09:00:00.123Z\",\"event\":\"apply\",\"device\":\"eth0\","
	 "\"hook\":\"egress\",\"text\":\"\\u001b[31m\\n\"}",
	 "2025-11-23 09:00:00.123 eth0/egress: apply: \\x1b[31m\\x0a\n"},
	{"{\"time\":\"2025-11-23T09:00:00.123Z\",\"event\":\"ban-begin\",\"device\":\"e\","
	 "\"sources\":[{\"address\":\"10.0.0.1\",\"rate\":5000,\"share\":0.336},"
	 "{\"address\":\"10.0.0.2\",\"rate\":1,\"share\":0.1}],"
	 "\"common\":{\"port\":[{\"value\":\"udp/53\",\"share\":1}],"
	 "\"ttl\":[{\"value\":64,\"share\":0.5},{\"value\":63,\"share\":0.5}]}}",
	 "2025-11-23 09:00:00.123 e: ban-begin\n"
	 "    from 10.0.0.1 34% (5,000/s), 10.0.0.2 10% (1/s)\n"
	 "    common: port udp/53 100%; ttl 64 50%, 63 50%\n"},
	/* A journal that somebody has written to. */
	{"{}", "? ?: ?\n"},
	{"{\"time\":5,\"event\":[],\"device\":{},\"hook\":1,\"sources\":5,\"common\":[]}",
	 "? ?: ?\n"},
	{"{\"time\":\"\\u001b\",\"event\":\"x\",\"device\":\"y\",\"sources\":[1,{\"share\":1e9}],"
	 "\"common\":{\"port\":[1,{\"value\":null}]}}",
	 "\\x1b y: x\n    from ? 0%, ? 0%\n    common: port\n"},
};

TEST(text_lines)
{
	setenv("TZ", "UTC", 1);
	for (size_t i = 0; i < sizeof(text_rows) / sizeof(*text_rows); i++) {
		char *text = printed(text_rows[i].json);

		assert_string_equal(text, text_rows[i].wanted);
		free(text);
	}
}
