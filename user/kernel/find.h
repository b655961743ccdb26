/* SPDX-License-Identifier: GPL-2.0-only */
/* Which program on a device is the instance's. */
#ifndef RLCTL_FIND_H
#define RLCTL_FIND_H

#include <stdint.h>

#include "instance.h"
#include "map.h"
#include "rlctl_abi.h"

struct device_program;
/* As device_program_find, as far as netlink and the note tell. */
int program_noted(const char *path, const char *device, enum rl_hook hook,
		  struct device_program *out);

/* The program of the hook, in whatever mode, that uses the map; -ENOENT when there is none, another
 * error where the device could not be asked. Silent. */
int device_program_find(const char *device, enum rl_hook hook, uint32_t map_id,
			struct device_program *out);
/* The same for the instance, of whatever version, whose pins are below path; by what attach noted
 * where the kernel may not be asked. */
int pins_program_find(const char *path, const char *device, enum rl_hook hook,
		      struct device_program *out);
/* -ENOENT also where another one has taken the place of this one. */
int instance_program_find(const struct instance *instance, struct device_program *out);

#endif
