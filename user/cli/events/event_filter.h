/* SPDX-License-Identifier: GPL-2.0-only */
/* Which events are shown: --since, --only and --count. */
#pragma once

#include <json-c/json.h>

#include "cli/cmd.h"
#include "watch/events/event.h"

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
