// SPDX-License-Identifier: GPL-2.0-only
#include "cli/events/event_runner.h"

#include <errno.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/message.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/events/event_json.h"
#include "cli/events/event_program.h"
#include "cli/output/output.h"

#define RESULT_MAX     128
#define EVENT_NAME_MAX 32 /* of an event, in warnings */

/* Warnings of one kind: one a minute, which counts those between. */
struct warnings {
	uint64_t next_ns, silent;
};

struct running {
	pid_t pid; /* leads its session and process group; 0: free */
	int pidfd;
	uint64_t end_ns; /* then SIGTERM, or SIGKILL if it had that */
	bool overdue;
	char event[EVENT_NAME_MAX];
};

struct runner {
	struct event_program program;
	uint32_t at_once, queue_size, queued, first;
	uint64_t timeout_ns;
	uint64_t lost; /* not yet reported to the program */
	bool closing;  /* its programs are ended before their time */
	char **queue;  /* a ring of JSON texts */
	struct running *running;
	int *errors; /* shared with the children: why each could not execute the program */
	int epoll;
	struct warnings failures, losses;
};

/* ---- warnings */

static void __attribute__((format(printf, 4, 5)))
warn(const struct runner *runner, struct warnings *warnings, uint64_t now_ns, const char *format,
     ...)
{
	char text[256], more[NUMBER_TEXT_MAX + 32] = "";
	va_list args;

	if (now_ns < warnings->next_ns) {
		warnings->silent++;
		return;
	}
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if (warnings->silent)
		snprintf(more, sizeof(more), " (and %" PRIu64 " like it before)", warnings->silent);
	note("warning: --exec %s: %s%s", runner->program.given, text, more);
	*warnings = (struct warnings){.next_ns = now_ns + RUNNER_WARNING_EVERY_NS};
}

/* ---- starting */

static int slot_start(struct runner *runner, struct running *slot, const char *json,
		      char **environment)
{
	int *error = &runner->errors[slot - runner->running], input = event_input(json);
	struct epoll_event wanted = {.events = EPOLLIN};

	if (input < 0)
		return input;
	*error = 0;
	slot->pid = fork();
	if (!slot->pid) {
		*error = -event_program_execute(&runner->program, input, environment);
		_exit(127);
	}
	close(input);
	if (slot->pid < 0) {
		slot->pid = 0;
		return -errno;
	}
	/* Watched by a descriptor; without one, runner_poll() finds its end later. */
	slot->pidfd = (int)syscall(SYS_pidfd_open, slot->pid, 0);
	if (slot->pidfd >= 0)
		epoll_ctl(runner->epoll, EPOLL_CTL_ADD, slot->pidfd, &wanted);
	return 0;
}

/* 0 or -errno. */
static int program_start(struct runner *runner, struct running *slot, const char *json,
			 uint64_t now_ns)
{
	json_object *event = json_tokener_parse(json);
	char **environment = event_environment(&runner->program.user, event);
	int ret;

	*slot = (struct running){.pidfd = -1, .end_ns = now_ns + runner->timeout_ns};
	snprintf(slot->event, sizeof(slot->event), "%s", event_member(event, "event"));
	ret = slot_start(runner, slot, json, environment);
	if (ret)
		warn(runner, &runner->failures, now_ns, "cannot be run yet for %s: %s", slot->event,
		     strerror(-ret));
	event_environment_free(environment);
	json_object_put(event);
	return ret;
}

static struct running *slot_free(const struct runner *runner)
{
	for (uint32_t i = 0; i < runner->at_once; i++)
		if (!runner->running[i].pid)
			return &runner->running[i];
	return NULL;
}

static void queue_put(struct runner *runner, const char *json)
{
	runner->queue[(runner->first + runner->queued++) % runner->queue_size] = xstrdup(json);
}

static void queue_drop_first(struct runner *runner)
{
	free(runner->queue[runner->first]);
	runner->first = (runner->first + 1) % runner->queue_size;
	runner->queued--;
}

