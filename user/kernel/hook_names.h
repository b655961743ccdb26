/* SPDX-License-Identifier: GPL-2.0-only */
/* How hooks, modes and tables are spelled. */
#ifndef RLCTL_HOOK_NAMES_H
#define RLCTL_HOOK_NAMES_H

#include "rlctl_abi.h"

/* How a hook is spelled: "xdp", "ingress", "egress". */
const char *hook_name(enum rl_hook hook);

/* How a mode is spelled: "native", "generic", "tc". */
const char *mode_name(enum rl_mode mode);

/* How --table is spelled: "lru", "cpu". */
const char *table_name(enum rl_table table);

/* The hook at which the instance's program stands when it is tc's. */
static inline enum rl_hook tc_hook(const struct rl_instance *info)
{
	return info->hook == RL_HOOK_EGRESS ? RL_HOOK_EGRESS : RL_HOOK_INGRESS;
}

#endif
