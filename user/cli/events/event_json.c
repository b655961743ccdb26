// SPDX-License-Identifier: GPL-2.0-only
/* One event as a JSON object. */

#include <math.h>
#include <string.h>

#include "base/text.h"
#include "base/units.h"
#include "cli/events/event_json.h"
#include "cli/output/output.h"
#include "cli/output/state_output.h"
#include "kernel/attach/hook_names.h"
#include "policy/names.h"

#define VALUE_TEXT_MAX 64
#define SOURCES_MAX    5 /* the heaviest that are shown */
#define COMMON_MAX     3 /* values that are shown of each feature, and patterns */
#define SOURCE_LEAST   0.01
#define VALUE_LEAST    0.1

void event_time_print(char out[EVENT_TIME_MAX], uint64_t realtime_ns)
{
	char full[NUMBER_TEXT_MAX]; /* 2026-11-20T06:06:11.123456789Z */

	time_ns_print(full, realtime_ns);
	snprintf(out, EVENT_TIME_MAX, "%.23sZ", full);
}

static void put_text(struct json_object *object, const char *key, const char *text)
{
	if (*text)
		json_put_text(object, key, text);
}

void event_time_put(struct json_object *object, const char *key, uint64_t realtime_ns)
{
	char text[EVENT_TIME_MAX];

	if (!realtime_ns) {
		json_object_object_add(object, key, NULL);
		return;
	}
	event_time_print(text, realtime_ns);
	json_put_text(object, key, text);
}

struct json_object *share_json(double share)
{
	char text[16];

	snprintf(text, sizeof(text), "%.3g", round(share * 1000) / 1000);
	return json_object_new_double_s(share, text);
}

/* ---- what sampled packets have in common */

static void put_sources(struct json_object *object, const char *key, const struct shares *shares,
			uint64_t all, double least, uint64_t rate)
{
	struct shares_part parts[SOURCES_MAX];
	size_t count = shares_list(shares, all, least, parts, SOURCES_MAX);
	struct json_object *array = count ? json_object_new_array() : NULL;
	char text[PREFIX_TEXT_MAX];

	for (size_t i = 0; i < count; i++) {
		struct json_object *one = json_object_new_object();
		uint64_t own = (uint64_t)(parts[i].share * (double)rate + 0.5);

		prefix_print(text, sizeof(text), parts[i].value, key_bits(parts[i].value, 32, 64));
		json_put_text(one, "address", text);
		if (own)
			json_put_number(one, "rate", own);
		json_put(one, "share", share_json(parts[i].share));
		json_append(array, one);
	}
	if (array)
		json_put(object, key, array);
}

/* In the words of a rule: "udp/53", "syn,ack", "none". */
static struct json_object *json_value(enum event_feature feature, uint32_t value)
{
	const struct protocol *protocol = protocol_by_number(value >> 16);
	char text[VALUE_TEXT_MAX] = "none";
	size_t used = 0;

	if (feature == FEATURE_LENGTH || feature == FEATURE_TTL)
		return json_object_new_uint64(value);
	if (feature == FEATURE_FLAGS)
		for (unsigned int i = 0; i < 8; i++)
			if (value & 1u << i)
				used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s",
							 used ? "," : "", tcp_flag_name(i));
	if (feature != FEATURE_FLAGS && protocol)
		snprintf(text, sizeof(text), "%s/%u", protocol->name, value & 0xffff);
	else if (feature != FEATURE_FLAGS)
		snprintf(text, sizeof(text), "proto %u/%u", value >> 16, value & 0xffff);
	return json_object_new_string(text);
}

static void put_common(struct json_object *object, const struct traits *traits)
{
	struct json_object *common = json_object_new_object();
	struct shares_part parts[COMMON_MAX];

	for (int i = 0; i < FEATURE_COUNT; i++) {
		size_t count = shares_list(&traits->values[i], traits->packets, VALUE_LEAST, parts,
					   COMMON_MAX);
		struct json_object *array = count ? json_object_new_array() : NULL;

		for (size_t n = 0; n < count; n++) {
			struct json_object *one = json_object_new_object();
			uint32_t value;

			memcpy(&value, parts[n].value, sizeof(value));
			json_put(one, "value", json_value(i, value));
			json_put(one, "share", share_json(parts[n].share));
			json_append(array, one);
		}
		if (array)
			json_put(common, feature_words[i], array);
	}
	if (json_object_object_length(common))
		json_put(object, "common", common);
	else
		json_object_put(common);
}

