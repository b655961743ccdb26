/* SPDX-License-Identifier: GPL-2.0-only */
/* Checks whether the kernel provides the features that the programs need. Silent; changes nothing.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "rlctl_abi.h"

/* `uses`: of RL_USE_PROGRAM, what the program has the code for. Loads it without attaching it, then
 * probes every map type, program type and helper that it uses, and calls `missing` for each that is
 * missing. Returns the number of probes or a negative errno. */
struct load_result {
	int error; /* from loading; 0: the kernel accepts it */
	bool jited;
};
typedef void (*missing_feature_fn)(const char *kind, const char *name, void *arg);
int kernel_features(uint64_t uses, missing_feature_fn missing, void *arg,
		    struct load_result *result);

/* The same for the hook, mode and table of an instance. */
void kernel_missing_features(const struct rl_instance *info, missing_feature_fn missing, void *arg);

/* Does the kernel charge maps to RLIMIT_MEMLOCK (before Linux 5.11)? */
bool kernel_counts_memlock(void);

/* Number of CPUs, and the memory of an instance of default size for each possible CPU. */
struct cpu_facts {
	uint32_t online, possible;
	uint64_t bytes;
};
int cpus_read(struct cpu_facts *out);

/* Can the kernel's connection tracking say what is established (attach --state conntrack), and
 * does it track anything? In the network namespace of this process.
 */

enum conntrack {
	CONNTRACK_NOT_LOADED,
	CONNTRACK_NO_FUNCTIONS, /* for programs: the kernel is too old, or without type information
				 */
	CONNTRACK_EMPTY,        /* it has no connection: perhaps no rule asks it to track any */
	CONNTRACK_TRACKS,
};

/* Silent. */
enum conntrack conntrack_read(void);

/* Fails where the instance's program is to ask it, and cannot. */
int conntrack_check(const char *device, const struct rl_instance *info);
