/* SPDX-License-Identifier: GPL-2.0-only */
/* Policies on trial: in force for a while, and taken back unless somebody keeps them. Failures are
 * reported as in kernel.h.
 */
#ifndef RLCTL_KERNEL_TRIAL_H
#define RLCTL_KERNEL_TRIAL_H

#include "kernel.h"

/* A policy that is in force on trial: `before` comes back unless it is kept in time. Other writers
 * are refused meanwhile. The trial is the folder `trial` among the pins, which the processes that
 * attend to it hold locked: when they are gone, so is the trial. */
enum trial_state { TRIAL_RUNS, TRIAL_KEPT, TRIAL_UNDONE, TRIAL_GONE /* detached */ };
struct trial {
	struct instance *instance;
	struct policy before;
	uint64_t deadline_ns; /* CLOCK_BOOTTIME */
	int folder_fd, state_fd;
};

/* With the writers' lock held, and before the next policy is written. The instance has to
 * outlive the trial; writes are not refused to it. */
int trial_begin(struct instance *instance, uint64_t duration_ns, struct trial *out);

/* Lets other processes have the instance. */
void trial_unlock(struct trial *trial);

enum trial_state trial_look(const struct trial *trial);

/* Keeps the policy, or puts the one before in force with all that its rules knew; waits for the
 * writers' lock. What another process decided first stays. The state now, or a negative errno. */
int trial_end(struct trial *trial, bool keep);

/* Frees and closes, and decides nothing. */
void trial_close(struct trial *trial);

/* Keeps what is on trial on an instance that is open for writing. */
int instance_trial_keep(const struct instance *instance);

/* How long the trial still has; -ENOENT where none runs, another error where nobody can know.
 * Silent.
 */
int instance_trial_left(const struct instance *instance, uint64_t *left_ns);

/* Did the processes of a trial end without a decision? */
bool instance_trial_stale(const struct instance *instance);

#endif
