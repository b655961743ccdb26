/* SPDX-License-Identifier: GPL-2.0-only */
/* The agent of one member, and what its parts do: shed.c is the loop, rules.c follows
 * the instance's policy.
 */
#ifndef RLCTL_FLEET_AGENT_H
#define RLCTL_FLEET_AGENT_H

#include "fleet.h"
#include "fleet_maps.h"
#include "instance.h"
#include "redis.h"

struct agent {
	const struct instance *instance;
	const struct fleet_options *options;
	struct fleet_maps maps;
	struct fleet_link link;
	struct fleet_table table;
	struct fleet_limit *limits;
	size_t limit_count;
	struct fleet_entry **due; /* KEYS_MAX of them */
	struct fleet_asking ask[FLEET_ASKINGS];
	size_t most; /* keys of the next tick */
	struct fleet_pace pace;
	struct rl_fleet_session session;
	char token[17];
	uint64_t random;
	uint64_t beat_ns, policy_ns, limits_ns, retry_ns, backoff_ns, shed_ns;
	uint64_t begin_ns;  /* of sharing */
	uint64_t timely_ns; /* when Redis last answered in time */
	uint64_t shedding;  /* keys since that was last said */
	bool was_shared;    /* once */
	bool ending;
	bool replaced;                    /* another agent has the instance */
	char keys[3][RL_FLEET_NAME + 40]; /* of the beat */
};

/* ---- agent.c: steps of a tick, apart for tests that make the time */

/* Limits are shared from now on; or held alone, and all leases are void. */
void agent_shared_begin(struct agent *a);
void agent_shared_end(struct agent *a, uint64_t now_ns, const char *why);

/* Asks Redis about the keys that are due, tells it that the member is here, and does what it says.
 */
void agent_exchange(struct agent *a, uint64_t now_ns);

/* ---- shed.c */

/* So many keys have to go without a lease, or to wait; says so, but not always. */
void agent_shed(struct agent *a, size_t count, const char *why);

/* ---- rules.c */

/* Tells the kernel what the member has of every limit now. */
void agent_limits_write(struct agent *a, uint64_t now_ns);

/* A key asks for a lease: fleet_maps_open()'s `wanted`; arg is the agent. */
int agent_key_wanted(void *arg, void *data, size_t size);

/* Maps and limits of the policy that is in force now. 0, or negative; reports. */
int agent_policy_load(struct agent *a);

/* Takes a policy that is new. 0, or -1 when the instance is gone; reports. */
int agent_policy_watch(struct agent *a, uint64_t now_ns);

#endif
