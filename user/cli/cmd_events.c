// SPDX-License-Identifier: GPL-2.0-only
/* rlctl events: what has happened to instances, and with --follow what happens. */
#include <stdio.h>

#include "cmd.h"
#include "event_json.h"
#include "event_sink.h"
#include "follow.h"
#include "past.h"
#include "output.h"

static int stdout_tell(void *arg, const char *json, struct json_object *object)
{
	(void)arg;
	if (output_json)
		puts(json);
	else
		event_print(stdout, object);
	return output_flush();
}

int cmd_events(const struct command *command)
{
	const struct event_sink sinks[] = {{.tell = stdout_tell}};

	if (option_given(command, OPTION_FOLLOW))
		return events_follow(&command->target, sinks, 1);
	return events_past(&command->target, sinks);
}
