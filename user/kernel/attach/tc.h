/* SPDX-License-Identifier: GPL-2.0-only */
/* Attaches, finds, replaces and detaches programs at the tc hooks. */
#pragma once

#include <stdint.h>

#include "kernel/attach/tcx.h"
#include "kernel/instance/instance.h"
#include "rlctl_abi.h"

/* Attaches the program. Sets info->made_clsact, also in the map info_fd, if it created clsact.
 * Reports only errors that errno cannot express (-EEXIST). */
int tc_place_take(const struct tc_place *place, struct rl_instance *info, int info_fd,
		  int program_fd, uint32_t *program);
/* Puts the program in the place of those that use the map. -ENOENT: there is none. Silent. */
int tc_place_exchange(const struct tc_place *place, uint32_t map_id, int program_fd);

/* Attaches the instance's program, which may set info->made_clsact; or puts it in the place of
 * those that use the map, unless that is 0. Reports. */
int tc_program_put(const char *path, struct rl_instance *info, const char *device, uint32_t map_id);
int tc_program_find(const char *device, enum rl_hook hook, uint32_t map_id,
		    struct device_program *out);
/* Number of our programs: two after an interrupted replacement. */
uint32_t tc_program_count(const char *device, enum rl_hook hook, uint32_t map_id);
int tc_program_detach(const char *device, enum rl_hook hook, uint32_t map_id);
/* The program of the pinned link, or of the filter with that program id; id 0 (unknown): of a
 * filter with the name of ours. */
int tc_recorded_program_find(const char *path, const char *device, enum rl_hook hook,
			     uint32_t program, struct device_program *out);
