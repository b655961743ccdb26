/* SPDX-License-Identifier: GPL-2.0-only */
/* Error messages that several files share. The report_ functions call fail() and return the error.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rlctl_abi.h"

/* ---- why the kernel rejected the maps or the program: the missing features, the version that
 * added them, and alternatives. Makes no system calls. */

#define MISSING_MAX      32    /* no fewer than failures.c knows */
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

/* ---- messages */

/* The kernel rejected the maps or the program; with the missing feature, if it can be found, or the
 * filter that is refused, if they are known. */
int report_load_failure(const char *device, const struct rl_instance *info, enum load_stage stage,
			const struct rl_filters *filters, int error);
/* The same for the program with the filters that are noted at `path`. */
int report_program_refused(const char *path, const char *device, const struct rl_instance *info,
			   int error);

/* Attaching failed. */
int report_xdp_error(const char *device, int error);
int report_tc_error(const char *device, int error);

/* -ENODEV */
int report_no_device(const char *device);
/* The device has instances at ingress and egress, and no hook is given. -ENOTUNIQ */
int report_hooks(const char *device);

/* The device of the instance is in another network namespace (instance_is_elsewhere()). -EXDEV */
int report_elsewhere(const char *device, enum rl_hook hook);

int report_open_error(const char *device, enum rl_hook hook, int error);

/* Why a driver refused native mode. */
const char *native_error_text(int error);

/* Sends the messages of libbpf and libxdp to the sink of message.h. */
void log_setup(void);
