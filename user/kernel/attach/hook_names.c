// SPDX-License-Identifier: GPL-2.0-only
/* Names of hooks, modes and tables. */

#include "kernel/attach/hook_names.h"

const char *hook_name(enum rl_hook hook)
{
	static const char *const names[] = {"xdp", "ingress", "egress"};

	return names[hook];
}

const char *mode_name(enum rl_mode mode)
{
	static const char *const names[] = {"native", "generic", "tc"};

	return names[mode];
}

const char *table_name(enum rl_table table)
{
	static const char *const names[] = {"hot", "lru", "cpu"};

	return names[table];
}

const char *proof_name(enum rl_proof proof)
{
	return proof == RL_PROOF_CONNTRACK ? "conntrack" : "sockets";
}
