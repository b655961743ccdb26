/* SPDX-License-Identifier: GPL-2.0-only */
/* Policies and limiters on trial: in force for a while, and taken back unless somebody keeps them.
 * Failures are reported as in kernel.h.
 */
#ifndef RLCTL_KERNEL_TRIAL_H
#define RLCTL_KERNEL_TRIAL_H

#include "kernel.h"

/* What is in force on trial: unless it is kept in time, of a policy the one `before` comes back,
 * and a limiter is detached. Other writers are refused meanwhile. The trial is the folder `trial`
 * among the pins, which the processes that attend to it hold locked: when they are gone, so is the
 * trial. */
enum trial_state { TRIAL_RUNS, TRIAL_KEPT, TRIAL_UNDONE, TRIAL_GONE /* detached */ };
enum trial_of { TRIAL_OF_POLICY, TRIAL_OF_LIMITER };
struct trial {
	enum trial_of of;
	char device[IF_NAMESIZE], path[INSTANCE_PATH_MAX];
	enum rl_hook hook;
	uint32_t ifindex;
	int *lock_fd;              /* the writers' lock, while it is held */
	struct instance *instance; /* of a policy */
	struct policy before;      /* of a policy */
	uint64_t deadline_ns;      /* CLOCK_BOOTTIME */
	int folder_fd, state_fd;
};

/* With the writers' lock held, and before the next policy is written. The instance has to
 * outlive the trial; writes are not refused to it. */
int policy_trial_begin(struct instance *instance, uint64_t duration_ns, struct trial *out);

/* With the writers' lock held, and before the program is put on the device. */
int limiter_trial_begin(const struct place *place, uint64_t duration_ns, struct trial *out);

/* "policy", "limiter" */
const char *trial_of_name(enum trial_of of);

/* Lets other processes have the instance. */
void trial_unlock(struct trial *trial);

enum trial_state trial_look(const struct trial *trial);

/* Keeps what is on trial, or takes it back: the policy before is in force with all that its rules
 * knew, or the limiter is off. Waits for the writers' lock. What another process decided first
 * stays. The state now, or a negative errno. */
int trial_end(struct trial *trial, bool keep);

/* Frees and closes, and decides nothing. */
void trial_close(struct trial *trial);

/* Keeps what is on trial, which it tells, on an instance that is open for writing. */
int instance_trial_keep(const struct instance *instance, enum trial_of *of);

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
