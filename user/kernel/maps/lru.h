/* SPDX-License-Identifier: GPL-2.0-only */
/* Sizes the LRU maps that hold states, and warns of rules that outlast them. */
#pragma once

#include <stdint.h>

#include "kernel/instance/instance.h"
#include "policy/policy.h"
#include "rlctl_abi.h"

/* Capacity in states. */
uint32_t lru_states(const struct rl_instance *info, enum rl_lru lru);

/* Minimum time between two state creations on one CPU, in nanoseconds. */
uint64_t lru_creation_ns(const struct rl_instance *info, enum rl_lru lru);

/* Prints a note for the rule of `next` (a policy or one prefix) whose period is longer than states
 * survive in its LRU under a flood, unless a rule of `current` has at least that period. */
void lru_notes(const struct instance *instance, const struct policy *current,
	       const struct policy *next);
