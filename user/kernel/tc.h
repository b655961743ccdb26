/* SPDX-License-Identifier: GPL-2.0-only */
/* Programs at the hooks of tc. */
#ifndef RLCTL_TC_H
#define RLCTL_TC_H

#include <stdint.h>

#include "instance.h"
#include "map.h"
#include "program.h"
#include "rlctl_abi.h"

int tc_program_replace(const struct instance *instance, uint32_t map_id);

/* Sets info->made_clsact, in the map too, where that is so. */
int tc_program_attach(const char *root, const char *path, struct rl_instance *info,
		      const char *device);
int tc_program_find(const char *device, enum rl_hook hook, uint32_t map_id,
		    struct device_program *out);
/* How many of ours are there: two where replacing one was interrupted. */
uint32_t tc_program_count(const char *device, enum rl_hook hook, uint32_t map_id);
int tc_program_detach(const char *device, enum rl_hook hook, uint32_t map_id);
/* The program on the link among the pins, or the filter that has the program of that number; 0, not
 * known: one that is called like ours. */
int tc_program_noted(const char *path, const char *device, enum rl_hook hook, uint32_t program,
		     struct device_program *out);

#endif
