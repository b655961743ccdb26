// SPDX-License-Identifier: GPL-2.0-only
/* Alarms as JSON, whose keys are stable, and as tables. */

#include "cli/output/alarms_output.h"

#include <math.h>

#include "base/text.h"
#include "cli/output/output.h"
#include "watch/alarm_text.h"

struct json_object *json_alarm_amount(const struct alarm_now *alarm, uint64_t amount)
{
	struct json_object *object = json_object_new_object();

	json_put_number(object, alarm->unit == RL_PACKETS ? "packets" : "bytes", amount);
	return object;
}

static void json_put_phase(struct json_object *object, const char *key,
			   const struct alarm_now *alarm, unsigned int phase)
{
	char text[ALARM_PHASE_MAX];

	alarm_phase_print(text, alarm, phase);
	json_put_text(object, key, text);
}

static struct json_object *json_alarm(const struct alarm_now *alarm, const struct clock_pair *at)
{
	struct json_object *object = json_object_new_object();
	char text[NUMBER_TEXT_MAX];

	json_put_text(object, "alarm", alarm->name);
	json_put_bool(object, "on", alarm->on);
	if (alarm->since_ns) {
		time_print(text, clock_realtime(at, alarm->since_ns), false);
		json_put_text(object, "since", text);
	}
	json_put_number(object, "changes", alarm->changes);
	if (alarm->manual) {
		json_put_bool(object, "manual", true);
		if (alarm->ends_ns) {
			time_print(text, clock_realtime(at, alarm->ends_ns), false);
			json_put_text(object, "until", text);
		}
		return object;
	}
	json_put(object, "counted", json_alarm_amount(alarm, alarm->counted));
	json_put(object, "rate", json_alarm_amount(alarm, (uint64_t)llround(alarm->rate)));
	json_put_phase(object, "over", alarm, 0);
	json_put_phase(object, "under", alarm, 1);
	return object;
}

struct json_object *json_alarms(const struct alarms_now *alarms, const struct clock_pair *at)
{
	struct json_object *array = json_object_new_array();

	for (uint32_t i = 0; i < alarms->count; i++)
		json_append(array, json_alarm(&alarms->alarm[i], at));
	return array;
}

void json_put_alarms(struct json_object *object, const struct alarms_now *alarms,
		     const struct clock_pair *at)
{
	if (alarms->count)
		json_put(object, "alarms", json_alarms(alarms, at));
}

/* A manual one has no rates, but it may have an end. */
static void phase_cell(struct table *table, const struct alarm_now *alarm, unsigned int phase,
		       const struct clock_pair *at)
{
	char text[ALARM_PHASE_MAX] = "-";

	if (!alarm->manual)
		alarm_phase_print(text, alarm, phase);
	else if (phase && alarm->ends_ns)
		alarm_end_print(text, alarm, at);
	table_cell(table, text);
}

static void alarm_row(struct table *table, const struct alarm_now *alarm,
		      const struct clock_pair *at)
{
	char text[ALARM_LINE_MAX];

	table_cell(table, alarm->on ? "on" : "off");
	alarm_since_print(text, sizeof(text), alarm, at);
	table_cell(table, text);
	table_number(table, alarm->changes);
	alarm_rate_print(text, sizeof(text), alarm);
	table_cell(table, text);
	for (unsigned int phase = 0; phase < 2; phase++)
		phase_cell(table, alarm, phase, at);
	table_cell(table, alarm->name);
}

void alarms_print(const struct alarms_now *alarms, const struct clock_pair *at)
{
	static const char *const headings[] = {"state",   "since",     "changes", "rate",
					       "on over", "off under", "alarm"};
	const size_t columns = sizeof(headings) / sizeof(headings[0]);
	static const struct column_drop drops[] = {{1u << 2, REST_USUAL},
						   {1u << 5, REST_USUAL},
						   {1u << 4, REST_USUAL},
						   {1u << 1, REST_LEAST},
						   {0, 0}};
	struct table table = {.columns = columns, .right = 1u << 2 | 1u << 3, .drops = drops};

	for (size_t i = 0; i < columns; i++)
		table_cell(&table, headings[i]);
	for (uint32_t i = 0; i < alarms->count; i++)
		alarm_row(&table, &alarms->alarm[i], at);
	table_print(&table);
}
