// SPDX-License-Identifier: GPL-2.0-only
/* One event as a JSON object. */
#include "cli/events/event_json.h"

#include <math.h>
#include <netinet/in.h>
#include <string.h>

#include "base/text.h"
#include "base/units.h"
#include "cli/output/output.h"
#include "cli/output/pattern_output.h"
#include "kernel/attach/hook_names.h"
#include "policy/extra_names.h"
#include "policy/names.h"

#define VALUE_TEXT_MAX 64

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

/* ---- the excerpt */

static struct json_object *json_source(const struct event_source *source)
{
	struct json_object *object = json_object_new_object();
	char text[PREFIX_TEXT_MAX];

	prefix_print(text, sizeof(text), source->addr, key_bits(source->addr, 32, 64));
	json_put_text(object, "address", text);
	if (source->rate)
		json_put_number(object, "rate", source->rate);
	json_put(object, "share", share_json(source->share));
	return object;
}

static void put_sources(struct json_object *object, const char *key,
			const struct event_source *sources, uint32_t count)
{
	struct json_object *array;

	if (!count)
		return;
	array = json_object_new_array();
	for (uint32_t i = 0; i < count; i++)
		json_append(array, json_source(&sources[i]));
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

static struct json_object *json_values(const struct event_excerpt *excerpt,
				       enum event_feature feature)
{
	struct json_object *array = json_object_new_array();

	for (uint32_t i = 0; i < excerpt->value_count[feature]; i++) {
		struct json_object *object = json_object_new_object();

		json_put(object, "value", json_value(feature, excerpt->values[feature][i].value));
		json_put(object, "share", share_json(excerpt->values[feature][i].share));
		json_append(array, object);
	}
	return array;
}

static void put_common(struct json_object *object, const struct event_excerpt *excerpt)
{
	struct json_object *common = NULL;

	for (int i = 0; i < FEATURE_COUNT; i++) {
		if (!excerpt->value_count[i])
			continue;
		if (!common)
			common = json_object_new_object();
		json_put(common, feature_words[i], json_values(excerpt, i));
	}
	if (common)
		json_put(object, "common", common);
}

static void put_patterns(struct json_object *object, const struct event_excerpt *excerpt)
{
	struct json_object *array = excerpt->pattern_count ? json_object_new_array() : NULL;

	for (uint32_t i = 0; i < excerpt->pattern_count; i++) {
		const struct event_pattern *of = &excerpt->patterns[i];
		struct json_object *one = json_object_new_object();

		pattern_json_put(one, &of->part.pattern);
		json_put(one, "share", share_json(of->part.share));
		if (of->known > 0)
			json_put(one, "known", share_json(of->known));
		json_append(array, one);
	}
	if (array)
		json_put(object, "patterns", array);
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

static void put_lost(struct json_object *object, const struct event *event)
{
	struct json_object *of = json_object_new_object();

	for (int i = 0; i < EVENT_KIND_COUNT; i++)
		if (event->of[i])
			json_put_number(of, event_words[i], event->of[i]);
	json_put_number(object, "count", event->count);
	json_put(object, "of", of);
}

static void put_members(struct json_object *object, const struct event *event)
{
	struct json_object *members = json_object_new_array();

	for (int i = 0; i < EVENT_MEMBERS && *event->members[i]; i++)
		json_append(members, json_object_new_string(event->members[i]));
	json_put_number(object, "count", event->count);
	json_put(object, "members", members);
}

struct json_object *event_json(const struct event *event)
{
	struct json_object *object = json_object_new_object();

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
	if (event->kind == EVENT_SET_ADD || event->kind == EVENT_SET_DEL)
		put_members(object, event);
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
	put_sources(object, "sources", event->excerpt.sources, event->excerpt.source_count);
	put_sources(object, "known", event->excerpt.known, event->excerpt.known_count);
	put_patterns(object, &event->excerpt);
	put_common(object, &event->excerpt);
	if (event->kind == EVENT_LOST)
		put_lost(object, event);
	put_text(object, "text", event->text);
	return object;
}
