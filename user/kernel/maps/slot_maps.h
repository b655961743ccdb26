/* SPDX-License-Identifier: GPL-2.0-only */
/* The counters and shared states of rules, which their slots index: the first slots are in arrays,
 * further ones in chunks. */
#pragma once

#include <stdint.h>

#include "compile/compiled.h"
#include "kernel/instance/instance.h"
#include "policy/policy.h"
#include "rlctl_abi.h"

/* The maps of one kind. Chunks are opened one at a time, on access. */
struct slot_maps {
	const struct instance *instance;
	int array, chunks;
	uint32_t chunk; /* open chunk */
	int fd;         /* its descriptor, or -1 */
};
struct slot_maps slot_states(const struct instance *instance);
/* The map that holds the slot, and the index in it; -ENOENT if there is none. */
int slot_map_at(struct slot_maps *maps, uint32_t slot, uint32_t *index);
void slot_maps_close(struct slot_maps *maps);

/* ---- as many as the policy needs */

/* Creates the missing chunks that the policy needs and zeroes its new slots. Silent. */
int slots_prepare(const struct instance *instance, const struct compiled *compiled);
/* Drops the chunks that the policy in force does not need. */
void slots_trim(const struct instance *instance, const struct compiled *compiled);

/* ---- the counters of rules */

/* Sums over all CPUs. */
struct rule_counters {
	struct rl_amount passed;
	struct rl_amount dropped;
	struct rl_amount shadow;
};

/* Bytes of a map's element. */
uint32_t counters_value_size(const struct rl_instance *info);

/* Sums of policy.rules[i], into out[i]. Silent. */
int counters_read(const struct instance *instance, const struct policy *policy,
		  struct rule_counters *out);