/* After the events that came before them. */
static void lost_queue(struct runner *runner)
{
	char json[256], time[EVENT_TIME_MAX];

	if (!runner->lost || runner->queued == runner->queue_size)
		return;
	event_time_print(time, clock_ns(CLOCK_REALTIME));
	snprintf(json, sizeof(json),
		 "{\"time\":\"%s\",\"event\":\"lost\",\"count\":%" PRIu64 ",\"text\":\"%" PRIu64
		 " events were not given to the program, which is too slow\"}",
		 time, runner->lost, runner->lost);
	runner->lost = 0;
	queue_put(runner, json);
}

/* An event that nothing could be started for stays the first, until the next time. */
static void queue_start(struct runner *runner, uint64_t now_ns)
{
	struct running *slot;

	lost_queue(runner);
	while (runner->queued && (slot = slot_free(runner)) &&
	       !program_start(runner, slot, runner->queue[runner->first], now_ns)) {
		queue_drop_first(runner);
		lost_queue(runner);
	}
}

void runner_give(struct runner *runner, const char *json, uint64_t now_ns)
{
	runner_poll(runner, now_ns);
	if (runner->queued < runner->queue_size) {
		queue_put(runner, json);
		queue_start(runner, now_ns);
		return;
	}
	runner->lost++;
	warn(runner, &runner->losses, now_ns,
	     "an event is lost: %" PRIu32 " programs run and %" PRIu32
	     " events wait: make it faster, or raise --exec-max",
	     runner->at_once, runner->queue_size);
}

/* ---- ending */

static void result_warn(struct runner *runner, const struct running *slot, int status,
			uint64_t now_ns)
{
	int error = runner->errors[slot - runner->running]; /* 0: it began */
	const char *cause = strerror(error);
	char text[RESULT_MAX];

	if (error == ENOENT)
		cause = "it is missing, or the interpreter that its first line names";
	if (error == ENOEXEC)
		cause = "it is no program: a script begins with #!/bin/sh or the like";
	if (slot->overdue && runner->closing)
		snprintf(text, sizeof(text), "ended early, since rlctl ends");
	else if (slot->overdue)
		snprintf(text, sizeof(text), "ended after its time limit of %s (--exec-timeout)",
			 wait_text(runner->timeout_ns));
	else if (WIFSIGNALED(status))
		snprintf(text, sizeof(text), "ended by signal %d (%s)", WTERMSIG(status),
			 strsignal(WTERMSIG(status)));
	else
		snprintf(text, sizeof(text), "exit status %d", WEXITSTATUS(status));
	if (error)
		warn(runner, &runner->failures, now_ns, "not run for %s: %s", slot->event, cause);
	else if (status || slot->overdue)
		warn(runner, &runner->failures, now_ns, "%s: %s", slot->event, text);
}

/* Has it ended? What it leaves in its group ends with it, before its id can be used again. */
static bool slot_reap(struct runner *runner, struct running *slot, uint64_t now_ns)
{
	siginfo_t info = {0};
	int status = 0;

	if (waitid(P_PID, (id_t)slot->pid, &info, WEXITED | WNOHANG | WNOWAIT) || !info.si_pid)
		return false;
	kill(-slot->pid, SIGKILL);
	waitpid(slot->pid, &status, 0);
	if (slot->pidfd >= 0)
		close(slot->pidfd); /* and with it out of the epoll */
	result_warn(runner, slot, status, now_ns);
	slot->pid = 0;
	return true;
}

void runner_poll(struct runner *runner, uint64_t now_ns)
{
	for (uint32_t i = 0; i < runner->at_once; i++) {
		struct running *slot = &runner->running[i];
		int number = slot->overdue ? SIGKILL : SIGTERM;

		if (!slot->pid || slot_reap(runner, slot, now_ns) || now_ns < slot->end_ns)
			continue;
		/* The whole group; if the child has not made it yet, the child alone. */
		if (kill(-slot->pid, number))
			kill(slot->pid, number);
		slot->overdue = true;
		slot->end_ns = now_ns + RUNNER_GRACE_NS;
	}
	queue_start(runner, now_ns);
}

