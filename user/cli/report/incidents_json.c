// SPDX-License-Identifier: GPL-2.0-only
/* The document of incidents. */
#include <stdlib.h>
#include <string.h>

#include "cli/events/event_json.h"
#include "cli/output/output.h"
#include "cli/report/incidents.h"

static struct json_object *json_word(const struct incident_word *word)
{
	static const char *const keys[] = {"rule", "reason", "alarm"};
	struct json_object *object = json_object_new_object();

	json_put_text(object, keys[word->kind], word->text);
	event_time_put(object, "begin", word->begin_ns);
	event_time_put(object, "end", word->end_ns);
	json_put_number(object, "times", word->times);
	if (word->kind == WORD_OF_ALARM)
		return object;
	json_put(object, "dropped", json_amount(&word->dropped));
	json_put(object, "peak", json_amount(&word->peak));
	return object;
}

/* Rules that dropped most come first; numbers[i]: the place of words[i] in its array. */
static void put_words(struct json_object *object, const struct incident *incident,
		      uint32_t numbers[INCIDENT_WORDS_MAX])
{
	struct json_object *rules = json_object_new_array(), *alarms = json_object_new_array();
	bool done[INCIDENT_WORDS_MAX] = {false};

	for (size_t turn = 0; turn < incident->word_count; turn++) {
		size_t most = incident->word_count;
		struct json_object *array;

		for (size_t i = 0; i < incident->word_count; i++)
			if (!done[i] && (most == incident->word_count ||
					 incident->words[i].dropped.packets >
						 incident->words[most].dropped.packets))
				most = i;
		done[most] = true;
		array = incident->words[most].kind == WORD_OF_ALARM ? alarms : rules;
		numbers[most] = (uint32_t)json_object_array_length(array);
		json_append(array, json_word(&incident->words[most]));
	}
	json_put(object, "rules", rules);
	json_put(object, "alarms", alarms);
}

static struct json_object *json_spans(const struct incident *incident,
				      const uint32_t numbers[INCIDENT_WORDS_MAX])
{
	struct json_object *array = json_object_new_array();

	for (size_t i = 0; i < incident->span_count; i++) {
		const struct incident_span *span = &incident->spans[i];
		bool alarm = incident->words[span->word].kind == WORD_OF_ALARM;
		struct json_object *object = json_object_new_object();

		json_put_text(object, "of", alarm ? "alarm" : "rule");
		json_put_number(object, "index", numbers[span->word]);
		event_time_put(object, "begin", span->begin_ns);
		event_time_put(object, "end", span->end_ns);
		json_append(array, object);
	}
	return array;
}

static int heavier(const void *a, const void *b)
{
	const struct incident_value *x = a, *y = b;

	return x->packets < y->packets   ? 1
	       : x->packets > y->packets ? -1
					 : strcmp(x->text, y->text);
}

/* Those with a share of `least`; packets of each too, unless it is a value. */
static struct json_object *json_values(const struct incident_values *values, const char *key,
				       double all, double least)
{
	struct json_object *array = json_object_new_array();

	if (values->count)
		qsort(values->items, values->count, sizeof(*values->items), heavier);
	for (size_t i = 0; i < values->count; i++) {
		const struct incident_value *value = &values->items[i];
		double share = all > 0 ? value->packets / all : 0;
		struct json_object *object;

		if (share < least)
			break;
		object = json_object_new_object();
		json_put_text(object, key, value->text);
		if (!strcmp(key, "address"))
			json_put_number(object, "packets", (uint64_t)(value->packets + 0.5));
		json_put(object, "share", share_json(share > 1 ? 1 : share));
		json_append(array, object);
	}
	return array;
}

#define PATTERNS_MAX 3
#define COMMON_LEAST 0.1 /* of the packets, for a pattern or a value to be reported */
#define RULE_LEAST   0.3 /* of the packets, for a pattern to have a rule suggested, */
#define KNOWN_MOST   0.1 /* of its packets from known sources */

static struct json_object *json_pattern(const struct incident_value *value, double share)
{
	struct json_object *object = json_object_new_object();
	const char *match = event_member(value->pattern, "match");
	const char *from = event_member(value->pattern, "from");
	char rule[PATTERN_RULE_MAX];

