/* SPDX-License-Identifier: GPL-2.0-only */
/* What `doctor` asks of the kernel about the programs on a device. Silent, and changes nothing. */
#ifndef RLCTL_FACTS_H
#define RLCTL_FACTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "instance.h"
#include "program.h"
#include "rlctl_abi.h"

#define DEVICE_PROGRAMS_MAX 16
struct device_xdp_program {
	uint32_t id;
	char name[64];
};
struct device_programs {
	bool native, dispatcher; /* dispatcher: put there by libxdp, and others may join */
	size_t count;
	struct device_xdp_program list[DEVICE_PROGRAMS_MAX];
};
int device_programs_read(int ifindex, struct device_programs *out);

/* The tcx programs on one of tc's hooks, in the order in which packets come to them, and how many
 * of them come before ours: all where ours is a filter of clsact, none where it is not there. bpffs
 * NULL: ours is not looked for. -EOPNOTSUPP: the kernel has no tcx. */
#define DEVICE_TCX_MAX 63
struct device_tcx {
	uint32_t ours; /* its number; 0: not there */
	bool twice;    /* replacing ours was interrupted */
	uint32_t before;
	uint32_t count;
	struct device_xdp_program list[DEVICE_TCX_MAX];
};
int device_tcx_read(const char *bpffs, const char *device, enum rl_hook hook,
		    struct device_tcx *out);

/* Is the program of that id one of the instance's? There are two where replacing it was
 * interrupted.
 */
bool instance_runs(const struct instance *instance, uint32_t program_id);

#endif
