/* SPDX-License-Identifier: GPL-2.0-only */
/* Programs at the hook xdp. */
#ifndef RLCTL_XDP_H
#define RLCTL_XDP_H

#include <stdint.h>

#include "instance.h"
#include "map.h"
#include "mode.h"
#include "program.h"
#include "rlctl_abi.h"

int xdp_program_find(const char *device, uint32_t map_id, struct device_program *out);
/* ATTACH_FALLS_BACK as instance_attach. */
int xdp_program_attach(const char *path, const struct rl_instance *info, const char *device,
		       enum attach_mode mode);
int xdp_program_detach(const char *device, uint32_t map_id);

/* The program on the hook, which uses the map, is replaced by that of this build, and at no moment
 * is neither there. Reports. */
int xdp_program_replace(const struct instance *instance, uint32_t map_id);

#endif
