/* SPDX-License-Identifier: GPL-2.0-only */
/* What a state still allows: the reading side of bpf/algorithm/. Pure, no system calls. */
#ifndef RLCTL_ALLOWANCE_H
#define RLCTL_ALLOWANCE_H

#include "rlctl_abi.h"

struct allowance {
	__u64 remaining; /* packets or bytes that would be admitted at once */
	__u64 wait_ns;   /* until one packet (for bytes: one byte) more is; 0 while any is */
};

/* `rule` carries the limit and its numbers, `state` is a value of the map that its algorithm uses
 * (rl_state, rl_slots or rl_log with a ring of log_depth), now_ns of the clock that it is held by.
 */
struct allowance allowance_of(const struct rl_rule *rule, const void *state, __u64 now_ns,
			      __u32 log_depth);

/* Of a key that only the hot table knows (bpf/backend_unconfirmed.h), whose slot is not a refusal's
 * and owes.
 */
struct allowance allowance_of_unconfirmed(const struct rl_rule *rule,
					  const struct rl_hot_slot *slot, __u64 now_ns);

#endif
