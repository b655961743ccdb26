/* SPDX-License-Identifier: GPL-2.0-only */
/* Which events are shown, and their receivers: standard output, and others. */
#pragma once

#include <json-c/json.h>
#include <stddef.h>

#include "cli/cmd.h"
#include "kernel/instance/instance.h"
#include "watch/events/event.h"

/* At most so many bytes has the JSON text of an event, with the NUL. */
#define EVENT_JSON_MAX 16384

/* ---- which events are shown: --since, --only and --count */

struct event_filter {
	uint64_t since_ns; /* CLOCK_REALTIME; 0: all */
	uint32_t kinds;    /* a bit each */
	bool bans;         /* those in force are read from the maps as well */
	uint32_t count;    /* the last ones, or the next; UINT32_MAX: all */
};
_Static_assert(EVENT_KIND_COUNT <= 32, "event_filter.kinds");

/* 0 or EXIT_USAGE; reports. */
int event_filter_read(const struct command *command, struct event_filter *out);

/* Does it take an event of that time? Not --count. */
bool event_filter_takes(const struct event_filter *filter, struct json_object *event,
			uint64_t time_ns);

/* The kind of an event, or -1. */
int event_kind_of(struct json_object *event);

/* "2h": so long ago; "21:00", "2026-11-24 21:00:00": local time; "2026-11-24T21:00:00Z". As
 * CLOCK_REALTIME; 0 without the option. 0 or EXIT_USAGE; reports. */
int since_get(const struct command *command, uint64_t *out_ns);

/* ---- receivers */

struct event_sink {
	/* Called once for each event: `json` is one line of ASCII without the newline, `object` the
	 * same parsed; both are the caller's and end with the call. Returns 0, or < 0 to end the
	 * command, after a report. Must not wait: the packets' events go on meanwhile. */
	int (*tell)(void *arg, const char *json, struct json_object *object);
	/* Called in each round, about ten times a second, whether there was an event or not; NULL:
	 * nothing to do. 0, or < 0 to end the command. */
	int (*turn)(void *arg);
	void *arg;
};

/* ---- follows instances: those that are there, and those that come */

/* Passes the events that the filter takes to the sinks until a signal, or until nobody reads
 * standard output. The journal gets all of them. 0, or < 0 after a report. */
int events_follow(const struct target *target, const struct event_filter *filter,
		  const struct event_sink *sinks, size_t count);

/* ---- the past as far as it is known */

/* Passes to the sink those that the filter takes of the events in the journals and what the maps
 * show now: since when an instance is attached, which alarms are on, which bans are in force. In
 * the order of time. 0, or < 0 after a report. */
int events_past(const struct target *target, const struct event_filter *filter,
		const struct event_sink *sink);

/* The same as a list in the order of time, for a report: to be freed by past_clear(). */
struct past_event {
	struct json_object *object;
	int kind; /* enum event_kind, or -1 */
	uint64_t time_ns, until_ns;
	size_t number; /* in the order in which they were found */
};

struct past {
	struct past_event *items;
	size_t count, room;
	size_t journal; /* the first ones, which are of journals */
	const struct event_filter *filter;
	uint64_t now_ns;
};

int past_read(const struct target *target, const struct event_filter *filter, struct past *out);
void past_clear(struct past *past);
