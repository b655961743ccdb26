/* SPDX-License-Identifier: GPL-2.0-only */
/* The filters on a hook of tc. */
#ifndef RLCTL_TC_FILTER_H
#define RLCTL_TC_FILTER_H

#include "netlink.h"
#include "rlctl_abi.h"

/* Calls `each` for every filter. Starts over where they change meanwhile: calling it twice for one
 * must do no harm. */
int tc_filters_read(int ifindex, enum rl_hook hook, mnl_cb_t each, void *arg);

/* 1: there are some, ours or of others; 0: none. Silent. */
int tc_filters_on(int ifindex, enum rl_hook hook);

#endif
