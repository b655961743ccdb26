// SPDX-License-Identifier: GPL-2.0-only
/* How many programs run for events at once, for how long, and what is told of those that fail. */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "base/clock.h"
#include "cases.h"
#include "cli/events/event_runner.h"
#include "event_shell.h"

/* ---- how many, and how long */

TEST(order_is_kept, shell_fresh)
{
	struct runner *runner = shell("cat >>out", (struct runner_options){.at_once = 1});

	for (int i = 0; i < 5; i++)
		number_give(runner, i, START_NS);
	settle(runner, START_NS);
	runner_close(runner, 0);
	assert_string_equal(content("out"), "{\"event\":\"alarm-on\",\"count\":0}\n"
					    "{\"event\":\"alarm-on\",\"count\":1}\n"
					    "{\"event\":\"alarm-on\",\"count\":2}\n"
					    "{\"event\":\"alarm-on\",\"count\":3}\n"
					    "{\"event\":\"alarm-on\",\"count\":4}\n");
}

/* Three run, one waits for each of the other places, and the rest is lost, which the program is
 * told. */
TEST(number_is_bounded, shell_fresh)
{
	const struct runner_options options = {.at_once = 3, .queue = 2};
	struct runner *runner = shell("cat >in.$$; echo >>begun; exec sleep 600", options);

	for (int i = 0; i < 9; i++)
		number_give(runner, i, START_NS);
	for (int i = 0; i < PATIENCE_MS && lines("begun") < 3; i++)
		poll(NULL, 0, 1);
	runner_poll(runner, START_NS);
	assert_int_equal(lines("begun"), 3);
	assert_non_null(strstr(
		said, "warning: --exec sh: an event is lost: 3 programs run and 2 events wait"));
	assert_null(strstr(strstr(said, "lost") + 4, "lost"));
	runner_poll(runner, START_NS + RUNNER_TIMEOUT_NS);
	for (int i = 0; i < PATIENCE_MS && lines("begun") < 6; i++) {
		poll(NULL, 0, 1);
		runner_poll(runner, START_NS + RUNNER_TIMEOUT_NS);
	}
	runner_close(runner, 0);
	assert_int_equal(system("grep -q '\"event\":\"lost\",\"count\":4,' in.*"), 0);
}

TEST(time_is_bounded, shell_fresh)
{
	struct runner *runner = shell("trap '' TERM; >begun; while :; do sleep 600; done",
				      (struct runner_options){.timeout_ns = 2 * NS_PER_SECOND});
	uint64_t end_ns = START_NS + 2 * NS_PER_SECOND;

	runner_give(runner, EVENT, START_NS);
	assert_true(appears("begun"));
	assert_int_equal(runner_wait_ms(runner, START_NS), 2000);
	runner_poll(runner, end_ns - 1);
	assert_false(readable(runner, 100));
	runner_poll(runner, end_ns);
	assert_int_equal(runner_wait_ms(runner, end_ns), 1000);
	assert_false(readable(runner, 100));
	runner_poll(runner, end_ns + RUNNER_GRACE_NS);
	settle(runner, end_ns + RUNNER_GRACE_NS);
	runner_close(runner, 0);
	assert_string_equal(
		said,
		"warning: --exec sh: alarm-on: ended after its time limit of 2s (--exec-timeout)\n");
}

/* As long as there is no descriptor for its input, the event waits. */
TEST(start_is_repeated, shell_fresh)
{
	struct runner *runner = shell("cat >out", (struct runner_options){0});
	struct rlimit usual, none;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &usual), 0);
	none = (struct rlimit){.rlim_cur = 0, .rlim_max = usual.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	runner_give(runner, EVENT, START_NS);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &usual), 0);
	assert_string_equal(
		said, "warning: --exec sh: cannot be run yet for alarm-on: Too many open files\n");
	settle(runner, START_NS);
	runner_close(runner, 0);
	assert_string_equal(content("out"), EVENT "\n");
}

/* Also those that have become nobody's children. */
TEST(grandchildren_end, shell_fresh)
{
	struct runner *runner = shell("sleep 600 & echo $! >pid", (struct runner_options){0});
	pid_t pid;
	char stat[64];

	runner_give(runner, EVENT, START_NS);
	settle(runner, START_NS);
	runner_close(runner, 0);
	pid = (pid_t)strtol(content("pid"), NULL, 10);
	assert_true(pid > 1);
	snprintf(stat, sizeof(stat), "/proc/%d/stat", pid);
	for (int i = 0; i < PATIENCE_MS && *content(stat) && !strstr(content(stat), ") Z "); i++)
		poll(NULL, 0, 1);
	assert_true(!*content(stat) || strstr(content(stat), ") Z "));
}

/* By the real time, since it waits. */
TEST(close_waits, shell_fresh)
{
	struct runner *runner =
		shell("sleep 0.2; cat >>out", (struct runner_options){.at_once = 1});

	number_give(runner, 1, clock_ns(CLOCK_MONOTONIC));
	number_give(runner, 2, clock_ns(CLOCK_MONOTONIC));
	runner_close(runner, 60 * NS_PER_SECOND);
	assert_string_equal(said, "");
	assert_int_equal(lines("out"), 2);
}

TEST(close_ends, shell_fresh)
{
	struct runner *runner = shell("exec sleep 600", (struct runner_options){.at_once = 1});

	number_give(runner, 1, clock_ns(CLOCK_MONOTONIC));
	number_give(runner, 2, clock_ns(CLOCK_MONOTONIC));
	runner_close(runner, 0);
	assert_string_equal(said,
			    "warning: --exec sh: 1 events were not given to it before the end\n"
			    "warning: --exec sh: alarm-on: ended early, since rlctl ends\n");
}

/* ---- warnings */

TEST(failures_are_told_once_a_minute, shell_fresh)
{
	struct runner *runner = shell("exit 3", (struct runner_options){0});
	const char *first = "warning: --exec sh: alarm-on: exit status 3\n";

	for (int i = 0; i < 3; i++) {
		runner_give(runner, EVENT, START_NS + i);
		settle(runner, START_NS + i);
		assert_string_equal(said, first);
	}
	said[0] = '\0';
	runner_give(runner, EVENT, START_NS + RUNNER_WARNING_EVERY_NS);
	settle(runner, START_NS + RUNNER_WARNING_EVERY_NS);
	assert_string_equal(said,
			    "warning: --exec sh: alarm-on: exit status 3 (and 2 like it before)\n");
	runner_close(runner, 0);
}

FIXTURE(shell_begin, shell_end)
