/* SPDX-License-Identifier: GPL-2.0-only */
/* Policies and limiters on trial: in force for a while, and taken back unless somebody keeps them.
 * Failures are reported. */
#ifndef RLCTL_TRIAL_H
#define RLCTL_TRIAL_H

#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>

#include "instance.h"
#include "policy.h"
#include "rlctl_abi.h"
#include "trial_record.h"

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

#endif
