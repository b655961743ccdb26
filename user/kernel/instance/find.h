/* SPDX-License-Identifier: GPL-2.0-only */
/* Finds the program of an instance on its device, also after the device was renamed. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernel/attach/program.h"
#include "kernel/instance/instance.h"
#include "rlctl_abi.h"

struct device_program;
/* The program at the hook, in any mode, that uses the map; -ENOENT if there is none, another error
 * if the device could not be queried. Silent. */
int device_program_find(const char *device, enum rl_hook hook, uint32_t map_id,
			struct device_program *out);
/* The same for the instance of any version pinned at path. Without CAP_SYS_ADMIN, uses the owner
 * record. */
int pins_program_find(const char *path, const char *device, enum rl_hook hook,
		      struct device_program *out);
/* -ENOENT also if another instance has replaced this one. */
int instance_program_find(const struct instance *instance, struct device_program *out);

/* Is the program of these pins attached? True if that cannot be determined. */
bool instance_is_attached(const char *path, const char *device, enum rl_hook hook);

/* As pins_root, and renames the pins of renamed devices, with a note for each. Reports. */
int pins_root_follow(const char *bpffs, bool make, char out[INSTANCE_PATH_MAX]);

/* Reads which programs are attached to a device, for `doctor`. Silent; changes nothing. */

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
