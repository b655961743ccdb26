/* SPDX-License-Identifier: GPL-2.0-only */
/* Messages about failures that several files meet. */
#ifndef RLCTL_REPORT_H
#define RLCTL_REPORT_H

#include "rlctl_abi.h"
#include "unsupported.h"

/* fail(): the kernel did not take the instance's maps, or its program; and why, as far as it can be
 * found out. Returns the error. */
int report_refused(const char *device, const struct rl_instance *info, enum refused what,
		   int error);

/* fail(): why attaching failed. Returns the error. */
int xdp_report(const char *device, int error);
int tc_report(const char *device, int error);

int report_closed(const char *device, enum rl_hook hook, int error);

/* Why a driver refused native mode. */
const char *native_remedy(int error);

#endif
