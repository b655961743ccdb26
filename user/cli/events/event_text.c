// SPDX-License-Identifier: GPL-2.0-only
/* Events as lines for people, from their JSON, which may have come from a file. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "cli/events/event_json.h"
#include "cli/output/output.h"

const char *event_member(json_object *event, const char *name)
{
	json_object *value;

	if (!json_object_object_get_ex(event, name, &value))
		return "";
	return json_object_is_type(value, json_type_string) ? json_object_get_string(value) : "";
}

uint64_t event_time_of(json_object *event, const char *name)
{
	uint64_t ns;

	return time_parse(event_member(event, name), &ns) ? 0 : ns;
}

void text_put_escaped(FILE *file, const char *text)
{
	for (; *text; text++)
		put_escaped(file, *text);
}

static const char *or_unknown(const char *text)
{
	return *text ? text : "?";
}

static struct json_object *member_array(struct json_object *object, const char *key)
{
	struct json_object *value;

	return json_object_object_get_ex(object, key, &value) &&
			       json_object_is_type(value, json_type_array)
		       ? value
		       : NULL;
}

static int percent_of(struct json_object *object, const char *key)
{
	struct json_object *share;
	double part =
		json_object_object_get_ex(object, key, &share) ? json_object_get_double(share) : 0;

	return part >= 0 && part <= 1 ? (int)(part * 100 + 0.5) : 0;
}

/* Local time with milliseconds; as it is where it cannot be read. */
static void put_time(FILE *file, const char *time)
{
	char text[NUMBER_TEXT_MAX];
	uint64_t ns;

	if (time_parse(time, &ns)) {
		text_put_escaped(file, or_unknown(time));
		return;
	}
	time_print(text, ns, true); /* 2026-11-20T06:06:11+01:00 */
	fprintf(file, "%.10s %.8s.%03u", text, strlen(text) > 11 ? text + 11 : "",
		(unsigned int)(ns / 1000000 % 1000));
}

/* ---- the excerpt */

static void put_source(FILE *file, const char *label, struct json_object *source, bool first)
{
	struct json_object *rate;
	char number[NUMBER_TEXT_MAX];

	fputs(first ? label : ", ", file);
	text_put_escaped(file, or_unknown(event_member(source, "address")));
	fprintf(file, " %d%%", percent_of(source, "share"));
	if (!json_object_object_get_ex(source, "rate", &rate))
		return;
	number_print(number, json_object_get_uint64(rate));
	fprintf(file, " (%s/s)", number);
}

static void put_sources(FILE *file, const char *label, const char *key, struct json_object *object)
{
	struct json_object *sources = member_array(object, key);
	size_t count = sources ? json_object_array_length(sources) : 0;

	for (size_t i = 0; i < count; i++)
		put_source(file, label, json_object_array_get_idx(sources, i), !i);
	if (count)
		putc('\n', file);
}

static void put_values(FILE *file, const char *name, struct json_object *values)
{
	size_t count = json_object_array_length(values);

	fputs(name, file);
	for (size_t i = 0; i < count; i++) {
		struct json_object *one = json_object_array_get_idx(values, i), *value;

		if (!json_object_object_get_ex(one, "value", &value) || !value)
			continue;
		fputs(i ? ", " : " ", file);
		text_put_escaped(file, json_object_get_string(value));
		fprintf(file, " %d%%", percent_of(one, "share"));
	}
}

/* "72% of what was dropped: udp/27015 length 64-95, from 198.18.0.0/16", and the rule
 * that is suggested for it. */
static void put_pattern(FILE *file, bool counted, struct json_object *one)
{
	const char *from = event_member(one, "from"), *rule = event_member(one, "rule");
	int known = percent_of(one, "known");

	fprintf(file, "    %d%% of what was %s: ", percent_of(one, "share"),
		counted ? "counted" : "dropped");
	text_put_escaped(file, or_unknown(event_member(one, "pattern")));
	fputs(*from ? ", from " : "", file);
	text_put_escaped(file, from);
	if (known)
		fprintf(file, "; %d%% of that is of known sources", known);
	fputs(*rule ? "\n        to limit it: " : "", file);
	text_put_escaped(file, rule);
	putc('\n', file);
}

void event_common_print(FILE *file, struct json_object *object)
{
	struct json_object *common, *patterns = member_array(object, "patterns");
	bool any = false;

	for (size_t i = 0; patterns && i < json_object_array_length(patterns); i++)
		put_pattern(file, *event_member(object, "alarm"),
			    json_object_array_get_idx(patterns, i));
	if (!json_object_object_get_ex(object, "common", &common))
		return;
	for (int i = 0; i < FEATURE_COUNT; i++) {
		struct json_object *values = member_array(common, feature_words[i]);

		if (!values || !json_object_array_length(values))
			continue;
		fputs(any ? "; " : "    common: ", file);
		put_values(file, feature_words[i], values);
		any = true;
	}
	if (any)
		putc('\n', file);
}

void event_print(FILE *file, struct json_object *object)
{
	const char *hook = event_member(object, "hook"), *text = event_member(object, "text");

	put_time(file, event_member(object, "time"));
	putc(' ', file);
	text_put_escaped(file, or_unknown(event_member(object, "device")));
	if (*hook && strcmp(hook, "xdp") != 0) {
		putc('/', file);
		text_put_escaped(file, hook);
	}
	fputs(": ", file);
	text_put_escaped(file, or_unknown(event_member(object, "event")));
	if (*text) {
		fputs(": ", file);
		text_put_escaped(file, text);
	}
	putc('\n', file);
	put_sources(file, "    from ", "sources", object);
	put_sources(file, "    known: ", "known", object);
	event_common_print(file, object);
}
