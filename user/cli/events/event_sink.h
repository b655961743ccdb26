/* SPDX-License-Identifier: GPL-2.0-only */
/* Receivers of events: standard output, the journal, and whoever else is to be told. */
#pragma once

#include <json-c/json.h>

#include "watch/event.h"

/* At most so many bytes has the JSON text of an event, with the NUL. */
#define EVENT_JSON_MAX 16384

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

#define EVENT_SINKS_MAX 4
