// SPDX-License-Identifier: GPL-2.0-only
#include "cli/report/incidents.h"

#include <stdlib.h>
#include <string.h>

#include "cli/events/event_sink.h"
#include "cli/events/event_json.h"
#include "cli/output/output.h"

/* ---- members of events, which may come from a file */

static struct rl_amount amount_of(struct json_object *event, const char *key)
{
	struct json_object *amount = json_member(event, key, json_type_object);

	return (struct rl_amount){
		.packets = json_object_get_uint64(json_member(amount, "packets", json_type_int)),
		.bytes = json_object_get_uint64(json_member(amount, "bytes", json_type_int))};
}

/* ---- lists */

static void *one_more(void *items, size_t count, size_t size)
{
	char *more = xreallocarray(items, count + 1, size);

	memset(more + count * size, 0, size);
	return more;
}

/* Values that are too many are left out, and NULL: the heaviest come in every event. */
static struct incident_value *value_add(struct incident_values *values, const char *text,
					double packets)
{
	size_t i = 0;

	while (i < values->count && strcmp(values->items[i].text, text) != 0)
		i++;
	if (i == INCIDENT_VALUES_MAX)
		return NULL;
	if (i == values->count) {
		values->items = one_more(values->items, i, sizeof(*values->items));
		values->items[values->count++].text = xstrdup(text);
	}
	values->items[i].packets += packets;
	return &values->items[i];
}

static double part_of(struct json_object *one, const char *key)
{
	double part = json_object_get_double(json_object_object_get(one, key));

	return part > 0 && part <= 1 ? part : 0;
}

/* name: of the member that is the value; of `all` packets each has its share. */
static void shares_add_up(struct incident_values *values, struct json_object *array,
			  const char *name, double all)
{
	for (size_t i = 0; array && i < json_object_array_length(array); i++) {
		struct json_object *one = json_object_array_get_idx(array, i), *value;
		double share = part_of(one, "share");

		if (json_object_object_get_ex(one, name, &value) && share > 0)
			value_add(values, json_object_get_string(value), share * all);
	}
}

static void patterns_add_up(struct incident_values *patterns, struct json_object *array, double all)
{
	for (size_t i = 0; array && i < json_object_array_length(array); i++) {
		struct json_object *one = json_object_array_get_idx(array, i);
		const char *text = event_member(one, "pattern");
		double packets = part_of(one, "share") * all;
		struct incident_value *value =
			*text && packets > 0 ? value_add(patterns, text, packets) : NULL;

		if (!value)
			continue;
		value->known += part_of(one, "known") * packets;
		if (!value->pattern)
			value->pattern = json_object_get(one);
		value->spread |= strcmp(event_member(value->pattern, "from"),
					event_member(one, "from")) != 0;
	}
}

/* ---- an incident */

static struct incident *incident_add(struct incidents *incidents, struct json_object *event,
				     uint64_t time_ns)
{
	struct incident *incident;

	incidents->items = one_more(incidents->items, incidents->count, sizeof(*incident));
	incident = &incidents->items[incidents->count++];
	snprintf(incident->device, sizeof(incident->device), "%s", event_member(event, "device"));
	snprintf(incident->hook, sizeof(incident->hook), "%s", event_member(event, "hook"));
	incident->begin_ns = incident->last_ns = time_ns;
	incident->changes = json_object_new_array();
	return incident;
}

bool incident_goes_on(const struct incident *incident, uint64_t time_ns)
{
	return incident->open_count && time_ns < incident->last_ns + INCIDENT_OPEN_NS;
}

/* The one that goes on at that time, or was over just before. */
static struct incident *incident_at(const struct incidents *incidents, struct json_object *event,
				    uint64_t time_ns)
{
	for (size_t i = incidents->count; i-- > 0;) {
		struct incident *incident = &incidents->items[i];

		if (!strcmp(incident->device, event_member(event, "device")) &&
		    !strcmp(incident->hook, event_member(event, "hook")))
			return incident_goes_on(incident, time_ns) ||
					       time_ns < incident->last_ns + INCIDENT_PAUSE_NS
				       ? incident
				       : NULL;
	}
	return NULL;
}

