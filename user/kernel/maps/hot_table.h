/* SPDX-License-Identifier: GPL-2.0-only */
/* The tables of states: reads and clears entries of the hot table, and sizes the LRUs. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "kernel/instance/instance.h"
#include "policy/policy.h"
#include "rlctl_abi.h"

/* Sets of the negative cache: one for every two sets of sources. */
static inline uint32_t refusal_sets(const struct rl_instance *info)
{
	return info->hot_sets > 1 ? info->hot_sets / 2 : 1;
}

struct hot_table {
	const struct instance *instance;
	struct rl_hot_set *sets; /* NULL if the map is open for reading only, or not there */
	size_t size;
	int fd, spilled; /* -1: not there */
};

/* Where no limit of the policy needs it, the table is empty. */
int hot_open(const struct instance *instance, struct hot_table *out);
void hot_close(struct hot_table *table);

/* Does an address alone give all slots that its keys may have? Not where the key has another
 * address, or both ports; and a key without an address is nobody's. */
bool hot_can_visit(const struct rl_limit *limit);

typedef int hot_found_fn(void *arg, const struct rl_state_key *key, const struct rl_hot_slot *slot);

/* Calls `found` for every slot of `key` under a limit that hot_can_visit (for any port and protocol
 * if the limit counts by them) until it returns non-zero. The slot's fingerprint includes its
 * flags. */
int hot_visit(const struct hot_table *table, const struct rl_rule *numbers,
	      const struct rl_state_key *key, hot_found_fn *found, void *arg);

/* As hot_visit, for exactly this key, which may hold two addresses. */
int hot_lookup(const struct hot_table *table, const struct rl_rule *numbers,
	       const struct rl_state_key *key, hot_found_fn *found, void *arg);

/* Clears the key's slot and its cached refusals. */
int hot_forget(const struct hot_table *table, const struct rl_rule *numbers,
	       const struct rl_state_key *key);

/* Number of slots with debt. */
int hot_live(const struct hot_table *table, uint64_t now_ns, uint64_t *out);

/* ---- the LRU maps that hold states, and rules that outlast them */

/* Capacity in states. */
uint32_t lru_states(const struct rl_instance *info, enum rl_lru lru);

/* Minimum time between two state creations on one CPU, in nanoseconds. */
uint64_t lru_creation_ns(const struct rl_instance *info, enum rl_lru lru);

/* Prints a note for the rule of `next` (a policy or one prefix) whose period is longer than states
 * survive in its LRU under a flood, unless a rule of `current` has at least that period. */
void lru_notes(const struct instance *instance, const struct policy *current,
	       const struct policy *next);
