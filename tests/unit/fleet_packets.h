/* SPDX-License-Identifier: GPL-2.0-only */
/* bpf/limit/backend_fleet.h on the host, for one member and one key of a fleet's limit, with the
 * map contents for them.
 */
#pragma once

#include <stdbool.h>

#include "rlctl_abi.h"

struct fleet_packets {
	const struct rl_fleet_limit *limit;
	struct rl_fleet_grant grant;
	struct rl_fleet_key key;
	struct rl_state window;
	bool has_grant, has_key; /* else there is no such entry */
	bool asked;              /* the key has asked the agent */
};

/* Does the member let a packet of so many packets or bytes through? */
bool fleet_packet_passes(struct fleet_packets *maps, const struct rl_rule *rule, __u64 amount,
			 __u64 now_ns);
