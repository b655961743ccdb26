// SPDX-License-Identifier: GPL-2.0-only
/* rlctl events: what has happened to instances, and with --follow what happens. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/privilege.h"
#include "base/text.h"
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

/* ---- which events are shown */

#define BIT(kind)                (1u << EVENT_##kind)

#define GROUP(name, text, group) group,
static const char *const groups[EVENT_KIND_COUNT] = {EVENT_KINDS(GROUP)};

static bool is_word(const char *text, size_t len, const char *word)
{
	return strlen(word) == len && !memcmp(text, word, len);
}

static int only_read(const char *words, uint32_t *out)
{
	*out = 0;
	for (;;) {
		size_t len = strcspn(words, ",");
		uint32_t kinds = 0;

		for (int i = 0; i < EVENT_KIND_COUNT; i++)
			if (is_word(words, len, event_words[i]) || is_word(words, len, groups[i]))
				kinds |= 1u << i;
		if (!kinds)
			return wrong("invalid --only '%.*s': use drops, alarms, bans, sets, "
				     "changes, fleet, or events such as drops-begin, with commas",
				     (int)len, words);
		*out |= kinds;
		if (!words[len])
			return 0;
		words += len + 1;
	}
}

/* Local time, as `events` prints it, or that of a day or within the last one. */
static int local_parse(const char *word, uint64_t now_ns, uint64_t *out_ns)
{
	static const char *const forms[] = {"%Y-%m-%d %H:%M:%S", "%Y-%m-%d %H:%M", "%Y-%m-%d",
					    "%H:%M:%S", "%H:%M"};
	time_t now = (time_t)(now_ns / NS_PER_SECOND), then;

	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		bool is_clock = forms[i][1] == 'H';
		struct tm tm = {0};
		const char *end;

		if (is_clock)
			localtime_r(&now, &tm);
		tm.tm_sec = 0;
		end = strptime(word, forms[i], &tm);
		if (!end || (*end && *end != '.') || strspn(end, ".0123456789") != strlen(end))
			continue;
		tm.tm_isdst = -1;
		then = mktime(&tm);
		if (is_clock && then > now) {
			tm.tm_mday--;
			tm.tm_isdst = -1;
			then = mktime(&tm);
		}
		if (then < 0)
			continue;
		*out_ns = (uint64_t)then * NS_PER_SECOND;
		return 0;
	}
	return -EINVAL;
}

int since_get(const struct command *command, uint64_t *out_ns)
{
	const char *word = command->arguments[OPTION_SINCE];
	uint64_t now_ns = clock_ns(CLOCK_REALTIME), ago_ns;

	*out_ns = 0;
	if (!word || !time_parse(word, out_ns) || !local_parse(word, now_ns, out_ns))
		return 0;
	if (duration_parse(word, &ago_ns))
		return wrong("invalid --since '%s': use a duration such as 2h, or a time such as "
			     "21:00, '2026-11-24 21:00:00' or 2026-11-24T21:00:00Z",
			     word);
	*out_ns = now_ns > ago_ns ? now_ns - ago_ns : 0;
	return 0;
}

int event_filter_read(const struct command *command, struct event_filter *out)
{
	const char *only = command->arguments[OPTION_ONLY];
	int ret = since_get(command, &out->since_ns);

	out->kinds = ~0u;
	if (!ret && only)
		ret = only_read(only, &out->kinds);
	out->bans = out->kinds & (BIT(BAN_BEGIN) | BIT(LOST));
	return ret
		       ?: option_number(command, OPTION_PACKETS, UINT32_MAX - 1, UINT32_MAX,
					&out->count);
}

int event_kind_of(struct json_object *event)
{
	const char *word = event_member(event, "event");

	for (int i = 0; i < EVENT_KIND_COUNT; i++)
		if (!strcmp(word, event_words[i]))
			return i;
	return -1;
}

bool event_filter_takes(const struct event_filter *filter, struct json_object *event,
			uint64_t time_ns)
{
	int kind = event_kind_of(event);

	return time_ns >= filter->since_ns &&
	       (filter->kinds == ~0u || (kind >= 0 && filter->kinds & 1u << kind));
}
