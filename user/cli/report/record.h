/* SPDX-License-Identifier: GPL-2.0-only */
/* All that a page or a summary says of a simulation, collected packet by packet in bounded memory:
 * over time by reason and by rule, by source, alarms, and the packets with which a second policy
 * deals differently. Memory: at most 4 KB for a reason, 12 KB for a rule that matched, 3 MB for
 * sources.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/captured.h"
#include "kernel/maps/slot_maps.h"
#include "kernel/simulation.h"
#include "kernel/state/alarms.h"
#include "kernel/state/share_counts.h"
#include "policy/policy.h"
#include "rlctl_abi.h"
#include "watch/traffic/heavy.h"
#include "watch/traffic/timeline.h"

/* The policy, and with --against the other one. */
#define RECORD_SIDES 2

/* The kind of a packet in record.sources has a bit for each side that drops it; these are the kinds
 * with that of a side. In record.differing the kind is the side that drops. */
#define RECORD_DROPPED(side) ((side) ? 1U << 2 | 1U << 3 : 1U << 1 | 1U << 3)

struct record_verdict {
	enum rl_reason reason;
	uint32_t counter_id; /* of the rule that decided; RL_WATCH_ANY: none */
};

/* NULL: nothing was counted. */
struct rule_series {
	struct series *passed, *dropped, *shadow;
};

/* A limit that classes of senders share has amounts in the place of packets; NULL: none came. */
struct share_series {
	struct series *arrived[RL_SHARE_COUNTS], *passed[RL_SHARE_COUNTS];
};

/* A time during which an alarm was on. */
struct alarm_span {
	uint32_t alarm; /* number in record_side.alarms */
	uint64_t from_ns, to_ns;
	bool open; /* it still was at the end */
};

struct alarm_seen {
	char name[RL_ALARM_NAME_MAX + 1];
	uint64_t changes;
	bool on;
};

#define ALARM_SPANS_MAX 512
struct alarm_record {
	uint32_t count;
	struct alarm_seen seen[RL_ALARMS_MAX];
	struct alarm_span spans[ALARM_SPANS_MAX];
	size_t span_count;
	uint64_t lost; /* changes that are not in the spans */
	uint64_t read_ns;
};

struct record_side {
	const char *name; /* of the policy, for people */
	const struct policy *policy;
	const struct simulation *simulation;
	struct series *reasons[RL_REASON_COUNT];
	struct rule_series *rules;          /* of policy->rules[i] */
	struct rule_counters *before, *now; /* as they were read */
	struct share_series *shares;        /* of policy->rules[i]; NULL: no limit has classes */
	struct share_counts *shares_before; /* as they were read last, or NULL */
	struct alarm_record alarms;
};

/* Packets that one side's rule drops, and that the other side passes. */
struct difference {
	struct difference_key {
		uint32_t side; /* that drops */
		uint32_t reason;
		uint32_t counter_id;
	} key;
	struct rl_amount amount;
	struct series *series;
	UT_hash_handle hh;
};

struct record {
	struct timeline timeline;
	struct record_side sides[RECORD_SIDES];
	int side_count; /* 0: nothing is recorded */
	struct rl_amount packets;
	uint64_t first_ns, last_ns; /* times of packets, the least and the greatest; since 1970 */
	uint64_t turned_ns;         /* time of the packet before */
	uint64_t alarms_due_ns;
	struct heavy sources;
	struct heavy differing;
	struct rl_amount only[RECORD_SIDES]; /* dropped by this side, passed by the other */
	struct difference *differences;      /* hh.next is the next */
};

/* Adds a side; its policy is in force in the simulation. All must outlive the record. */
void record_side_add(struct record *record, const char *name, const struct policy *policy,
		     const struct simulation *simulation);
void record_clear(struct record *record);

/* Does record_turn() read what the packets before have left, so that all of them have to be run? */
bool record_turns(const struct record *record, uint64_t time_ns);
/* Before each packet is run, with its time. 0 or < 0; reports. */
int record_turn(struct record *record, uint64_t time_ns);
/* After it, with the verdict of each side. */
void record_packet(struct record *record, const struct captured *packet,
		   const struct record_verdict verdicts[RECORD_SIDES]);
/* Before the policies start over, since time jumps: no alarm is on any more. 0 or < 0; reports. */
int record_restart(struct record *record);
/* After the last one. 0 or < 0; reports. */
int record_end(struct record *record);

/* Reading of alarms for record_turn(): at `now_ns` they stand so. */
void record_alarms(struct alarm_record *record, const struct alarms_now *now, uint64_t now_ns);

/* The sum of the series; the series may be NULL. */
struct rl_amount record_sum(const struct record *record, const struct series *series);
