/* SPDX-License-Identifier: GPL-2.0-only */
/* Limits on open connections: the programs that see the sockets (bpf/connections.bpf.c), and which
 * limits they count for. They are attached while a policy has such a limit.
 */
#pragma once

#include "kernel/instance/instance.h"
#include "policy/policy.h"
#include "rlctl_abi.h"

/* How many sets the map of an instance has. */
uint32_t connection_sets(const struct rl_instance *info);

/* The limits of the policy, which is to come into force, count from now on, and all connections
 * that are open are counted; those of the policy in force go on. 0 or a negative errno; reports why
 * where the kernel cannot count. Call with the writers' lock. */
int connections_begin(const struct instance *instance, const struct policy *next);
/* The policy is in force: limits that it does not have count no more. Silent. */
void connections_settle(const struct instance *instance, const struct policy *in_force);
/* The instance is to have its map no longer. Silent. */
void connections_end(const struct instance *instance);

/* The counts in the table of an instance. */
struct connections_now {
	uint64_t *open;  /* connections under policy.rules[i], of all keys; NULL: nothing counts */
	uint64_t keys;   /* with open connections, of all limits */
	uint64_t unseen; /* connections that are not counted for want of room; sum */
};

/* Allocates out->open, if a limit of the policy is on connections. 0 or a negative errno. Silent.
 */
int connections_read(const struct instance *instance, const struct policy *policy,
		     struct connections_now *out);

/* The open connections of a limit under the key; 0 too where nothing is counted. 0 or a negative
 * errno. Silent.
 */
int connections_of_key(const struct instance *instance, const struct rule *rule,
		       const struct rl_state_key *key, uint64_t *out);
