/* SPDX-License-Identifier: GPL-2.0-only */
/* Runs trials: a policy or an instance that is undone after a while unless confirmed. All functions
 * report. */
#pragma once

#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>

#include "kernel/attach/trial_record.h"
#include "kernel/instance/instance.h"
#include "policy/policy.h"
#include "rlctl_abi.h"

struct trial {
	enum trial_kind kind;
	char device[IF_NAMESIZE], path[INSTANCE_PATH_MAX];
	enum rl_hook hook;
	uint32_t ifindex;
	int *lock_fd;              /* the writers' lock, while held */
	struct instance *instance; /* of a policy */
	struct policy before;      /* of a policy */
	uint64_t deadline_ns;      /* CLOCK_BOOTTIME */
	int folder_fd, state_fd;
	bool gone; /* its device has vanished: of the caller */
};

/* Begins the trial of a policy. Call with the writers' lock held, before writing the next policy.
 * The instance must outlive the trial; its own writes are allowed meanwhile. */
int policy_trial_begin(struct instance *instance, uint64_t duration_ns, struct trial *out);

/* Begins the trial of an instance. Call with the writers' lock held, before the program is
 * attached. */
int limiter_trial_begin(const struct attach_point *point, uint64_t duration_ns, struct trial *out);

/* Releases the writers' lock. */
void trial_unlock(struct trial *trial);

/* Sets another deadline, unless the trial was decided meanwhile. */
void trial_deadline_set(struct trial *trial, uint64_t deadline_ns);

enum trial_state trial_state_read(const struct trial *trial);

/* Confirms the trial, or undoes it: restores the previous policy with its states, or detaches the
 * program. Waits for the writers' lock; after some seconds it undoes the trial without. A decision
 * by another process stands. Returns the state, or a negative errno. */
int trial_end(struct trial *trial, bool keep);

/* After a policy was confirmed: drops what only the previous one needed. */
void policy_trial_settle(const struct trial *trial);

/* Releases all resources without a decision. */
void trial_close(struct trial *trial);

/* Confirms the trial of an instance that is open for writing, and sets *of to its kind. */
int instance_trial_keep(const struct instance *instance, enum trial_kind *kind);
