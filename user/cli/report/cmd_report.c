// SPDX-License-Identifier: GPL-2.0-only
/* rlctl report: what attacks the journal has, as something to send to a customer or an upstream. */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/message.h"
#include "base/text.h"
#include "cli/cmd.h"
#include "cli/events/event_sink.h"
#include "cli/events/event_json.h"
#include "cli/events/journal.h"
#include "cli/output/output.h"
#include "cli/report/incidents.h"
#include "cli/report/page.h"
#include "kernel/instance/open.h"

#define SINCE_DEFAULT_NS NS_PER_DAY

/* ---- text, from the document */

static uint64_t number_of(struct json_object *object, const char *key)
{
	return json_object_get_uint64(json_object_object_get(object, key));
}

static void packets_put(const char *before, struct json_object *amount, const char *after)
{
	printf("%s%s%s", before, number_text(number_of(amount, "packets")), after);
}

/* Local time of a member; `unknown` where it has none. */
static void time_put(struct json_object *object, const char *key, const char *unknown)
{
	char text[NUMBER_TEXT_MAX];
	uint64_t ns;

	if (time_parse(event_member(object, key), &ns)) {
		fputs(unknown, stdout);
		return;
	}
	time_print(text, ns, true);
	printf("%.10s %.8s", text, strlen(text) > 11 ? text + 11 : "");
}

static void span_put(struct json_object *object, const char *unknown_begin)
{
	time_put(object, "begin", unknown_begin);
	fputs(" to ", stdout);
	time_put(object, "end", "(no end on record)");
}

static void head_put(struct json_object *incident)
{
	double seconds = json_object_get_double(json_object_object_get(incident, "seconds"));
	struct json_object *dropped = json_object_object_get(incident, "dropped");
	const char *hook = event_member(incident, "hook");
	bool xdp = !strcmp(hook, "xdp");

	text_put(stdout, "", event_member(incident, "device"));
	printf("%s%s: ", xdp ? "" : "/", xdp ? "" : hook);
	span_put(incident, "");
	printf(", %s: ", wait_text((uint64_t)(seconds * (double)NS_PER_SECOND)));
	packets_put(*event_member(incident, "end") ? "" : "at least ", dropped, " packets");
	printf(" (%s) dropped", size_text(number_of(dropped, "bytes")));
	packets_put(", at most ", json_object_object_get(incident, "peak"), " a second\n");
}

static void words_put(struct json_object *incident)
{
	struct json_object *rules = json_object_object_get(incident, "rules");
	struct json_object *alarms = json_object_object_get(incident, "alarms");

	for (size_t i = 0; i < json_object_array_length(alarms); i++) {
		struct json_object *alarm = json_object_array_get_idx(alarms, i);
		uint64_t times = number_of(alarm, "times");

		text_put(stdout, "    alarm ", event_member(alarm, "alarm"));
		printf(" on %" PRIu64 " time%s, from ", times, plural(times));
		span_put(alarm, "?");
		putchar('\n');
	}
	for (size_t i = 0; i < json_object_array_length(rules); i++) {
		struct json_object *rule = json_object_array_get_idx(rules, i);
		struct json_object *dropped = json_object_object_get(rule, "dropped");
		const char *text = event_member(rule, "rule");

		fputs("    ", stdout);
		if (number_of(dropped, "packets"))
			packets_put("", dropped, " dropped");
		else
			packets_put("at most ", json_object_object_get(rule, "peak"),
				    " a second dropped");
		if (!*event_member(rule, "end")) {
			fputs(", since ", stdout);
			time_put(rule, "begin", "?");
			fputs(" without an end on record,", stdout);
		}
		fputs(" by ", stdout);
		text_put(stdout, "", *text ? text : event_member(rule, "reason"));
		putchar('\n');
	}
}

static void addresses_put(struct json_object *incident, const char *label, const char *key)
{
	struct json_object *array = json_object_object_get(incident, key);
	size_t count = json_object_array_length(array);

	for (size_t i = 0; i < count; i++) {
		struct json_object *one = json_object_array_get_idx(array, i);

		fputs(i ? ", " : label, stdout);
		text_put(stdout, "", event_member(one, "address"));
		packets_put(" (", one, ")");
	}
	if (count)
		putchar('\n');
}

static void incident_put(struct json_object *incident)
{
	struct json_object *changes = json_object_object_get(incident, "changes");
	uint64_t bans = number_of(incident, "bans");

	head_put(incident);
	words_put(incident);
	event_common_print(stdout, incident);
	addresses_put(incident, "    from about: ", "sources");
	addresses_put(incident, "    known sources that lost packets, about: ", "known");
	if (bans)
		printf("    %s ban%s\n", number_text(bans), plural(bans));
	for (size_t i = 0; i < json_object_array_length(changes); i++) {
		struct json_object *change = json_object_array_get_idx(changes, i);

		fputs("    ", stdout);
		time_put(change, "time", "?");
		putchar(' ');
		text_put(stdout, "", event_member(change, "text"));
		putchar('\n');
	}
}

static void report_print(struct json_object *document)
{
	struct json_object *incidents = json_object_object_get(document, "incidents");
	struct json_object *smaller = json_object_object_get(document, "smaller");
	uint64_t left_out = number_of(smaller, "incidents");
	size_t count = json_object_array_length(incidents);

	for (size_t i = 0; i < count; i++)
		incident_put(json_object_array_get_idx(incidents, i));
	if (left_out)
		packets_put("", smaller, "");
	if (left_out)
		printf(" packets were dropped in %" PRIu64 " smaller ones\n", left_out);
	if (!count) {
		fputs("no attack is on record since ", stdout);
		time_put(document, "since", "?");
		putchar('\n');
	}
}

/* ---- */

static int followed_find(struct instance *instance, void *arg)
{
	*(bool *)arg |= journal_is_followed(instance->path);
	return 0;
}

int cmd_report(const struct command *command)
{
	uint64_t until_ns = clock_ns(CLOCK_REALTIME), since_ns;
	const char *path = command->arguments[OPTION_WRITE];
	struct event_filter filter = {.kinds = ~0u, .count = UINT32_MAX};
	struct incidents incidents = {0};
	struct json_object *document;
	bool followed = false;
	struct past past;
	int ret = since_get(command, &since_ns);

	if (ret)
		return ret;
	if (!option_given(command, OPTION_SINCE))
		since_ns = until_ns - SINCE_DEFAULT_NS;
	/* One that goes on has an event within that time. Bans in force may have begun at any. */
	filter.since_ns = since_ns > INCIDENT_OPEN_NS ? since_ns - INCIDENT_OPEN_NS : 0;
	ret = past_read(&command->target, &filter, &past);
	for (size_t i = 0; !ret && i < past.count; i++)
		incidents_add(&incidents, past.items[i].object, past.items[i].time_ns);
	past_clear(&past);
	if (ret)
		return ret;
	/* Then what is not on record may have been all the same. */
	if (!instance_for_each(&command->target, followed_find, &followed) && !followed)
		note("report: no follower runs, so that drops and alarms of now are not on record: "
		     "run `systemctl enable --now rlctl-events`, or `rlctl events --follow --keep "
		     "DIR`");
	document = incidents_json(&incidents, since_ns, until_ns);
	incidents_clear(&incidents);
	if (path)
		return page_save(PAGE_INCIDENTS, document, path);
	if (output_json) {
		json_print(document);
		return 0;
	}
	report_print(document);
	json_object_put(document);
	return 0;
}
