// SPDX-License-Identifier: GPL-2.0-only
/* rlctl events: what has happened to instances, and with --follow what happens. */
#include <stdio.h>

#include "cli/cmd.h"
#include "cli/events/event_json.h"
#include "cli/events/event_sink.h"
#include "cli/output/output.h"

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
	struct event_sink sinks[2] = {{.tell = stdout_tell}};
	int ret = program_sink_open(command, &sinks[1]);

	if (!ret && option_given(command, OPTION_FOLLOW))
		ret = events_follow(&command->target, sinks, sinks[1].tell ? 2 : 1);
	else if (!ret)
		ret = events_past(&command->target, sinks);
	program_sink_close(&sinks[1]);
	return ret;
}
