/* SPDX-License-Identifier: GPL-2.0-only */
/* Every map of the data path but those of common.h. Sizes marked "at attach" are set before
 * loading.
 */
#pragma once

#include "common.h"

/* Inner maps are given by size: clang 14 leaves types that only they name out of the BTF. */
struct policy_inner {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE); /* rl_policy_header: written in place */
	__uint(max_entries, 1);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(struct rl_policy_header));
};

/* The one slot that a swap changes. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 1);
	__type(key, __u32);
	__array(values, struct policy_inner);
} policy SEC(".maps");

/* Two halves, see rl_policy_header. No packet reads the half that is being written: a swap returns
 * only when no packet is left that saw the policy before. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE); /* as hot: a rule begins at a cache line */
	__uint(max_entries, 2);            /* at attach */
	__type(key, __u32);
	__type(value, struct rl_rule);
} rules SEC(".maps");

struct trie_inner {
	__uint(type, BPF_MAP_TYPE_LPM_TRIE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1); /* of the policy: room for --prefixes */
	__uint(key_size, sizeof(struct rl_prefix_key));
	__uint(value_size, sizeof(struct rl_prefix_value));
};

/* One for each half of the rules. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 2);
	__type(key, __u32);
	__array(values, struct trie_inner);
} tries SEC(".maps");

/* Around which addresses the trie may have a prefix. */
struct guide_inner {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE); /* a bit is set in place */
	__uint(max_entries, 1);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(struct rl_prefix_guide));
};

/* One for each half of the rules; there while the policy has a prefix. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 2);
	__type(key, __u32);
	__array(values, struct guide_inner);
} guides SEC(".maps");

struct extras_inner {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_INNER_MAP); /* as many as the policy has */
	__uint(max_entries, 1);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(struct rl_extra));
};

/* One for each half of the rules; there while the policy has a rule with an rl_extra. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 2);
	__type(key, __u32);
	__array(values, struct extras_inner);
} extras SEC(".maps");

/* For each half: rl_index_entry. All of one size, which the kernel compiles into the look-up. */
struct index_inner {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, RL_INDEX_MAX);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(struct rl_index_entry));
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 2);
	__type(key, __u32);
	__array(values, struct index_inner);
} rule_index SEC(".maps");

/* State. With --table cpu the LRU maps are LRU_PERCPU_HASH (set at attach): each CPU then has its
 * own entry of a key, and rules carry a CPU's share of their rate. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1); /* at attach: --sources */
	__uint(key_size, RL_SHORT_KEY);
	__uint(value_size, sizeof(struct rl_state));
} sources SEC(".maps");

/* Mappable, because the kernel then begins the elements at a page: a set is one cache line. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1); /* at attach: a power of two */
	__type(key, __u32);
	__type(value, struct rl_hot_set);
} hot SEC(".maps");

/* Cached refusals of addresses: refusal.h. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE); /* as hot: no set lies in two cache lines */
	__uint(max_entries, 1);            /* at attach: a power of two */
	__type(key, __u32);
	__type(value, struct rl_refusal_set);
} refusals SEC(".maps");

/* Buckets evicted from the hot table, by fingerprint. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1); /* at attach */
	__type(key, __u64);
	__type(value, __u64);
} spilled SEC(".maps");

/* Answers of the trie: prefix_cache.h. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1); /* at attach, as hot */
	__type(key, __u32);
	__type(value, struct rl_prefix_set);
} prefix_cache SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, RL_PRESSURE_COUNT);
	__type(key, __u32);
	__type(value, __u64);
} pressure SEC(".maps");

/* When this CPU may make the next state of an unconfirmed key in each LRU: backend_unconfirmed.h.
 * Nanoseconds. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, RL_LRU_COUNT);
	__type(key, __u32);
	__type(value, __u64);
} creations SEC(".maps");

/* The next ones, and others of which it is said, are there while the policy uses them, and only
 * then has the program code for them: user/kernel/maps/policy_maps.h. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1); /* at attach: --sources */
	__type(key, struct rl_state_key);
	__type(value, struct rl_state);
} flows SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1); /* at attach: --sources */
	__type(key, struct rl_state_key);
	__type(value, struct rl_slots);
} windows SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1); /* at attach: as many as fit */
	__uint(key_size, sizeof(struct rl_state_key));
	__uint(value_size, RL_LOG_SIZE(RL_SLIDING_LOG_MAX)); /* at attach: --log-depth */
} logs SEC(".maps");

/* Sources that may be known: known_source.h. With `new-source`, where the hot table is. All sets
 * are one element, so that the kernel compiles the look-up. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE); /* as hot: no set lies in two cache lines */
	__uint(max_entries, 1);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(struct rl_known_set)); /* at attach: of a power of two */
} known_filter SEC(".maps");

/* The rate of the answers that the program sends itself: answer.h. With them. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1); /* at attach: RL_ANSWERS_CPUS, and the CPUs */
	__type(key, __u32);
	__type(value, struct rl_answers);
} answers SEC(".maps");

/* Limits that a fleet shares: backend_fleet.h. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, RL_FLEET_LIMITS);
	__type(key, __u32);
	__type(value, struct rl_fleet_limit);
} fleet_limits SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, RL_FLEET_GRANTS);
	__type(key, struct rl_state_key);
	__type(value, struct rl_fleet_grant);
} fleet_grants SEC(".maps");

/* With limits of a fleet; so is the next. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1); /* at attach: --sources */
	__type(key, struct rl_state_key);
	__type(value, struct rl_fleet_key);
} fleet_keys SEC(".maps");

