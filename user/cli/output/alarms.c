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

static void report_alarm(struct report *report, const struct alarm_now *alarm,
			 const struct clock_pair *at)
{
	static const char *const headings[] = {"on over", "off under"};
	char text[ALARM_LINE_MAX];

	report_begin(report, NULL);
	report_text(report, "alarm", NULL, alarm->name);
	report_value(report, "on", json_object_new_boolean(alarm->on));
	report_text(report, NULL, "state", alarm->on ? "on" : "off");
	alarm_since_print(text, sizeof(text), alarm, at);
	report_text(report, NULL, "since", text);
	if (alarm->since_ns)
		report_time(report, "since", NULL, clock_realtime(at, alarm->since_ns));
	report_number(report, "changes", "changes", alarm->changes);
	alarm_rate_print(text, sizeof(text), alarm);
	report_cell(report, "rate", text, true);
	if (alarm->manual) { /* it has no rates, but it may have an end */
		report_value(report, "manual", json_object_new_boolean(true));
		report_none(report, headings[0]);
		snprintf(text, sizeof(text), "-");
		if (alarm->ends_ns) {
			alarm_end_print(text, alarm, at);
			report_time(report, "until", NULL, clock_realtime(at, alarm->ends_ns));
		}
		report_text(report, NULL, headings[1], text);
	} else {
		report_value(report, "counted", json_alarm_amount(alarm, alarm->counted));
		report_value(report, "rate",
			     json_alarm_amount(alarm, (uint64_t)llround(alarm->rate)));
		for (unsigned int phase = 0; phase < 2; phase++) {
			alarm_phase_print(text, alarm, phase);
			report_text(report, phase ? "under" : "over", headings[phase], text);
		}
	}
	report_text(report, NULL, "alarm", alarm->name);
}

static struct json_object *alarms_report(const struct alarms_now *alarms,
					 const struct clock_pair *at, bool document)
{
	static const struct column_drop drops[] = {{1u << 2, REST_USUAL},
						   {1u << 5, REST_USUAL},
						   {1u << 4, REST_USUAL},
						   {1u << 1, REST_LEAST},
						   {0, 0}};
	struct report report = {.columns = drops, .document = document};

	for (uint32_t i = 0; i < alarms->count; i++)
		report_alarm(&report, &alarms->alarm[i], at);
	return report_end(&report);
}

struct json_object *json_alarms(const struct alarms_now *alarms, const struct clock_pair *at)
{
	return alarms_report(alarms, at, true);
}

void json_put_alarms(struct json_object *object, const struct alarms_now *alarms,
		     const struct clock_pair *at)
{
	if (alarms->count)
		json_put(object, "alarms", json_alarms(alarms, at));
}

void alarms_print(const struct alarms_now *alarms, const struct clock_pair *at)
{
	alarms_report(alarms, at, false);
}
