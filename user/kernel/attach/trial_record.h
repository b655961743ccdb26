/* SPDX-License-Identifier: GPL-2.0-only */
/* Reads and writes the record of a trial in the pin directory. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "kernel/instance/instance.h"

#define TRIAL_PATH_MAX (INSTANCE_PATH_MAX + 16)

struct trial_record {
	uint64_t deadline_ns; /* CLOCK_BOOTTIME, which includes suspend */
	uint32_t state;       /* enum trial_state */
	uint32_t kind;        /* enum trial_kind */
};

/* Path of the trial directory, for the instance pinned at `pins`. */
void trial_folder_path(const char *pins, char out[TRIAL_PATH_MAX]);
int trial_record_read(int fd, struct trial_record *out);
/* Descriptor of the record of a running trial, or -ENOENT. */
int trial_record_open(const char *pins, bool write, struct trial_record *out);

/* -EBUSY if a trial of another process runs. Reports. */
int trial_refuse(const struct instance *instance);

/* 0 if a process runs a trial of the instance, -ENOENT if none does, or another error. Silent. */
int trial_check(const char *path);

/* A trial undoes itself at its deadline unless confirmed: a policy is replaced by the previous one,
 * an instance is detached. Other writers are refused meanwhile. The processes that run the trial
 * hold a lock on the directory `trial` among the pins; when they end, so does the trial. */
enum trial_state {
	TRIAL_RUNS,
	TRIAL_KEPT,
	TRIAL_UNDONE,
	TRIAL_GONE /* the instance was detached */
};
enum trial_kind { TRIAL_POLICY, TRIAL_LIMITER };
/* "policy", "limiter" */
const char *trial_kind_name(enum trial_kind kind);

/* The kind of the running trial and its remaining time; -ENOENT if there is none, another error if
 * that cannot be determined. Silent. */
struct trial_left {
	enum trial_kind kind;
	uint64_t ns;
};
int instance_trial_left(const struct instance *instance, struct trial_left *out);

/* Did the processes of a trial end without a decision? */
bool instance_trial_stale(const struct instance *instance);
