/* SPDX-License-Identifier: GPL-2.0-only */
/* Programs by their descriptors. */
#ifndef RLCTL_PROGRAM_H
#define RLCTL_PROGRAM_H

#include <stdint.h>

#include "rlctl_abi.h"

/* A program's number, 0 where it cannot be asked for. */
uint32_t program_id(int fd);

struct device_program {
	uint32_t id;
	enum rl_mode mode;
	uint32_t link;             /* tcx; 0: a filter of clsact, or xdp */
	uint32_t priority, handle; /* of the filter */
};

/* Does the program behind fd use the map? 1 where it does, and *id is the program's; 0 where it
 * does not, or fd is -ENOENT; another negative errno, also that in place of fd, where nobody knows.
 */
int program_uses(int fd, uint32_t wanted, uint32_t *id);

#endif