	json_put_text(object, "pattern", value->text);
	json_put_text(object, "match", match);
	if (*from && !value->spread)
		json_put_text(object, "from", from);
	json_put(object, "share", share_json(share > 1 ? 1 : share));
	if (value->known > 0)
		json_put(object, "known", share_json(value->known / value->packets));
	if (!*match || share < RULE_LEAST || value->known > KNOWN_MOST * value->packets)
		return object;
	pattern_rule_print(rule, match);
	json_put_text(object, "rule", rule);
	return object;
}

static struct json_object *json_incident(const struct incident *incident, uint64_t until_ns)
{
	struct json_object *object = json_object_new_object(), *patterns = json_object_new_array();
	struct json_object *common = json_object_new_object();
	uint64_t end_ns = incident->end_ns ? incident->end_ns : until_ns;
	const struct incident_values *found = &incident->patterns;
	uint32_t numbers[INCIDENT_WORDS_MAX];
	double all = (double)incident->dropped.packets;
	char seconds[32];

	if (found->count)
		qsort(found->items, found->count, sizeof(*found->items), heavier);
	for (size_t i = 0; all > 0 && i < found->count && i < PATTERNS_MAX; i++)
		if (found->items[i].packets >= COMMON_LEAST * all)
			json_append(patterns,
				    json_pattern(&found->items[i], found->items[i].packets / all));
	for (int i = 0; i < FEATURE_COUNT; i++)
		if (incident->values[i].count)
			json_put(common, feature_words[i],
				 json_values(&incident->values[i], "value", all, COMMON_LEAST));
	json_put_text(object, "device", incident->device);
	json_put_text(object, "hook", incident->hook);
	event_time_put(object, "begin", incident->begin_ns);
	event_time_put(object, "end", incident->end_ns);
	snprintf(seconds, sizeof(seconds), "%.3f",
		 (double)(end_ns - incident->begin_ns) / (double)NS_PER_SECOND);
	json_put(object, "seconds", json_object_new_double_s(atof(seconds), seconds));
	json_put(object, "dropped", json_amount(&incident->dropped));
	json_put(object, "peak", json_amount(&incident->peak));
	put_words(object, incident, numbers);
	json_put(object, "spans", json_spans(incident, numbers));
	json_put_number(object, "bans", incident->bans);
	json_put(object, "patterns", patterns);
	json_put(object, "common", common);
	json_put(object, "sources", json_values(&incident->sources, "address", all, 0.01));
	json_put(object, "known", json_values(&incident->known, "address", all, 0));
	json_put(object, "changes", json_object_get(incident->changes));
	return object;
}

/* Up to now, or when the last of it is on record. */
static uint64_t incident_over_at(const struct incident *incident, uint64_t until_ns)
{
	return incident_goes_on(incident, until_ns) ? until_ns : incident->last_ns;
}

/* Does it belong to the INCIDENTS_MAX with most packets? Those that may go on always do. */
static bool is_large(const struct incidents *incidents, const struct incident *incident,
		     uint64_t since_ns, uint64_t until_ns)
{
	size_t larger = 0;

	for (size_t i = 0; i < incidents->count; i++) {
		const struct incident *other = &incidents->items[i];

		larger += incident_over_at(other, until_ns) >= since_ns &&
			  other->dropped.packets > incident->dropped.packets;
	}
	return larger < INCIDENTS_MAX || incident_goes_on(incident, until_ns);
}

struct json_object *incidents_json(struct incidents *incidents, uint64_t since_ns,
				   uint64_t until_ns)
{
	struct json_object *document = json_object_new_object(), *array = json_object_new_array();
	struct json_object *smaller = json_object_new_object();
	uint64_t left_out = 0, packets = 0;

	for (size_t i = 0; i < incidents->count; i++) {
		struct incident *incident = &incidents->items[i];

		incident->end_ns = incident->last_ns;
		for (size_t word = 0; word < incident->word_count; word++)
			if (!incident->words[word].end_ns)
				incident->end_ns = 0;
	}
	for (size_t i = 0; i < incidents->count; i++) {
		const struct incident *incident = &incidents->items[i];

		if (incident_over_at(incident, until_ns) < since_ns)
			continue;
		if (is_large(incidents, incident, since_ns, until_ns)) {
			json_append(array, json_incident(incident, until_ns));
			continue;
		}
		left_out++;
		packets += incident->dropped.packets;
	}
	event_time_put(document, "since", since_ns);
	event_time_put(document, "until", until_ns);
	json_put(document, "incidents", array);
	json_put_number(smaller, "incidents", left_out);
	json_put_number(smaller, "packets", packets);
	json_put(document, "smaller", smaller);
	return document;
}