static struct incident_word *word_find(struct incident *incident, enum incident_word_kind kind,
				       const char *text)
{
	struct incident_word *word;

	for (size_t i = 0; i < incident->word_count; i++)
		if (incident->words[i].kind == kind && !strcmp(incident->words[i].text, text))
			return &incident->words[i];
	if (incident->word_count == INCIDENT_WORDS_MAX)
		return NULL;
	incident->words = one_more(incident->words, incident->word_count, sizeof(*word));
	word = &incident->words[incident->word_count++];
	word->kind = kind;
	word->text = xstrdup(text);
	return word;
}

/* The word that the event is about. */
static struct incident_word *word_of(struct incident *incident, struct json_object *event)
{
	const char *alarm = event_member(event, "alarm"), *rule = event_member(event, "rule");

	if (*alarm)
		return word_find(incident, WORD_OF_ALARM, alarm);
	return *rule ? word_find(incident, WORD_OF_RULE, rule)
		     : word_find(incident, WORD_OF_REASON, event_member(event, "reason"));
}

static void peak_raise(struct rl_amount *peak, struct rl_amount rate)
{
	if (rate.packets > peak->packets)
		*peak = rate;
}

static void word_begin(struct incident *incident, struct incident_word *word, uint64_t time_ns)
{
	word->begin_ns = word->begin_ns ? word->begin_ns : time_ns;
	word->end_ns = 0;
	word->times++;
	incident->open_count += !word->open;
	word->open = true;
	if (incident->begin_ns > time_ns)
		incident->begin_ns = time_ns;
	if (incident->last_ns < time_ns)
		incident->last_ns = time_ns;
	if (incident->span_count == INCIDENT_SPANS_MAX)
		return;
	incident->spans = one_more(incident->spans, incident->span_count, sizeof(*incident->spans));
	incident->spans[incident->span_count++] = (struct incident_span){
		.word = (uint32_t)(word - incident->words), .begin_ns = time_ns};
}

/* time_ns 0: nothing is on record of its end. */
static void word_end(struct incident *incident, struct incident_word *word, uint64_t time_ns)
{
	uint32_t number = (uint32_t)(word - incident->words);

	incident->open_count -= word->open;
	word->open = false;
	word->end_ns = time_ns;
	for (size_t i = incident->span_count; i-- > 0;)
		if (incident->spans[i].word == number) {
			incident->spans[i].end_ns = time_ns;
			return;
		}
}

/* ---- events */

static void drops_sum(struct incident *incident, struct json_object *event)
{
	struct rl_amount dropped = amount_of(event, "dropped");
	struct json_object *common = json_member(event, "common", json_type_object);
	double packets = (double)dropped.packets;

	amount_add(&incident->dropped, &dropped);
	peak_raise(&incident->peak, amount_of(event, "peak"));
	peak_raise(&incident->peak, amount_of(event, "rate"));
	shares_add_up(&incident->sources, json_member(event, "sources", json_type_array), "address",
		      packets);
	shares_add_up(&incident->known, json_member(event, "known", json_type_array), "address",
		      packets);
	patterns_add_up(&incident->patterns, json_member(event, "patterns", json_type_array),
			packets);
	for (int i = 0; common && i < FEATURE_COUNT; i++)
		shares_add_up(&incident->values[i],
			      json_member(common, feature_words[i], json_type_array), "value",
			      packets);
}

static void drops_end(struct incident *incident, struct incident_word *word,
		      struct json_object *event, uint64_t time_ns)
{
	struct rl_amount dropped = amount_of(event, "dropped"), rate = amount_of(event, "rate");
	uint64_t last_ns = event_time_of(event, "last"), before_ns = 0;

