// SPDX-License-Identifier: GPL-2.0-only
/* rlctl events: what has happened to instances, and with --follow what happens. */
#include <stdio.h>

#include "base/message.h"
#include "cli/cmd.h"
#include "cli/events/event_sink.h"
#include "cli/events/event_json.h"
#include "cli/events/journal.h"
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

static int follow(const struct command *command, const struct event_filter *filter,
		  const struct event_sink *sinks)
{
	const char *keep = command->arguments[OPTION_KEEP];
	int ret = 0;

	if (option_given(command, OPTION_SINCE))
		return wrong("events: --since is about the past: leave out --follow");
	if (keep && *keep != '/')
		return wrong("invalid --keep '%s': use the whole path of a folder", keep);
	if (keep)
		ret = journal_keep_in(&command->target, keep);
	return ret ? ret : events_follow(&command->target, filter, sinks, sinks[1].tell ? 2 : 1);
}

int cmd_events(const struct command *command)
{
	struct event_sink sinks[2] = {{.tell = stdout_tell}};
	struct event_filter filter;
	int ret = event_filter_read(command, &filter);

	if (!ret)
		ret = program_sink_open(command, &sinks[1]);
	if (!ret && option_given(command, OPTION_FOLLOW))
		ret = follow(command, &filter, sinks);
	else if (!ret && option_given(command, OPTION_KEEP))
		ret = wrong("events: --keep keeps what comes: add --follow");
	else if (!ret)
		ret = events_past(&command->target, &filter, sinks);
	program_sink_close(&sinks[1]);
	return ret;
}
