/* SPDX-License-Identifier: GPL-2.0-only */
/* Attaches programs at the tc hooks by tcx, which needs no qdisc and runs before the filters of
 * clsact. Each program has a link pinned in the instance's directory; the kernel detaches the
 * program with the last reference to its link. Silent. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "kernel/attach/program.h"
#include "rlctl_abi.h"

#define TCX_PROGRAMS_MAX 63u /* per hook: the kernel's BPF_MPROG_MAX less one */

struct tcx_list {
	uint32_t count;
	/* In the order in which they run; link 0: attached without a link. */
	uint32_t programs[TCX_PROGRAMS_MAX], links[TCX_PROGRAMS_MAX];
};

/* -EOPNOTSUPP: the kernel lacks tcx (before Linux 6.6). */
int tcx_read(int ifindex, enum rl_hook hook, struct tcx_list *out);

/* As device_program_find. */
int tcx_program_find(int ifindex, enum rl_hook hook, uint32_t map_id, struct device_program *out);

/* A tc hook of a device, for a program of an instance. */
struct tc_place {
	const char *device, *pins; /* where a link of tcx is pinned */
	uint32_t ifindex;
	enum rl_hook hook;
	bool first; /* the instance of xdp: before those of others */
};

/* As tc_recorded_program_find, from the pinned link. */
int tcx_recorded_program_find(const char *path, int ifindex, enum rl_hook hook, uint32_t program,
			      struct device_program *out);

/* Attaches the program before all others and pins its link. -EOPNOTSUPP: no tcx, or no free
 * position. */
int tcx_program_attach(const struct tc_place *place, int program_fd, uint32_t *program);

/* Detaches every program that uses the map, but for the one of the link `kept`. */
int tcx_programs_detach(int ifindex, enum rl_hook hook, uint32_t map_id, uint32_t kept);

/* Replaces the instance's program if it runs first, otherwise attaches the new one before all
 * others; then detaches the instance's other programs. Errors as tcx_program_attach. */
int tcx_program_replace(const struct tc_place *place, int program_fd, uint32_t map_id);

/* Is the pinned link's device gone? The program stays loaded while the link is pinned. */
bool tcx_link_is_dead(const char *path);
