// SPDX-License-Identifier: GPL-2.0-only
#include "cli/events/event_sink.h"

#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/privilege.h"
#include "base/units.h"
#include "cli/events/event_runner.h"

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

static int timeout_get(const struct command *command, uint64_t *out_ns)
{
	const char *word = command->arguments[OPTION_EXEC_TIMEOUT];

	if (!word)
		return 0;
	if (duration_parse(word, out_ns) || *out_ns < RUNNER_TIMEOUT_MIN_NS ||
	    *out_ns > RUNNER_TIMEOUT_MAX_NS)
		return wrong(
			"invalid --exec-timeout '%s': use a time from 100ms to 1h, such as 30s",
			word);
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
		return wrong("events: arguments behind -- are for a program: add --exec PROGRAM");
	return 0;
}

int program_sink_open(const struct command *command, struct event_sink *out)
{
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
	if (!ret)
		ret = timeout_get(command, &options.timeout_ns);
	if (ret)
		return ret;
	privileges_raise(PRIVILEGES_USER, &raised);
	ret = runner_open(&options, &runner);
	if (!ret)
		*out = (struct event_sink){program_tell, program_turn, runner};
	return ret;
}

void program_sink_close(const struct event_sink *sink)
{
	if (sink->tell)
		runner_close(sink->arg, PATIENCE_NS);
}
