/* SPDX-License-Identifier: GPL-2.0-only */
/* Runs the program on captured packets, attached to no device. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "kernel/instance/instance.h"
#include "kernel/state/alarms.h"
#include "kernel/state/stats.h"
#include "policy/origin.h"
#include "policy/policy.h"
#include "rlctl_abi.h"

struct captured; /* captured.h */
struct simulation;

/* `policy` takes effect at now_ns; `file` as in instance_policy_write. Both must outlive the
 * simulation. Stay on one CPU to get the same result every time: LRU maps evict by CPU. Reports. */
int simulation_open(struct policy *policy, uint64_t now_ns, const struct policy_source *file,
		    struct simulation **out);
void simulation_close(struct simulation *simulation); /* NULL is allowed */

/* Clears all state and puts the policy in force again at now_ns; counters stay. Reports. */
int simulation_restart(struct simulation *simulation, uint64_t now_ns);

struct simulated {
	enum rl_reason reason;
	uint32_t counter_id; /* the rule's that decided, the first limit's of several;
			      * RL_WATCH_ANY: none did */
	bool cut;            /* a rule asked for bytes of the payload that were not captured */
};

/* Runs packets one after the other, in a fraction of the system calls, and returns the result of
 * each. Reports. */
int simulation_run_all(struct simulation *simulation, const struct captured *packets, size_t count,
		       struct simulated *out);

/* Whether the packet that is run next is established; without it, none is. */
void simulation_prove(struct simulation *simulation, bool is_established);
/* Whether the policy has asked that of the packet that was run last. */
bool simulation_has_asked(const struct simulation *simulation);

/* The counters include rules that have expired. */
const struct instance *simulation_instance(const struct simulation *simulation);
int simulation_stats_read(const struct simulation *simulation, struct instance_stats *out);
/* The counters of policy->rules[i], so far, into out[i]; the policy is that of simulation_open().
 * Reports. */
int simulation_counters_read(const struct simulation *simulation, struct rule_counters *out);
/* The shares of the same rules, which the caller frees; NULL: share_counts_read(). Reports. */
int simulation_shares_read(const struct simulation *simulation, struct share_counts **out);
/* Turns a manual alarm of the policy on, which simulation_restart() turns off. Reports. */
int simulation_alarm_on(struct simulation *simulation, const char *name);
/* The alarms as they stand at now_ns. Reports. */
int simulation_alarms_read(const struct simulation *simulation, uint64_t now_ns,
			   struct alarms_now *out);
