/* SPDX-License-Identifier: GPL-2.0-only */
/* The record of a trial among the pins, as every process sees it. */
#ifndef RLCTL_TRIAL_RECORD_H
#define RLCTL_TRIAL_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include "instance.h"

#define TRIAL_PATH_MAX (INSTANCE_PATH_MAX + 16)

struct trial_record {
	uint64_t deadline_ns; /* CLOCK_BOOTTIME: time asleep counts */
	uint32_t state;       /* enum trial_state */
	uint32_t of;          /* enum trial_of */
};

/* Of the trial of the instance whose pins are there. */
void trial_folder_path(const char *pins, char out[TRIAL_PATH_MAX]);
void trial_record_path(const char *pins, char out[TRIAL_PATH_MAX]);
int trial_record_read(int fd, struct trial_record *out);
int trial_record_write(int fd, const struct trial_record *record);
/* The record of the trial that runs: its descriptor, or -ENOENT. */
int trial_record_open(const char *pins, bool write, struct trial_record *out);

/* 0, or reports that a trial runs that is not this process's and returns -EBUSY. */
int trial_refuse(const struct instance *instance);

/* Does somebody attend to a trial of the instance? 0, -ENOENT where not, or another error. Silent.
 */
int trial_check(const char *path);

/* What is in force on trial: unless it is kept in time, of a policy the one `before` comes back,
 * and a limiter is detached. Other writers are refused meanwhile. The trial is the folder `trial`
 * among the pins, which the processes that attend to it hold locked: when they are gone, so is the
 * trial. */
enum trial_state { TRIAL_RUNS, TRIAL_KEPT, TRIAL_UNDONE, TRIAL_GONE /* detached */ };
enum trial_of { TRIAL_OF_POLICY, TRIAL_OF_LIMITER };
/* "policy", "limiter" */
const char *trial_of_name(enum trial_of of);

/* What is on trial, and how long still; -ENOENT where nothing is, another error where nobody can
 * know. Silent. */
struct trial_left {
	enum trial_of of;
	uint64_t ns;
};
int instance_trial_left(const struct instance *instance, struct trial_left *out);

/* Did the processes of a trial end without a decision? */
bool instance_trial_stale(const struct instance *instance);

#endif
