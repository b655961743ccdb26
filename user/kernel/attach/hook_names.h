/* SPDX-License-Identifier: GPL-2.0-only */
/* Names of hooks, modes and tables, as users write them. */
#pragma once

#include "rlctl_abi.h"

/* "xdp", "ingress", "egress". */
const char *hook_name(enum rl_hook hook);

/* "native", "generic", "tc". */
const char *mode_name(enum rl_mode mode);

/* "hot", "lru", "cpu". */
const char *table_name(enum rl_table table);

/* "sockets", "conntrack". */
const char *proof_name(enum rl_proof proof);

/* The tc hook of an instance in mode tc. */
static inline enum rl_hook tc_hook(const struct rl_instance *info)
{
	return info->hook == RL_HOOK_EGRESS ? RL_HOOK_EGRESS : RL_HOOK_INGRESS;
}
