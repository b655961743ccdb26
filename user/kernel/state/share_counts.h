/* SPDX-License-Identifier: GPL-2.0-only */
/* Limits with `share` (rlctl-policy(5)): counts by class of senders, or what each key may send. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "compile/compile.h"
#include "kernel/instance/instance.h"
#include "policy/policy.h"
#include "rlctl_abi.h"

/* Amounts are packets, or bytes where the limit counts bytes or bits. */
struct share_counts {
	bool has_classes;                  /* else keys share it, or nothing does */
	bool is_short;                     /* now: senders are asked for their class, */
	uint64_t busy_ns;                  /* until then, by the clock of the instance */
	uint64_t arrived[RL_SHARE_COUNTS]; /* since the limit came, or was another's neighbour */
	uint64_t passed[RL_SHARE_COUNTS];  /* this limit */
	uint64_t room[RL_SHARE_CLASSES];   /* a second: of the class, */
	uint64_t pace[RL_SHARE_CLASSES];   /* and of each sender, or group of strangers */
	uint64_t keys;                     /* without classes: estimate of how many send now, */
	uint64_t key_pace;                 /* and what each may send in a second */
};

/* By enum rl_share_class, for programs. */
extern const char *const share_class_names[RL_SHARE_COUNTS];

/* Is the rule's limit shared, and among classes of senders? */
bool has_share(const struct rule *rule);
bool has_classes(const struct rule *rule);

/* For policy.rules[i]; NULL where no limit is shared. The caller frees it. Silent. */
int share_counts_read(const struct instance *instance, const struct policy *policy,
		      struct share_counts **out);

/* Before the policy comes into force: what is not of its limits begins at zero. Silent. */
int share_counts_begin(const struct instance *instance, const struct compiled *compiled);

/* Time has jumped: all limits begin again, but for their counts. Silent. */
int share_states_restart(const struct instance *instance);
