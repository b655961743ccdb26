/* SPDX-License-Identifier: GPL-2.0-only */
/* --try: policies or limiters on trial, one for each device of the command. They are undone
 * together unless confirmed in time. */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "cli/terminal.h"
#include "kernel/attach/trial.h"
#include "policy/origin.h"

struct trials {
	uint64_t duration_ns;
	uint64_t deadline_ns; /* CLOCK_BOOTTIME; 0: none yet */
	struct trial *items;
	size_t count;
	int line;    /* to the watcher, which sees it close when this process ends */
	int gathers; /* receives the trials that processes of this command begin ... */
	int tells;   /* ... and send here */
	pid_t watcher;
	int signals; /* signals_open() */
	struct terminal terminal;
	char last[80];
};

/* Nothing to close. */
#define TRIALS_NONE                                    \
	{                                              \
		.line = -1, .gathers = -1, .tells = -1 \
	}

/* Starts the watcher of limiters that are about to be attached. Close it in any case. */
int limiters_try_begin(struct trials *trials, uint64_t duration_ns);
/* Begins the trial of one of them, in this process or in one that it forked: `ready` of struct
 * attach_options. */
int limiter_try(const struct attach_point *point, void *trials);
/* Takes over the trials that have begun. A process that waits for others calls it after each. */
void limiters_gather(struct trials *trials);
/* Once all are attached: waits for the end of the trial. `words` select the devices. 0: confirmed.
 */
int limiters_try(struct trials *trials, const char *words);
void trials_close(struct trials *trials);

/* A policy that is to be tried, on an instance that is open for writing. */
struct policy_try {
	const struct target *target;
	struct instance *instance;
	struct policy *next;
	struct policy *former; /* receives the previous policy */
	bool kept;
};

/* Puts them in force, all or none, and restores the previous ones unless confirmed in time.
 * Releases the writers' locks. 0: confirmed. */
int policies_try(struct policy_try *items, size_t count, const struct policy_source *file,
		 uint64_t duration_ns, const char *words);

/* ---- try_watcher.c: for these alone */

void trials_add(struct trials *trials, const struct trial *trial);
uint64_t trials_left_ns(const struct trials *trials);
/* Milliseconds left, at most `most`. */
int trials_wait_ms(const struct trials *trials, int most);
/* Sends a trial with its descriptors. 0 or -errno. */
int trial_send(int to, const struct trial *trial);
/* Receives one, or a deadline; false: nothing came, or the other end is closed. */
bool trials_receive(struct trials *trials, int from, int flags);
/* Returns when the watcher is in its own session, unaffected by the end of this one. 0 or -1. */
int watcher_start(struct trials *trials);
