/* SPDX-License-Identifier: GPL-2.0-only */
/* Reads which programs are attached to a device, for `doctor`. Silent; changes nothing. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernel/attach/program.h"
#include "kernel/instance/instance.h"
#include "rlctl_abi.h"

#define DEVICE_PROGRAMS_MAX 16
struct device_xdp_program {
	uint32_t id;
	char name[64];
};
struct device_programs {
	bool native, dispatcher; /* dispatcher: libxdp's, which other programs can join */
	size_t count;
	struct device_xdp_program list[DEVICE_PROGRAMS_MAX];
};
int device_programs_read(int ifindex, struct device_programs *out);

/* The tcx programs at a tc hook in the order in which they run, but for companions of ours, which
 * let every packet go on; and how many run before ours: all
 * if ours is a clsact filter, none if ours is not attached. With bpffs NULL, ours is not looked up.
 * -EOPNOTSUPP: the kernel lacks tcx. */
#define DEVICE_TCX_MAX 63
struct device_tcx {
	uint32_t ours; /* program id; 0: not attached */
	bool twice;    /* two of ours are attached: a replacement was interrupted */
	uint32_t before;
	uint32_t count;
	struct device_xdp_program list[DEVICE_TCX_MAX];
};
int device_tcx_read(const char *bpffs, const char *device, enum rl_hook hook,
		    struct device_tcx *out);

/* Does the program with that id belong to the instance? After an interrupted replacement two do. */
bool instance_runs(const struct instance *instance, uint32_t program_id);
