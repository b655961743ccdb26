/* SPDX-License-Identifier: GPL-2.0-only */
/* tcx: programs at tc's hooks without a qdisc, in a row of their own that packets pass before the
 * filters of clsact. Each of ours hangs on a link that is pinned in the instance's folder: the
 * kernel takes the program off with the last reference to its link. Silent.
 */
#ifndef RLCTL_KERNEL_TCX_H
#define RLCTL_KERNEL_TCX_H

#include <stdbool.h>
#include <stdint.h>

#include "map.h"
#include "program.h"
#include "rlctl_abi.h"

#define TCX_PROGRAMS_MAX 63u /* on a hook: the kernel's BPF_MPROG_MAX less one */

struct tcx_row {
	uint32_t count;
	/* In the order in which packets come to them; link 0: attached without one. */
	uint32_t programs[TCX_PROGRAMS_MAX], links[TCX_PROGRAMS_MAX];
};

/* -EOPNOTSUPP: the kernel has no tcx (before Linux 6.6). */
int tcx_read(int ifindex, enum rl_hook hook, struct tcx_row *out);

/* As device_program_find. */
int tcx_program_find(int ifindex, enum rl_hook hook, uint32_t map_id, struct device_program *out);
/* How many of them use the map. */
uint32_t tcx_program_count(int ifindex, enum rl_hook hook, uint32_t map_id);

/* As tc_program_noted, by the pin of the link, which names the program. */
int tcx_program_noted(const char *path, int ifindex, enum rl_hook hook, uint32_t program,
		      struct device_program *out);

/* Puts the program before all others and pins its link below path. -EOPNOTSUPP: there is no tcx, or
 * no room in the row. */
int tcx_program_attach(const char *path, int ifindex, enum rl_hook hook, int program_fd,
		       uint32_t *program);

/* Takes every program off that uses the map. */
int tcx_program_detach(int ifindex, enum rl_hook hook, uint32_t map_id);

/* Puts the program before all others, in the place of the instance's own where that is the first,
 * and takes those off that the instance has besides. Errors as of tcx_program_attach. */
int tcx_program_replace(const char *path, int ifindex, enum rl_hook hook, int program_fd,
			uint32_t map_id);

/* Is there a link whose device is gone? Its program stays loaded while it is pinned. */
bool tcx_link_is_dead(const char *path);

#endif
