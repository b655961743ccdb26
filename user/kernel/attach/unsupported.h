/* SPDX-License-Identifier: GPL-2.0-only */
/* Explains why the kernel rejected the maps or the program: the missing features, the version that
 * added them, and alternatives. Makes no system calls. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rlctl_abi.h"

#define MISSING_MAX      32    /* no fewer than unsupported.c knows */
#define LOAD_FAILURE_MAX 4096  /* has room for all of them */
#define KERNEL_OLDEST    "6.1" /* oldest version that rlctl is tested on */
/* Enterprise Linux keeps 5.14, and takes what BPF has in later versions. */
#define KERNEL_OLDEST_EL 9

/* A feature that the programs need and the kernel lacks: "helper", "xdp_load_bytes". */
struct kernel_feature {
	const char *kind, *name;
};

enum load_stage { LOAD_STAGE_MAPS, LOAD_STAGE_PROGRAM };

struct load_failure {
	enum load_stage stage;
	enum rl_hook hook;
	uint64_t uses;       /* RL_USE_PROGRAM: the program has their code */
	int error;           /* negative errno */
	const char *release; /* kernel release, as in uname */
	struct kernel_feature missing[MISSING_MAX];
	size_t count;
	/* One of the program's filters that is refused without the others, if there is one, and
	 * the one with the most instructions; NULL: they are not known. */
	const char *filter, *filter_longest;
};

/* Is the release older than the version, as in "6.1"? */
bool release_is_before(const char *release, const char *version);

/* Where a kernel of this release lacks something: which one to use. */
const char *kernel_remedy(const char *release);

/* The kernel version that added it, as in "5.18", or NULL if unknown. */
const char *feature_since(const struct kernel_feature *missing);

/* One line without a newline. */
void load_failure_format(const struct load_failure *failure, char out[LOAD_FAILURE_MAX]);
