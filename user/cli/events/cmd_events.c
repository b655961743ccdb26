// SPDX-License-Identifier: GPL-2.0-only
/* rlctl events: what has happened to instances, and with --follow what happens. */

#include <stdio.h>
#include <time.h>

#include "base/clock.h"
#include "base/privilege.h"
#include "base/units.h"
#include "cli/cmd.h"
#include "cli/events/event_json.h"
#include "cli/events/event_runner.h"
#include "cli/events/event_sink.h"
#include "cli/events/journal.h"
#include "cli/output/output.h"

/* ---- the receiver that --exec names: a program that is run for each event */

#define PATIENCE_NS (3 * NS_PER_SECOND)

/* With root's user id alone: others can only run programs as themselves. */
#define PRIVILEGES_USER (PRIVILEGE_BIT(SETUID) | PRIVILEGE_BIT(SETGID) | PRIVILEGE_BIT(KILL))

static int program_tell(void *arg, const char *json, struct json_object *object)
{
	(void)object;
	runner_give(arg, json, clock_ns(CLOCK_MONOTONIC));
	return 0;
}

static int program_turn(void *arg)
{
	runner_poll(arg, clock_ns(CLOCK_MONOTONIC));
	return 0;
}

static int options_check(const struct command *command)
{
	static const enum option_id with[] = {OPTION_USER, OPTION_EXEC_MAX, OPTION_EXEC_TIMEOUT};

	if (option_given(command, OPTION_EXEC) && !option_given(command, OPTION_FOLLOW))
		return wrong("events: --exec runs a program for events to come: add --follow");
	if (option_given(command, OPTION_EXEC))
		return 0;
	for (size_t i = 0; i < sizeof(with) / sizeof(*with); i++)
		if (option_given(command, with[i]))
			return wrong("events: --%s without --exec PROGRAM: add it, or leave it out",
				     option_rows[with[i]].name);
	if (command->rest_count)
		return wrong("events: arguments after -- are for a program: add --exec PROGRAM");
	return 0;
}

/* Reads --exec, --user, --exec-max, --exec-timeout and the words after `--`, and checks the
 * program; raises the privileges that it needs to run as another user. Without --exec, out->tell is
 * NULL. 0, -1 or EXIT_USAGE; reports. */
static int program_sink_open(const struct command *command, struct event_sink *out)
{
	const char *timeout = command->arguments[OPTION_EXEC_TIMEOUT];
	struct runner_options options = {.program = command->arguments[OPTION_EXEC],
					 .arguments = command->rest,
					 .argument_count = command->rest_count,
					 .user = command->arguments[OPTION_USER]};
	struct runner *runner;
	uint32_t raised;
	int ret = options_check(command);

	*out = (struct event_sink){0};
	if (ret || !options.program)
		return ret;
	ret = option_number(command, OPTION_EXEC_MAX, RUNNER_AT_ONCE_MAX, RUNNER_AT_ONCE,
			    &options.at_once);
	if (ret)
		return ret;
	if (timeout && (duration_parse(timeout, &options.timeout_ns) ||
			options.timeout_ns < RUNNER_TIMEOUT_MIN_NS ||
			options.timeout_ns > RUNNER_TIMEOUT_MAX_NS))
		return wrong(
			"invalid --exec-timeout '%s': use a time from 100ms to 1h, such as 30s",
			timeout);
	privileges_raise(PRIVILEGES_USER, &raised);
	ret = runner_open(&options, &runner);
	if (!ret)
		*out = (struct event_sink){program_tell, program_turn, runner};
	return ret;
}

/* ---- the verb */

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

	ret = ret ?: program_sink_open(command, &sinks[1]);
	if (!ret && option_given(command, OPTION_FOLLOW))
		ret = follow(command, &filter, sinks);
	else if (!ret && option_given(command, OPTION_KEEP))
		ret = wrong("events: --keep keeps what comes: add --follow");
	else if (!ret)
		ret = events_past(&command->target, &filter, sinks);
	if (sinks[1].tell) /* programs that run may end within a few seconds */
		runner_close(sinks[1].arg, PATIENCE_NS);
	return ret;
}