int runner_fd(const struct runner *runner)
{
	return runner->epoll;
}

int runner_wait_ms(const struct runner *runner, uint64_t now_ns)
{
	uint64_t first_ns = UINT64_MAX;

	for (uint32_t i = 0; i < runner->at_once; i++)
		if (runner->running[i].pid && runner->running[i].end_ns < first_ns)
			first_ns = runner->running[i].end_ns;
	if (first_ns == UINT64_MAX)
		return -1;
	return now_ns < first_ns ? (int)((first_ns - now_ns + NS_PER_MS - 1) / NS_PER_MS) : 0;
}

/* ---- opening and closing */

static void runner_free(struct runner *runner)
{
	while (runner->queued)
		queue_drop_first(runner);
	free(runner->queue);
	free(runner->running);
	if (runner->errors != MAP_FAILED)
		munmap(runner->errors, RUNNER_AT_ONCE_MAX * sizeof(*runner->errors));
	if (runner->epoll >= 0)
		close(runner->epoll);
	event_program_clear(&runner->program);
	free(runner);
}

int runner_open(const struct runner_options *options, struct runner **out)
{
	struct runner *runner = xcalloc(1, sizeof(*runner));
	size_t errors_size = RUNNER_AT_ONCE_MAX * sizeof(*runner->errors);
	int ret = 0;

	runner->at_once = options->at_once ?: RUNNER_AT_ONCE;
	runner->queue_size = options->queue ?: RUNNER_QUEUE;
	runner->timeout_ns = options->timeout_ns ?: RUNNER_TIMEOUT_NS;
	runner->queue = xcalloc(runner->queue_size, sizeof(*runner->queue));
	runner->running = xcalloc(runner->at_once, sizeof(*runner->running));
	runner->errors =
		mmap(NULL, errors_size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	runner->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (runner->errors == MAP_FAILED || runner->epoll < 0)
		ret = fail("--exec %s: %s", options->program, strerror(errno));
	ret = ret
		      ?: event_program_find(options->program, options->arguments,
					    options->argument_count, options->user,
					    &runner->program);
	if (ret)
		runner_free(runner);
	else
		*out = runner;
	return ret ? -1 : 0;
}

/* Until none runs, or until that time. */
static void programs_wait(struct runner *runner, uint64_t until_ns)
{
	for (;;) {
		struct pollfd ended = {.fd = runner->epoll, .events = POLLIN};
		uint64_t now_ns = clock_ns(CLOCK_MONOTONIC), left_ms;
		int wait_ms;

		runner_poll(runner, now_ns);
		wait_ms = runner_wait_ms(runner, now_ns);
		if (wait_ms < 0 || now_ns >= until_ns)
			return;
		left_ms = (until_ns - now_ns + NS_PER_MS - 1) / NS_PER_MS;
		poll(&ended, 1, left_ms < (uint64_t)wait_ms ? (int)left_ms : wait_ms);
	}
}

void runner_close(struct runner *runner, uint64_t patience_ns)
{
	uint64_t lost;

	if (!runner)
		return;
	programs_wait(runner, clock_ns(CLOCK_MONOTONIC) + patience_ns);
	lost = runner->lost + runner->queued;
	runner->lost = 0;
	while (runner->queued)
		queue_drop_first(runner);
	if (lost)
		note("warning: --exec %s: %" PRIu64 " events were not given to it before the end",
		     runner->program.given, lost);
	runner->closing = true;
	for (uint32_t i = 0; i < runner->at_once; i++)
		runner->running[i].end_ns = 0;
	programs_wait(runner, clock_ns(CLOCK_MONOTONIC) + 2 * RUNNER_GRACE_NS);
	runner_free(runner);
}