	last_ns = last_ns ? last_ns : time_ns;
	/* A follower that began later has no begin on record: it follows from the packets and their
	 * mean rate. */
	if (rate.packets)
		before_ns = (uint64_t)((double)dropped.packets / (double)rate.packets *
				       (double)NS_PER_SECOND);
	if (!word->open)
		word_begin(incident, word, last_ns - before_ns);
	word_end(incident, word, last_ns);
	amount_add(&word->dropped, &dropped);
	peak_raise(&word->peak, amount_of(event, "peak"));
	peak_raise(&word->peak, rate);
}

static void begun(struct incidents *incidents, struct incident *incident, struct json_object *event,
		  uint64_t time_ns)
{
	struct incident_word *word;

	if (!incident)
		incident = incident_add(incidents, event, time_ns);
	word = word_of(incident, event);
	if (!word)
		return;
	word_begin(incident, word, time_ns);
	peak_raise(&word->peak, amount_of(event, "rate"));
	if (word->kind != WORD_OF_ALARM)
		peak_raise(&incident->peak, word->peak);
}

static void ended(struct incidents *incidents, struct incident *incident, struct json_object *event,
		  enum event_kind kind, uint64_t time_ns)
{
	struct incident_word *word;

	if (!incident && kind == EVENT_ALARM_OFF)
		return;
	if (!incident)
		incident = incident_add(incidents, event, time_ns);
	if (kind == EVENT_DROPS_END)
		drops_sum(incident, event); /* also of a rule for which there is no room */
	word = word_of(incident, event);
	if (!word)
		return;
	if (kind == EVENT_DROPS_END)
		drops_end(incident, word, event, time_ns);
	else if (word->open)
		word_end(incident, word, time_ns);
	if (word->end_ns > incident->last_ns)
		incident->last_ns = word->end_ns;
}

void incidents_add(struct incidents *incidents, struct json_object *event, uint64_t time_ns)
{
	static const char *const keys[] = {"time", "event", "user", "text"};
	struct incident *incident = incident_at(incidents, event, time_ns);
	int kind = event_kind_of(event);
	struct json_object *of, *change;

	if (kind == EVENT_DROPS_BEGIN || kind == EVENT_ALARM_ON)
		return begun(incidents, incident, event, time_ns);
	if (kind == EVENT_DROPS_END || kind == EVENT_ALARM_OFF)
		return ended(incidents, incident, event, kind, time_ns);
	if (!incident)
		return;
	if (kind == EVENT_BAN_BEGIN) {
		incident->bans++;
	} else if (kind == EVENT_LOST) {
		of = json_member(event, "of", json_type_object);
		incident->bans += json_object_get_uint64(
			json_member(of, event_words[EVENT_BAN_BEGIN], json_type_int));
	} else if (kind != EVENT_BAN_END) {
		change = json_object_new_object();
		for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
			json_put_text(change, keys[i], event_member(event, keys[i]));
		json_append(incident->changes, change);
	}
	/* The device was detached, or attached anew, and no end will be on record. */
	for (size_t i = 0; i < incident->word_count; i++)
		if ((kind == EVENT_ATTACH || kind == EVENT_DETACH) && incident->words[i].open)
			word_end(incident, &incident->words[i], 0);
}

/* ---- */

static void values_clear(struct incident_values *values)
{
	for (size_t i = 0; i < values->count; i++) {
		json_object_put(values->items[i].pattern);
		free(values->items[i].text);
	}
	free(values->items);
}

void incidents_clear(struct incidents *incidents)
{
	for (size_t i = 0; i < incidents->count; i++) {
		struct incident *incident = &incidents->items[i];

		for (size_t w = 0; w < incident->word_count; w++)
			free(incident->words[w].text);
		free(incident->words);
		free(incident->spans);
		values_clear(&incident->sources);
		values_clear(&incident->known);
		values_clear(&incident->patterns);
		for (int f = 0; f < FEATURE_COUNT; f++)
			values_clear(&incident->values[f]);
		json_object_put(incident->changes);
	}
	free(incidents->items);
	*incidents = (struct incidents){0};
}
