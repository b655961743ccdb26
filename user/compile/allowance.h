/* SPDX-License-Identifier: GPL-2.0-only */
/* Computes what a state still admits, by bpf/algorithm/ and without changing it. Pure. */
#pragma once

#include <stdbool.h>

#include "rlctl_abi.h"

struct allowance {
	__u64 remaining; /* packets or bytes that would be admitted at once */
	__u64 wait_ns;   /* until one more packet or byte would be; 0 if remaining > 0 */
};

/* `rule` holds the limit and its numbers, of which parts.reserve is for others; `state` is a value
 * of the map that its algorithm uses (rl_state, rl_slots, or rl_log with a ring of log_depth);
 * now_ns is on the limit's clock. */
struct allowance allowance_of(const struct rl_rule *rule, const void *state, __u64 now_ns,
			      __u32 log_depth);

/* Would a packet of that amount (packets or bytes) be admitted? The other arguments are those of
 * allowance_of. */
bool state_admits(const struct rl_rule *rule, const void *state, __u64 now_ns, __u32 log_depth,
		  __u64 amount);

/* allowance_of for a key that is in the hot table only (bpf/limit/backend_unconfirmed.h); its slot
 * has debt and is not a refusal. */
struct allowance allowance_of_unconfirmed(const struct rl_rule *rule,
					  const struct rl_hot_slot *slot, __u64 now_ns);
