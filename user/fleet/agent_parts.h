/* SPDX-License-Identifier: GPL-2.0-only */
/* The agent of one member: its state and its parts. The loop is in agent.c. */
#pragma once

#include "fleet/fleet.h"
#include "fleet/link.h"
#include "kernel/instance/instance.h"
#include "kernel/maps/fleet_maps.h"

enum fleet_request_kind { FLEET_SHARES, FLEET_WINDOWS, FLEET_REQUEST_KINDS };

struct fleet_requests {
	struct fleet_entry **entries;
	size_t count;
};

struct agent {
	const struct instance *instance;
	const struct fleet_options *options;
	struct fleet_maps maps;
	struct fleet_cluster cluster;
	struct fleet_entry *keys;
	struct fleet_limit *limits;
	size_t limit_count;
	struct fleet_entry **due; /* array of KEYS_MAX */
	struct fleet_requests ask[FLEET_REQUEST_KINDS];
	size_t keys_per_tick;
	struct fleet_pace pace;
	struct rl_fleet_session session;
	char token[24]; /* and, if there are several, the number of shards: TOKEN/SHARDS */
	uint64_t random;
	uint64_t heartbeat_ns, policy_ns, limits_ns, retry_ns, backoff_ns, shed_ns;
	uint64_t begin_ns;     /* when it connected */
	uint64_t timely_ns;    /* last answer of Redis in time */
	uint64_t shedding;     /* keys since the last note */
	uint32_t members_kept; /* in the file; 0: not known */
	bool was_shared;       /* was connected at least once */
	bool too_many;         /* members, which was reported */
	bool refused;          /* by other members, which was reported */
	bool ending;
	bool replaced; /* another agent has the instance */
};

/* ---- agent.c: steps of a tick, which tests call with their own time */

/* Begin to share limits, and end it: revokes all leases. */
void agent_shared_begin(struct agent *a);
void agent_shared_end(struct agent *a, uint64_t now_ns, const char *why);

/* Sends requests for the keys that are due, and the heartbeat; applies the answers. */
void agent_exchange(struct agent *a, uint64_t now_ns);

/* ---- batch.c */

/* Sends the requests of this kind, sorted by shard, and applies the answers. 0; 1: some keys stay
 * due, since their shard moves; or -1 with the error: close the connections then. */
int fleet_requests_send(struct agent *a, enum fleet_request_kind kind, char error[LINK_ERROR_MAX]);

/* ---- members.c: how many members the fleet has */

/* The number until Redis answers: of the former agent's session or, after a reboot, of the file;
 * else --members, else 1. */
void agent_members_begin(struct agent *a, const struct rl_fleet_session *former);

/* To all shards; takes over the number and the names of the answers. 0; 1 with the reason: a shard
 * has to have another one; -1 with the error. */
int agent_heartbeat(struct agent *a, bool leave, char error[LINK_ERROR_MAX]);

/* ---- rules.c: the policy of the instance, as the agent follows it */

/* Writes the member's part of every limit to the kernel. */
void agent_limits_write(struct agent *a, uint64_t now_ns);

/* Adds a key that needs a lease: the callback of fleet_maps_open(); arg is the agent. */
int agent_key_wanted(void *arg, void *data, size_t size);

/* Opens the maps and reads the limits of the policy in force. 0, or negative; reports. */
int agent_policy_load(struct agent *a);

/* Loads the policy again if it changed. 0, or -1 if the instance was detached; reports. */
int agent_policy_watch(struct agent *a, uint64_t now_ns);

/* Counts keys that get no lease or wait; prints a note from time to time. */
void agent_shed(struct agent *a, size_t count, const char *why);
