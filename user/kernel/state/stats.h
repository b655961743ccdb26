/* SPDX-License-Identifier: GPL-2.0-only */
/* Reads the counters and the status of an instance. */
#pragma once

#include <stdint.h>

#include "base/clock.h"
#include "kernel/attach/program.h"
#include "kernel/instance/instance.h"
#include "kernel/maps/hot_table.h"
#include "kernel/maps/slot_maps.h"
#include "kernel/proof/connections.h"
#include "kernel/sets/sets.h"
#include "kernel/state/alarms.h"
#include "kernel/state/share_counts.h"
#include "policy/policy.h"
#include "rlctl_abi.h"

struct instance_stats {
	struct rl_amount reasons[RL_REASON_COUNT]; /* sums over all CPUs */
	struct policy policy;                      /* rules in force */
	struct rule_counters *rules;               /* for policy.rules[i] */
	struct share_counts *shares; /* for policy.rules[i]; NULL: no limit is shared */
	struct connections_now connections;
	struct set_stats *sets; /* for policy.sets[i] */
	struct alarms_now alarms;
	struct clock_pair alarms_at; /* when they were read */
	uint64_t pressure[RL_PRESSURE_COUNT];
	uint64_t read_ns;   /* CLOCK_REALTIME */
	uint64_t hot_live;  /* slots of the hot table with debt */
	uint64_t hot_slots; /* slots in total; 0: no hot table */
};
int instance_stats_read(const struct instance *instance, struct instance_stats *out);
void instance_stats_clear(struct instance_stats *stats);

/* Only the sums by reason. Reports. */
int instance_reasons_read(const struct instance *instance, struct rl_amount out[RL_REASON_COUNT]);

struct instance_status {
	uint32_t program_id;
	uint32_t companion_id; /* of its program at egress; 0: none, or it is not there */
	enum rl_mode mode;
	uint64_t since_ns; /* CLOCK_REALTIME */
	uint64_t sources_used;
	uint64_t bans_used;    /* entries; an expired ban counts until its entry is reused */
	uint64_t memory_bytes; /* of all maps, as the kernel accounts it */
	uint64_t cpu_bytes;    /* of these, for each possible CPU */
};
int instance_status_read(const struct instance *instance, struct instance_status *out);
