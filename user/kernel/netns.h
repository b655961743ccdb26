/* SPDX-License-Identifier: GPL-2.0-only */
/* Network namespaces by name. */
#ifndef RLCTL_NETNS_H
#define RLCTL_NETNS_H

/* Enters the network namespace NAME of /run/netns, as `ip -n` does, and nothing else of it. */
int netns_enter(const char *name);

#endif
