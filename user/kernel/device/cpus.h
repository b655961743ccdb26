/* SPDX-License-Identifier: GPL-2.0-only */
/* Number of CPUs, and the memory that per-CPU maps take for each. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "rlctl_abi.h"

/* Both return at least 1, or a negative errno. */
int cpus_possible(void);
int cpus_online(void);
/* Bytes of a map for each possible CPU; 0 if the map has nothing of them.
 * Counters of rules are recognised by their size. */
uint64_t map_cpu_bytes(const struct rl_instance *info, uint32_t type, uint32_t value_size,
		       uint32_t entries);

/* Sums `count` 64-bit numbers of one element over all CPUs. Silent. */
int percpu_sum(int fd, uint32_t index, uint64_t *out, size_t count);
