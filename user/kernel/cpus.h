/* SPDX-License-Identifier: GPL-2.0-only */
/* Number of CPUs, and the memory that per-CPU maps take for each. */
#ifndef RLCTL_CPUS_H
#define RLCTL_CPUS_H

#include <stdint.h>

/* Both return at least 1, or a negative errno. */
int cpus_possible(void);
int cpus_online(void);
/* Bytes of a map for each possible CPU; 0 if the map is not per-CPU. */
uint64_t map_cpu_bytes(uint32_t type, uint32_t value_size, uint32_t entries);

#endif
