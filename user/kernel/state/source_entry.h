/* SPDX-License-Identifier: GPL-2.0-only */
/* A state or ban of one key, as it was found. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "compile/allowance.h"
#include "policy/policy.h"
#include "rlctl_abi.h"

/* The state of one key under one limit. */
struct source_entry {
	struct rl_state_key key;
	const struct rule *rule; /* in the policy; NULL: banned from everything */
	bool has_state;
	struct allowance allowance; /* valid if has_state */
	bool admits;                /* the packet that is asked about; valid if has_state */
	uint64_t ban_ns;            /* time left; 0: not banned */
	uint64_t next_ns; /* until a packet may pass: the wait, the ban or the source's ban */
};
