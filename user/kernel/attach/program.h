/* SPDX-License-Identifier: GPL-2.0-only */
/* Identifies BPF programs by the maps that they use. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "kernel/instance/instance_maps.h"
#include "rlctl_abi.h"

/* The program's id, 0 if it cannot be read. */
uint32_t program_id(int fd);

struct device_program {
	uint32_t id;
	enum rl_mode mode;
	uint32_t link;             /* tcx; 0: a clsact filter or xdp */
	uint32_t priority, handle; /* of the clsact filter */
};

/* Does the program use the map? 1 if it does, and *id is the program's; 0 if it does not or fd is
 * -ENOENT; another negative errno (also one passed as fd) if that cannot be determined. */
int program_uses(int fd, uint32_t wanted, uint32_t *id);
int program_id_uses(uint32_t program, uint32_t wanted, uint32_t *id);

/* ---- a program that came along with its device from another network namespace */

/* The pins of the instance, of whatever network namespace, that has the program. Silent. */
bool program_pins_find(const char *bpffs, uint32_t program, char out[INSTANCE_PATH_MAX]);
