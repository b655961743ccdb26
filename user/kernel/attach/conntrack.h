/* SPDX-License-Identifier: GPL-2.0-only */
/* Can the kernel's connection tracking show what is established (attach --state conntrack), and
 * does it track anything? In the network namespace of this process.
 */
#pragma once

#include "rlctl_abi.h"

enum conntrack {
	CONNTRACK_NOT_LOADED,
	CONNTRACK_NO_FUNCTIONS, /* for programs: the kernel is too old, or without type information
				 */
	CONNTRACK_EMPTY,        /* it has no connection: perhaps no rule asks it to track any */
	CONNTRACK_TRACKS,
};

/* Silent. */
enum conntrack conntrack_read(void);

/* Fails where the instance's program is to ask it, and cannot. */
int conntrack_check(const char *device, const struct rl_instance *info);
