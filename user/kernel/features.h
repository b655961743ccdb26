/* SPDX-License-Identifier: GPL-2.0-only */
/* What the kernel has of what the programs need. Silent, and changes nothing. */
#ifndef RLCTL_FEATURES_H
#define RLCTL_FEATURES_H

#include <stdbool.h>
#include <stdint.h>

#include "rlctl_abi.h"

/* Tries the program, which attaches nothing, then asks the kernel for every map type, program type
 * and helper that it uses, and calls `lacks` for each that is not there. How many were asked for,
 * or a negative errno. */
struct program_tried {
	int error; /* of loading it; 0: the kernel takes it */
	bool jited;
};
typedef void (*kernel_lacks_fn)(const char *kind, const char *name, void *arg);
int kernel_features(kernel_lacks_fn lacks, void *arg, struct program_tried *tried);

/* The same of what such an instance needs, with its hook and its table; its program is tried. */
void kernel_lacks(const struct rl_instance *info, kernel_lacks_fn lacks, void *arg);

/* Are maps charged to RLIMIT_MEMLOCK (before Linux 5.11)? */
bool kernel_counts_memlock(void);

/* The machine's CPUs, and what each possible one takes of an instance of the usual size. */
struct cpu_facts {
	uint32_t online, possible;
	uint64_t bytes;
};
int cpus_read(struct cpu_facts *out);

#endif
