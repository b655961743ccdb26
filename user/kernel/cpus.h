/* SPDX-License-Identifier: GPL-2.0-only */
/* How many CPUs there are. */
#ifndef RLCTL_CPUS_H
#define RLCTL_CPUS_H

#include <stdint.h>

/* At least 1, or a negative errno. */
int cpus_possible(void);
int cpus_online(void);
/* What each possible CPU takes of a map; 0 where the map is not per CPU. */
uint64_t map_cpu_bytes(uint32_t type, uint32_t value_size, uint32_t entries);

#endif
