/* SPDX-License-Identifier: GPL-2.0-only */
/* Runs a program for each event, which it gets as a line of JSON on standard input: in the order of
 * the events, a bounded number at once, each for a bounded time. Nothing here waits for a program,
 * except for runner_close(). Times are CLOCK_MONOTONIC in nanoseconds.
 */
#pragma once

#include <stdint.h>

#define RUNNER_AT_ONCE          4u
#define RUNNER_AT_ONCE_MAX      64u
#define RUNNER_QUEUE            64u /* events that wait because all programs are busy */
#define RUNNER_TIMEOUT_NS       10000000000ull
#define RUNNER_TIMEOUT_MIN_NS   100000000ull
#define RUNNER_TIMEOUT_MAX_NS   3600000000000ull
#define RUNNER_GRACE_NS         1000000000ull /* from SIGTERM to SIGKILL */
#define RUNNER_WARNING_EVERY_NS 60000000000ull

struct runner_options {
	const char *program; /* path, or a name that is searched for in EVENT_PATH; must stay */
	char *const *arguments;
	int argument_count;
	const char *user;    /* see event_program_find() */
	uint32_t at_once;    /* 1..RUNNER_AT_ONCE_MAX; 0: RUNNER_AT_ONCE */
	uint32_t queue;      /* 0: RUNNER_QUEUE */
	uint64_t timeout_ns; /* RUNNER_TIMEOUT_MIN_NS..MAX; 0: RUNNER_TIMEOUT_NS */
};

struct runner;

/* Checks the program and the user. The process needs CAP_SETUID, CAP_SETGID and CAP_KILL for as
 * long as it runs programs of another user. 0 or -1; reports. */
int runner_open(const struct runner_options *options, struct runner **out);

/* Starts the program for this event, or queues it. If the queue is full, the event is lost: the
 * program gets an event `lost` with their number as soon as there is room. `json` is one document;
 * its members event, device and text become RLCTL_EVENT, RLCTL_DEVICE and RLCTL_TEXT. */
void runner_give(struct runner *runner, const char *json, uint64_t now_ns);

/* Ends programs whose time is over, starts those that wait. Call it when runner_fd() is readable,
 * and at the latest after runner_wait_ms(). */
void runner_poll(struct runner *runner, uint64_t now_ns);

/* Readable when a program has ended. */
int runner_fd(const struct runner *runner);
/* Until the time of a program is over, rounded up; -1 if none runs. */
int runner_wait_ms(const struct runner *runner, uint64_t now_ns);

/* Waits this long at most for all programs, also those that still wait, then ends them; frees the
 * runner. NULL is accepted. */
void runner_close(struct runner *runner, uint64_t patience_ns);
