/* SPDX-License-Identifier: GPL-2.0-only */
/* The LRU maps of states. */
#ifndef RLCTL_LRU_H
#define RLCTL_LRU_H

#include <stdint.h>

#include "instance.h"
#include "policy.h"
#include "rlctl_abi.h"

/* How many states it has room for. */
uint32_t lru_states(const struct rl_instance *info, enum rl_lru lru);

/* From the making of one state there to the next, on each CPU. */
uint64_t lru_creation_ns(const struct rl_instance *info, enum rl_lru lru);

/* Says which rule of the next policy, or of a prefix in it, has to remember for longer than its LRU
 * does in a flood, where no rule of the current one has to for as long. */
void lru_notes(const struct instance *instance, const struct policy *current,
	       const struct policy *next);

#endif
