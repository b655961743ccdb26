// SPDX-License-Identifier: GPL-2.0-only
/* Alarms as JSON, whose keys are stable, and as tables. */

#include "cli/output/stats_output.h"

#include <math.h>

#include "base/text.h"
#include "cli/output/output.h"
#include "watch/events/alarms.h"

struct json_object *json_alarm_amount(const struct alarm_now *alarm, uint64_t amount)
{
	struct json_object *object = json_object_new_object();

	json_put_number(object, alarm->unit == RL_PACKETS ? "packets" : "bytes", amount);
	return object;
}

static struct json_object *json_alarm(const struct alarm_now *alarm, const struct clock_pair *at)
{
	struct json_object *object = json_object_new_object();
	char text[ALARM_PHASE_MAX + NUMBER_TEXT_MAX];

	json_put_text(object, "alarm", alarm->name);
	json_put_bool(object, "on", alarm->on);
	if (alarm->since_ns)
		json_put_time(object, "since", clock_realtime(at, alarm->since_ns));
	json_put_number(object, "changes", alarm->changes);
	if (alarm->manual) {
		json_put_bool(object, "manual", true);
		if (alarm->ends_ns)
			json_put_time(object, "until", clock_realtime(at, alarm->ends_ns));
		return object;
	}
	json_put(object, "counted", json_alarm_amount(alarm, alarm->counted));
	json_put(object, "rate", json_alarm_amount(alarm, (uint64_t)llround(alarm->rate)));
	for (unsigned int phase = 0; phase < 2; phase++) {
		alarm_phase_print(text, alarm, phase);
		json_put_text(object, phase ? "under" : "over", text);
	}
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

static void report_alarm(struct report *report, const struct alarm_now *alarm,
			 const struct clock_pair *at)
{
	static const char *const headings[] = {"on over", "off under"};
	char text[ALARM_LINE_MAX];

	report_begin(report, NULL);
	report_text(report, NULL, "state", alarm->on ? "on" : "off");
	alarm_since_print(text, sizeof(text), alarm, at);
	report_text(report, NULL, "since", text);
	report_number(report, NULL, "changes", alarm->changes);
	alarm_rate_print(text, sizeof(text), alarm);
	report_cell(report, "rate", text, true);
	for (unsigned int phase = 0; phase < 2; phase++) {
		/* A manual one has no rates, but it may have an end. */
		if (!alarm->manual)
			alarm_phase_print(text, alarm, phase);
		else if (phase && alarm->ends_ns)
			alarm_end_print(text, alarm, at);
		report_text(report, NULL, headings[phase],
			    alarm->manual && !(phase && alarm->ends_ns) ? "-" : text);
	}
	report_text(report, NULL, "alarm", alarm->name);
}

void alarms_print(const struct alarms_now *alarms, const struct clock_pair *at)
{
	static const struct column_drop drops[] = {{1u << 2, REST_USUAL},
						   {1u << 5, REST_USUAL},
						   {1u << 4, REST_USUAL},
						   {1u << 1, REST_LEAST},
						   {0, 0}};
	struct report report = {.columns = drops};

	for (uint32_t i = 0; i < alarms->count; i++)
		report_alarm(&report, &alarms->alarm[i], at);
	report_end(&report);
}
