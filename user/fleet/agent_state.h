/* SPDX-License-Identifier: GPL-2.0-only */
/* The state of the agent of one member. */
#pragma once

#include "fleet/fleet.h"
#include "fleet/redis.h"
#include "kernel/instance/instance.h"
#include "kernel/maps/fleet_maps.h"

struct agent {
	const struct instance *instance;
	const struct fleet_options *options;
	struct fleet_maps maps;
	struct fleet_link link;
	struct fleet_table table;
	struct fleet_limit *limits;
	size_t limit_count;
	struct fleet_entry **due; /* array of KEYS_MAX */
	struct fleet_requests ask[FLEET_REQUEST_KINDS];
	size_t keys_per_tick;
	struct fleet_pace pace;
	struct rl_fleet_session session;
	char token[17];
	uint64_t random;
	uint64_t heartbeat_ns, policy_ns, limits_ns, retry_ns, backoff_ns, shed_ns;
	uint64_t begin_ns;     /* when it connected */
	uint64_t timely_ns;    /* last answer of Redis in time */
	uint64_t shedding;     /* keys since the last note */
	uint32_t members_kept; /* in the file; 0: not known */
	bool was_shared;       /* was connected at least once */
	bool too_many;         /* members, which was reported */
	bool ending;
	bool replaced;                    /* another agent has the instance */
	char keys[3][RL_FLEET_NAME + 40]; /* of the heartbeat, in Redis */
};