static void put_patterns(struct json_object *object, const struct traits *traits)
{
	struct pattern_part parts[COMMON_MAX];
	size_t count =
		patterns_list(&traits->patterns, traits->packets, VALUE_LEAST, parts, COMMON_MAX);
	struct json_object *array = count ? json_object_new_array() : NULL;

	for (size_t i = 0; i < count; i++) {
		struct json_object *one = json_object_new_object();
		double known =
			patterns_share(&traits->known_patterns, traits->packets, &parts[i].pattern);

		pattern_json_put(one, &parts[i].pattern);
		json_put(one, "share", share_json(parts[i].share));
		if (known > 0)
			json_put(one, "known", share_json(known / parts[i].share));
		json_append(array, one);
	}
	if (array)
		json_put(object, "patterns", array);
}

struct json_object *traits_json(const struct traits *traits, uint64_t rate)
{
	struct json_object *object = json_object_new_object();

	put_sources(object, "sources", &traits->sources, traits->packets, SOURCE_LEAST, rate);
	put_sources(object, "known", &traits->known, traits->packets, 0, rate);
	put_patterns(object, traits);
	put_common(object, traits);
	return object;
}

/* ---- */

/* An alarm counts packets, or bytes. */
static struct json_object *json_rate(const struct event *event)
{
	bool packets = event->rate_unit == RL_PACKETS;
	struct json_object *object;

	if (event->kind != EVENT_ALARM_ON && event->kind != EVENT_ALARM_OFF)
		return json_amount(&event->rate);
	object = json_object_new_object();
	json_put_number(object, packets ? "packets" : "bytes",
			packets ? event->rate.packets : event->rate.bytes);
	return object;
}

static void members_put(struct json_object *object, struct json_object *from)
{
	struct json_object_iterator at = json_object_iter_begin(from);
	struct json_object_iterator end = json_object_iter_end(from);

	for (; !json_object_iter_equal(&at, &end); json_object_iter_next(&at))
		json_put(object, json_object_iter_peek_name(&at),
			 json_object_get(json_object_iter_peek_value(&at)));
}

struct json_object *event_json(const struct event *event)
{
	struct json_object *object = json_object_new_object(), *list;

	event_time_put(object, "time", event->time_ns);
	put_text(object, "event", event_words[event->kind]);
	put_text(object, "device", event->device);
	put_text(object, "hook", hook_name(event->hook));
	put_text(object, "alarm", event->alarm);
	put_text(object, "set", event->set);
	put_text(object, "rule", event->rule);
	put_text(object, "reason", event->reason);
	put_text(object, "key", event->key);
	put_text(object, "prefix", event->prefix);
	put_text(object, "user", event->user);
	if (event->kind == EVENT_SET_ADD || event->kind == EVENT_SET_DEL) {
		list = json_object_new_array();
		for (int i = 0; i < EVENT_MEMBERS && *event->members[i]; i++)
			json_append(list, json_object_new_string(event->members[i]));
		json_put_number(object, "count", event->count);
		json_put(object, "members", list);
	}
	if (event->until_ns)
		event_time_put(object, "until", event->until_ns);
	if (event->last_ns)
		event_time_put(object, "last", event->last_ns);
	if (event->has_rate)
		json_put(object, "rate", json_rate(event));
	if (event->has_dropped)
		json_put(object, "dropped", json_amount(&event->dropped));
	if (event->peak.packets)
		json_put(object, "peak", json_amount(&event->peak));
	if (event->excerpt)
		members_put(object, event->excerpt);
	if (event->kind == EVENT_LOST) {
		list = json_object_new_object();
		for (int i = 0; i < EVENT_KIND_COUNT; i++)
			if (event->of[i])
				json_put_number(list, event_words[i], event->of[i]);
		json_put_number(object, "count", event->count);
		json_put(object, "of", list);
	}
	put_text(object, "text", event->text);
	return object;
}

