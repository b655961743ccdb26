/* SPDX-License-Identifier: GPL-2.0-only */
/* The header of the policy in force, which packets read. */
#pragma once

#include "kernel/instance/instance.h"

/* -ENOENT if none was written yet. Silent. */
int policy_header_read(const struct instance *instance, struct rl_policy_header *out);

/* Increases with every policy that takes effect; 0: none did, or it cannot be read. */
uint64_t instance_generation(const struct instance *instance);

/* ---- changed in place, with the writers' lock */

/* NULL: there is no policy, or no memory. The caller unmaps it. */
struct rl_policy_header *header_in_force_map(const struct instance *instance);

/* Ensures that no packet caches what it has read before a change under the generation after it.
 * Only x86 never reorders loads. 0 or a negative errno. */
int packets_loads_order(void);

/* Increases the generation: packets forget what they have cached of addresses. 0, -EAGAIN if there
 * is no policy, or a negative errno. */
int policy_generation_add(const struct instance *instance);
