/* SPDX-License-Identifier: GPL-2.0-only */
/* Lists the filters of a tc hook. */
#pragma once

#include "kernel/device/netlink.h"
#include "rlctl_abi.h"

/* Calls `each` for every filter. Restarts if the filters change meanwhile, so calling it twice for
 * one filter must be harmless. */
int tc_filters_read(int ifindex, enum rl_hook hook, mnl_cb_t each, void *arg);

/* 1 if there are filters, ours or others, else 0. Silent. */
int tc_filters_on(int ifindex, enum rl_hook hook);
