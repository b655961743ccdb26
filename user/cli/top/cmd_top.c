// SPDX-License-Identifier: GPL-2.0-only
/* rlctl top: the busiest sources, destinations, rules or patterns, live; --once and -j print one
 * snapshot. */
#include <errno.h>
#include <poll.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/message.h"
#include "base/privilege.h"
#include "base/units.h"
#include "cli/cmd.h"
#include "cli/output/output.h"
#include "cli/top/top.h"
#include "kernel/instance/instance.h"
#include "kernel/instance/open.h"
#include "kernel/instance/selection.h"
#include "kernel/watch/watch.h"

#define RATE_USUAL  2000u
#define SECONDS_MAX 86400u
#define WAIT_MS     200
#define ROWS_READ   1000 /* rows of a snapshot whose state is read */

/* ---- one snapshot */

static int top_once(const struct command *command, struct top *top, uint32_t seconds)
{
	uint64_t end_ns = clock_ns(CLOCK_MONOTONIC) + seconds * NS_PER_SECOND;
	struct pollfd fd = {.fd = watch_fd(top->watch), .events = POLLIN};
	int ret = 0;

	while (!ret && clock_ns(CLOCK_MONOTONIC) < end_ns) {
		if (poll(&fd, 1, WAIT_MS) < 0 && errno != EINTR)
			return -errno;
		ret = top_drain(top);
	}
	ret = ret ?: top_finish(top);
	ret = ret ?: top_turn(top, ROWS_READ);
	if (ret)
		return ret;
	if (output_json)
		document_print(command, snapshot_json(top));
	else
		snapshot_print(top, command->target.many);
	return 0;
}

/* ---- */

static int filter_option(const struct command *command, struct top_filter *filter)
{
	const char *word = command->arguments[OPTION_PREFIX];

	if (!word)
		return 0;
	if (command->choices[OPTION_BY] >= TOP_BY_RULE)
		return wrong("top: --prefix does not apply to --by rule or pattern: leave one out");
	if (prefix_parse(word, filter->addr, &filter->len, NULL))
		return wrong("invalid --prefix '%s': use an IPv4 or IPv6 address, with /LEN for a "
			     "prefix "
			     "whose host bits are zero",
			     word);
	filter->set = true;
	return 0;
}

/* Common to all instances. */
struct run {
	enum top_by by; /* the first view */
	struct top_filter filter;
	uint32_t rate, seconds;
	bool once, next, has_next;
	bool last; /* no other instance is opened: capabilities can go */
};

static int run_one(const struct command *command, void *arg)
{
	struct run *run = arg;
	struct instance instance;
	struct top top;
	int ret = instance_open_shared(&command->target, &instance);

	if (ret)
		return ret;
	ret = top_open(&instance, run->rate, run->by, false, &top);
	if (!ret) {
		top.bpffs = command->target.bpffs;
		top.has_next = run->has_next;
		top.filter[run->by] = run->filter;
		if (run->once && run->last && privileges_drop())
			ret = -1;
		else
			ret = run->once ? top_once(command, &top, run->seconds)
					: top_show(&top, &run->next);
		top_close(&top);
	}
	instance_close(&instance);
	return ret;
}

/* One instance after the other, in a circle. One that is gone meanwhile ends it. */
static int run_live(const struct command *command, struct run *run)
{
	struct command one = *command;
	struct places places;
	int ret;

	if (!one.target.device)
		one.target.device = SELECTION_ALL;
	ret = places_choose(&one.target, &places);
	run->has_next = places.count > 1;
	run->next = true;
	for (size_t i = 0; !ret && run->next; i = (i + 1) % places.count) {
		one.target = target_of(&one.target, &places.items[i]);
		run->next = false;
		ret = run_one(&one, run);
	}
	places_clear(&places);
	return ret;
}

int cmd_top(const struct command *command)
{
	struct run run = {.by = command->choices[OPTION_BY],
			  .once = output_json || option_given(command, OPTION_ONCE)};
	int ret = option_number(command, OPTION_RATE, WATCH_RATE_MAX, RATE_USUAL, &run.rate);

	ret = ret ?: option_number(command, OPTION_SECONDS, SECONDS_MAX, 1, &run.seconds);
	ret = ret ?: filter_option(command, &run.filter);
	if (!ret && !run.once && option_given(command, OPTION_SECONDS))
		ret = wrong("top: --seconds applies only to --once and --json: add one of them");
	if (!ret && !run.once && (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO)))
		ret = fail("top: not a terminal: use --once for one snapshot, or -j for JSON");
	if (ret)
		return ret;
	run.last = !command->target.device || !selection_is_many(command->target.device);
	return run.once ? targets_read(command, run_one, &run) : run_live(command, &run);
}