/* ---- events as lines for people, from their JSON, which may have come from a file */

struct json_object *json_member(json_object *object, const char *key, json_type type)
{
	json_object *value = NULL;

	json_object_object_get_ex(object, key, &value);
	return json_object_is_type(value, type) ? value : NULL;
}

const char *event_member(json_object *event, const char *name)
{
	return json_object_get_string(json_member(event, name, json_type_string)) ?: "";
}

uint64_t event_time_of(json_object *event, const char *name)
{
	uint64_t ns;

	return time_parse(event_member(event, name), &ns) ? 0 : ns;
}

void text_put(FILE *file, const char *before, const char *text)
{
	if (*text)
		fputs(before, file);
	for (; *text; text++)
		put_escaped(file, *text);
}

static const char *member_or_unknown(struct json_object *object, const char *key)
{
	const char *text = event_member(object, key);

	return *text ? text : "?";
}

static int percent_of(struct json_object *object, const char *key)
{
	struct json_object *share;
	double part =
		json_object_object_get_ex(object, key, &share) ? json_object_get_double(share) : 0;

	return part >= 0 && part <= 1 ? (int)(part * 100 + 0.5) : 0;
}

/* ---- the excerpt */

static void line_put_sources(FILE *file, const char *label, const char *key,
			     struct json_object *object)
{
	struct json_object *sources = json_member(object, key, json_type_array), *rate;
	size_t count = sources ? json_object_array_length(sources) : 0;

	for (size_t i = 0; i < count; i++) {
		struct json_object *source = json_object_array_get_idx(sources, i);

		text_put(file, i ? ", " : label, member_or_unknown(source, "address"));
		fprintf(file, " %d%%", percent_of(source, "share"));
		if (json_object_object_get_ex(source, "rate", &rate))
			fprintf(file, " (%s/s)", number_text(json_object_get_uint64(rate)));
	}
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
		text_put(file, "", json_object_get_string(value));
		fprintf(file, " %d%%", percent_of(one, "share"));
	}
}

/* "72% of what was dropped: udp/27015 length 64-95, from 198.18.0.0/16", and the rule
 * that is suggested for it. */
static void put_pattern(FILE *file, bool counted, struct json_object *one)
{
	int known = percent_of(one, "known");

	fprintf(file, "    %d%% of what was %s", percent_of(one, "share"),
		counted ? "counted" : "dropped");
	text_put(file, ": ", member_or_unknown(one, "pattern"));
	text_put(file, ", from ", event_member(one, "from"));
	if (known)
		fprintf(file, "; %d%% of that is of known sources", known);
	text_put(file, "\n        to limit it: ", event_member(one, "rule"));
	putc('\n', file);
}

void event_common_print(FILE *file, struct json_object *object)
{
	struct json_object *common = json_object_object_get(object, "common");
	struct json_object *patterns = json_member(object, "patterns", json_type_array);
	bool any = false;

	for (size_t i = 0; patterns && i < json_object_array_length(patterns); i++)
		put_pattern(file, *event_member(object, "alarm"),
			    json_object_array_get_idx(patterns, i));
	for (int i = 0; i < FEATURE_COUNT; i++) {
		struct json_object *values = json_member(common, feature_words[i], json_type_array);

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
	const char *hook = event_member(object, "hook"), *time = member_or_unknown(object, "time");
	char local[NUMBER_TEXT_MAX];
	uint64_t ns;

	if (time_parse(time, &ns)) { /* as it is */
		text_put(file, "", time);
	} else {
		time_print(local, ns, true); /* 2026-11-20T06:06:11+01:00 */
		fprintf(file, "%.10s %.8s.%03u", local, strlen(local) > 11 ? local + 11 : "",
			(unsigned int)(ns / 1000000 % 1000));
	}
	text_put(file, " ", member_or_unknown(object, "device"));
	text_put(file, "/", strcmp(hook, "xdp") != 0 ? hook : "");
	text_put(file, ": ", member_or_unknown(object, "event"));
	text_put(file, ": ", event_member(object, "text"));
	putc('\n', file);
	line_put_sources(file, "    from ", "sources", object);
	line_put_sources(file, "    known: ", "known", object);
	event_common_print(file, object);
}
