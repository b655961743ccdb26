/* SPDX-License-Identifier: GPL-2.0-only */
/* The filters on a hook of tc. */
#ifndef RLCTL_TC_FILTER_H
#define RLCTL_TC_FILTER_H

#include "rlctl_abi.h"

struct nlmsghdr;
/* Calls `each` for every filter until it returns non-zero, which is returned. */
int tc_filters_read(int ifindex, enum rl_hook hook,
		    int (*each)(const struct nlmsghdr *message, void *arg), void *arg);

/* How many there are, ours or of others. Silent. */
int tc_filters_on(int ifindex, enum rl_hook hook);

#endif
