/* SPDX-License-Identifier: GPL-2.0-only */
/* Finds the program of an instance on its device, also after the device was renamed. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "kernel/instance/instance.h"
#include "kernel/maps/map.h"
#include "rlctl_abi.h"

struct device_program;
/* As device_program_find, using only netlink and the owner record; needs no CAP_SYS_ADMIN. */
int recorded_program_find(const char *path, const char *device, enum rl_hook hook,
			  struct device_program *out);

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
