/* SPDX-License-Identifier: GPL-2.0-only */
/* A policy as map entries, and what it is compiled for. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/policy.h"
#include "rlctl_abi.h"

#define ETHERNET_MAX 22      /* header with two VLAN tags */
#define RULES_MAX    131072u /* most rules with matches or limits that an instance can have */

/* The index of prefixes with many rules: rl_index_entry. */
struct index {
	struct rl_index_entry *entries;
	size_t count, capacity;
};

/* Rules that packets of one protocol and port may match, more than RL_RUN_MAX. */
struct crowd {
	struct match packet; /* its protocol and port */
	size_t count;
	const struct rule *last; /* in the order in which they stand */
};

/* Appends the root, tables, intervals and runs of a prefix whose rules are element `first` of the
 * rules array and those after it. 0, -ENOMEM, -ENOSPC: the index would have more than RL_INDEX_MAX
 * entries, or -E2BIG with *crowd filled. */
int index_append(struct index *index, const struct rule *const *rules, size_t count, uint32_t first,
		 struct crowd *crowd);

void index_clear(struct index *index);

/* A policy as the maps hold it. */
struct compiled_prefix {
	struct rl_prefix_key key;
	struct rl_prefix_value value;
};

struct compiled {
	struct rl_policy_header header;
	struct rl_rule *rules; /* element 0 is header.rules_begin + first_rule in the map */
	uint32_t first_rule;   /* not 0 if one prefix is compiled: after the rules that stay */
	uint32_t rules_room;   /* one half of the rules array has to be of */
	uint32_t rule_count;
	struct rl_extra *extras; /* of the rules, which name them by 1 + index */
	uint32_t extra_count;
	struct compiled_prefix *prefixes;
	uint32_t prefix_count;
	struct rl_set_groups *groups;      /* with RL_USE_SETS; else NULL */
	struct rl_alarms *alarms;          /* with RL_USE_ANY_ALARMS; else NULL */
	bool alarms_same;                  /* they are those of the policy in force, all of them */
	uint8_t alarm_from[RL_ALARMS_MAX]; /* 1 + the number of that in the policy in force whose
					    * state it goes on with; 0: none */
	struct index index; /* read from the maps: the roots alone, and ranges lead to them */
	uint32_t *fresh;    /* slots that were not in use: zero their counters before the swap */
	size_t fresh_count;
	uint32_t shared_end; /* after the last slot with a shared state, of both policies */
};

void compiled_clear(struct compiled *compiled);

/* The parts of the data path that the rule needs: enum rl_policy_use. */
uint64_t rule_uses(const struct rule *rule);

/* Which connections the limit of the rule counts, and by what, as the programs that see the sockets
 * use it: bpf/connections.bpf.c. */
void connection_limit_compile(const struct rule *rule, bool by_dest,
			      struct rl_connection_limit *out);

/* Notes in *out, which is compiled of `next`, from which alarms of the policy in force its own go
 * on: those of the same name that count the same and go on and off alike. */
void alarms_inherit(const struct policy *next, const struct policy *in_force, struct compiled *out);

/* Properties and capacities of an instance. */
struct compile_context {
	uint32_t rules_max;    /* elements of one half of the rules array, at most */
	uint32_t rules_room;   /* that it has now; 0: all */
	bool rules_stay;       /* it grows only where the rules have no room */
	uint32_t prefixes_max; /* entries of a trie */
	uint32_t slots_max;    /* counter slots */
	uint32_t batches_max;  /* slots below this one may have batches */
	uint64_t tick_ns;
	uint32_t cpus;          /* online; 1: no batches */
	uint32_t possible_cpus; /* may come online and take a batch; >= cpus */
	bool share;             /* --table cpu: each CPU enforces its share of every rate */
	bool hot;               /* buckets are in the hot table */
	bool conntrack;         /* who is established is asked of connection tracking */
	bool no_refusals;       /* tests: no refusal is remembered */
	enum rl_hook hook;
	uint32_t log_max;                  /* packets in a sliding-log */
	uint64_t now_ns;                   /* CLOCK_MONOTONIC; `for` counts from here */
	const struct policy_context *text; /* to print rules in errors */
	const struct rl_filters *filters;  /* that the program has, by bit; NULL: none */
	const struct rl_set *sets;         /* those in the kernel, by number; NULL: none */
};
