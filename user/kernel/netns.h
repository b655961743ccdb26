/* SPDX-License-Identifier: GPL-2.0-only */
/* Enters network namespaces by name. */
#ifndef RLCTL_NETNS_H
#define RLCTL_NETNS_H

/* Enters /run/netns/NAME, as `ip -n` does, without changing the mount namespace. Reports. */
int netns_enter(const char *name);

#endif
