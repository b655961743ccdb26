/* SPDX-License-Identifier: GPL-2.0-only */
/* Attaches, finds, replaces and detaches programs at the hook xdp, through libxdp. */
#pragma once

#include <stdint.h>

#include "kernel/attach/mode.h"
#include "kernel/attach/program.h"
#include "kernel/instance/instance.h"
#include "rlctl_abi.h"

/* The program that the device runs, perhaps a dispatcher; its id is 0 where there is none. Silent.
 */
int xdp_device_program(int ifindex, struct device_program *out);
int xdp_program_find(const char *device, uint32_t map_id, struct device_program *out);
/* Returns ATTACH_FALLS_BACK (mode.h) if native mode is not possible and `mode` allows tc. Reports.
 */
int xdp_program_attach(const char *path, const struct rl_instance *info, const char *device,
		       enum attach_mode mode);
int xdp_program_detach(const char *device, uint32_t map_id);

/* Replaces the program that uses the map by that of this build, with no gap between them. Reports.
 */
int xdp_program_replace(const struct instance *instance, uint32_t map_id);

/* Without libxdp's dispatcher; attach and doctor say so. */
#define XDP_ALONE_TEXT "no other XDP program can join it"
