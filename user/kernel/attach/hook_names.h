/* SPDX-License-Identifier: GPL-2.0-only */
/* Names of hooks, modes, tables and proofs, as users write them. */
#pragma once

#include "rlctl_abi.h"

static inline const char *hook_name(enum rl_hook hook)
{
	return (const char *const[]){"xdp", "ingress", "egress"}[hook];
}

/* The option of a command, which xdp does not need. */
static inline const char *hook_option(enum rl_hook hook)
{
	return (const char *const[]){"", " --hook ingress", " --hook egress"}[hook];
}

static inline const char *mode_name(enum rl_mode mode)
{
	return (const char *const[]){"native", "generic", "tc"}[mode];
}

static inline const char *table_name(enum rl_table table)
{
	return (const char *const[]){"hot", "lru", "cpu"}[table];
}

static inline const char *proof_name(enum rl_proof proof)
{
	return proof == RL_PROOF_CONNTRACK ? "conntrack" : "sockets";
}

/* The tc hook of an instance in mode tc. */
static inline enum rl_hook tc_hook(const struct rl_instance *info)
{
	return info->hook == RL_HOOK_EGRESS ? RL_HOOK_EGRESS : RL_HOOK_INGRESS;
}
