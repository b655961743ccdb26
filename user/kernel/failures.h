/* SPDX-License-Identifier: GPL-2.0-only */
/* Error messages that several files share. The report_ functions call fail() and return the error.
 */
#pragma once

#include "kernel/attach/unsupported.h"
#include "rlctl_abi.h"

/* The kernel rejected the maps or the program; with the missing feature, if it can be found. */
int report_load_failure(const char *device, const struct rl_instance *info, enum load_stage stage,
			int error);

/* The same for the program of an instance with these filters, or with those that are noted at
 * `path`; names the one that is refused. */
int report_program_refused(const char *device, const struct rl_instance *info,
			   const struct rl_filters *filters, int error);
int report_program_refused_at(const char *path, const char *device, const struct rl_instance *info,
			      int error);

/* Attaching failed. */
int report_xdp_error(const char *device, int error);
int report_tc_error(const char *device, int error);

/* -ENODEV */
int report_no_device(const char *device);
/* The device has instances at ingress and egress, and no hook is given. -ENOTUNIQ */
int report_hooks(const char *device);

/* The device of the instance is in another network namespace (instance_is_elsewhere()). -EXDEV */
int report_elsewhere(const char *device, enum rl_hook hook);

int report_open_error(const char *device, enum rl_hook hook, int error);

/* Why a driver refused native mode. */
const char *native_error_text(int error);