/* Keys that want a lease, as struct rl_state_key. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20); /* bytes: 18,000 keys */
} fleet_events SEC(".maps");

/* Not read by packets: the state of the agent. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct rl_fleet_session);
} fleet_session SEC(".maps");

/* One element, all zero: a fresh state of any size, for those larger than a stack. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, RL_LOG_SIZE(RL_SLIDING_LOG_MAX)); /* at attach */
} fresh SEC(".maps");

/* Bans and their seats, in maps that push nothing out. */
struct bans_inner {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(struct rl_state_key));
	__uint(value_size, sizeof(struct rl_ban));
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 1);
	__type(key, __u32);
	__array(values, struct bans_inner);
} bans SEC(".maps");

struct ban_seats_inner {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_INNER_MAP); /* of any size */
	__uint(max_entries, 1);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(struct rl_ban_seat));
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 1);
	__type(key, __u32);
	__array(values, struct ban_seats_inner);
} ban_seats SEC(".maps");

/* State of `per rule`, by the rule's counter_id: an LRU could be made to forget it. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1); /* at attach */
	__type(key, __u32);
	__type(value, struct rl_shared_state);
} shared SEC(".maps");

/* All of one size, which the kernel compiles into the look-up. */
struct shared_chunk {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, RL_CHUNK_SLOTS);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(struct rl_shared_state));
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, RL_CHUNKS);
	__type(key, __u32);
	__array(values, struct shared_chunk);
} shared_chunks SEC(".maps");

/* This CPU's batch of a shared bucket, by the rule's counter_id: backend_shared.h. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1); /* at attach, as shared */
	__type(key, __u32);
	__type(value, struct rl_batch);
} batches SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, RL_REASON_COUNT);
	__type(key, __u32);
	__type(value, struct rl_amount);
} reasons SEC(".maps");

/* Not per-CPU arrays: those have a table of pointers, one to a slot, which is a cache line more for
 * each packet. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE); /* as hot; and single slots are zeroed in place */
	__uint(max_entries, 1);            /* at attach: blocks of slots */
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(struct rl_counters_block)); /* at attach: for each CPU */
} rule_counters SEC(".maps");

struct counters_chunk {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, RL_CHUNK_SLOTS / RL_COUNTERS_SLOTS);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(struct rl_counters_block)); /* at attach: for each CPU */
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, RL_CHUNKS);
	__type(key, __u32);
	__array(values, struct counters_chunk);
} counters_chunks SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct rl_instance);
} instance SEC(".maps");

/* Not read by packets: whose instructions the program has. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct rl_filters);
} filters SEC(".maps");

/* Sets: sets.h. There while the policy has one. This one is not read by packets. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, RL_SETS_MAX);
	__type(key, __u32);
	__type(value, struct rl_set);
} sets SEC(".maps");

struct members_inner {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1); /* pages, as the sets may need */
	__uint(key_size, sizeof(struct rl_member_key));
	__uint(value_size, sizeof(union rl_member_page));
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 1);
	__type(key, __u32);
	__array(values, struct members_inner);
} members SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE); /* rl_member_layout: written in place */
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct rl_member_layout);
} member_layout SEC(".maps");

struct set_groups_inner {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(struct rl_set_groups));
};

/* One for each half of the rules. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 2);
	__type(key, __u32);
	__array(values, struct set_groups_inner);
} set_groups SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, RL_SETS_MAX);
	__type(key, __u32);
	__type(value, struct rl_amount);
} set_counts SEC(".maps");

/* The alarms of a policy: one for each half. Empty where the policy has none. */
struct alarms_inner {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags,
	       BPF_F_MMAPABLE); /* the command writes the states of manual ones in place */
	__uint(max_entries, 1);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(struct rl_alarms));
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 2);
	__type(key, __u32);
	__array(values, struct alarms_inner);
} alarms SEC(".maps");

struct alarm_counts_inner {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE); /* as hot: no CPU writes into another's cache line */
	__uint(max_entries, 1);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(struct rl_alarm_counts)); /* at attach: for each CPU */
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 2);
	__type(key, __u32);
	__array(values, struct alarm_counts_inner);
} alarm_counts SEC(".maps");

/* Limits that senders share: backend_parts.h. There while the policy has one. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE); /* as hot: no bin lies in two cache lines */
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct rl_shares);
} shares SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, RL_SHARES_MAX);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(struct rl_share_counts)); /* at attach: for each CPU */
} share_counts SEC(".maps");

/* Open connections: backend_connections.h. With limits on them. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE); /* as hot: no set lies in two cache lines */
	__uint(max_entries, 1);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, RL_CONNECTIONS_SIZE(2)); /* at attach */
} connections SEC(".maps");

/* The rings of watchers: watch.h. */
struct ring_inner {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096); /* of a watcher: as its rate needs */
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, RL_WATCHERS);
	__type(key, __u32);
	__array(values, struct ring_inner);
} rings SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 2 * RL_WATCHERS); /* streams */
	__type(key, __u32);
	__type(value, struct rl_watch_count);
} watch_counts SEC(".maps");
