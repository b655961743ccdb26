/* SPDX-License-Identifier: GPL-2.0-only */
/* Network namespaces and their names. */
#pragma once

#include <limits.h>
#include <linux/types.h>

/* Enters /run/netns/NAME, as `ip -n` does, without changing the mount namespace. Reports. */
int netns_enter(const char *name);

/* The name by which `ip netns` knows the network namespace of this process; "" for that of process
 * 1, or if that is unknown and this one has no name. -ENOENT: another without a name. Silent.
 */
int netns_name(char out[NAME_MAX + 1]);

/* The number by which programs distinguish network namespaces: that of this one. 0 or a negative
 * errno. Silent. */
int netns_cookie_read(__u64 *out);
