/* SPDX-License-Identifier: GPL-2.0-only */
/* Every map of the data path but those of common.h. */
#pragma once

#include "common.h"

/* The policy in force: the one slot that a swap changes. rl_policy_header is written in place. */
INNER_MAP(policy_inner, ARRAY, BPF_F_MMAPABLE, 1, __u32, sizeof(struct rl_policy_header));
MAP_OF_MAPS(policy, 1, policy_inner);

/* Two halves, see rl_policy_header. No packet reads the half that is being written: a swap returns
 * only when no packet is left that saw the policy before. As hot: a rule begins at a cache line. */
MAP(rules, ARRAY, BPF_F_MMAPABLE, AT_ATTACH(2), __u32, struct rl_rule);

/* One for each half of the rules; of the policy: room for --prefixes. */
INNER_MAP(trie_inner, LPM_TRIE, BPF_F_NO_PREALLOC, 1, struct rl_prefix_key,
	  sizeof(struct rl_prefix_value));
MAP_OF_MAPS(tries, 2, trie_inner);

/* Around which addresses the trie may have a prefix: a bit is set in place. One for each half of
 * the rules; there while the policy has a prefix. */
INNER_MAP(guide_inner, ARRAY, BPF_F_MMAPABLE, 1, __u32, sizeof(struct rl_prefix_guide));
MAP_OF_MAPS(guides, 2, guide_inner);

/* One for each half of the rules, with as many as the policy has; there while it has a rule with an
 * rl_extra. */
INNER_MAP(extras_inner, ARRAY, BPF_F_INNER_MAP, 1, __u32, sizeof(struct rl_extra));
MAP_OF_MAPS(extras, 2, extras_inner);

/* For each half: rl_index_entry. All of one size, which the kernel compiles into the look-up. */
INNER_MAP(index_inner, ARRAY, 0, RL_INDEX_MAX, __u32, sizeof(struct rl_index_entry));
MAP_OF_MAPS(rule_index, 2, index_inner);

/* State. With --table cpu the LRU maps are LRU_PERCPU_HASH (set at attach): each CPU then has its
 * own entry of a key, and rules carry a CPU's share of their rate. --sources says how many. */
SIZED_MAP(sources, LRU_HASH, 0, AT_ATTACH(1), __u8[RL_SHORT_KEY], sizeof(struct rl_state));

/* A power of two. Mappable, because the kernel then begins the elements at a page: a set is one
 * cache line. */
MAP(hot, ARRAY, BPF_F_MMAPABLE, AT_ATTACH(1), __u32, struct rl_hot_set);

/* Cached refusals of addresses, as hot: refusal.h. */
MAP(refusals, ARRAY, BPF_F_MMAPABLE, AT_ATTACH(1), __u32, struct rl_refusal_set);

/* Buckets evicted from the hot table, by fingerprint. */
MAP(spilled, LRU_HASH, 0, AT_ATTACH(1), __u64, __u64);

/* Results of the trie, as hot: prefix_cache.h. */
MAP(prefix_cache, ARRAY, BPF_F_MMAPABLE, AT_ATTACH(1), __u32, struct rl_prefix_set);

MAP(pressure, PERCPU_ARRAY, 0, RL_PRESSURE_COUNT, __u32, __u64);

/* When this CPU may make the next state of an unconfirmed key in each LRU: backend_unconfirmed.h.
 * Nanoseconds. */
MAP(creations, PERCPU_ARRAY, 0, RL_LRU_COUNT, __u32, __u64);

/* The next ones, and others of which it is said, are there while the policy uses them, and only
 * then has the program code for them: user/kernel/maps/policy_maps.h. As many as --sources; logs as
 * many as fit, of --log-depth. */
MAP(flows, LRU_HASH, 0, AT_ATTACH(1), struct rl_state_key, struct rl_state);
MAP(windows, LRU_HASH, 0, AT_ATTACH(1), struct rl_state_key, struct rl_slots);
SIZED_MAP(logs, LRU_HASH, 0, AT_ATTACH(1), struct rl_state_key,
	  AT_ATTACH(RL_LOG_SIZE(RL_SLIDING_LOG_MAX)));

/* Sources that may be known: known_source.h. With `new-source`, where the hot table is. All sets, a
 * power of two, are one element, so that the kernel compiles the look-up; as hot. */
SIZED_MAP(known_filter, ARRAY, BPF_F_MMAPABLE, 1, __u32, AT_ATTACH(sizeof(struct rl_known_set)));

/* The rate of the answers that the program sends itself: answer.h. With them. RL_ANSWERS_CPUS, and
 * the CPUs. */
MAP(answers, ARRAY, 0, AT_ATTACH(1), __u32, struct rl_answers);

/* Limits that a fleet shares: backend_fleet.h. */
MAP(fleet_limits, HASH, BPF_F_NO_PREALLOC, RL_FLEET_LIMITS, __u32, struct rl_fleet_limit);
MAP(fleet_grants, HASH, BPF_F_NO_PREALLOC, RL_FLEET_GRANTS, struct rl_state_key,
    struct rl_fleet_grant);

/* With limits of a fleet, as many as --sources; so is the next. */
MAP(fleet_keys, LRU_HASH, 0, AT_ATTACH(1), struct rl_state_key, struct rl_fleet_key);

/* Keys that want a lease, as struct rl_state_key. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20); /* bytes: 18,000 keys */
} fleet_events SEC(".maps");

/* Not read by packets: the state of the agent. */
MAP(fleet_session, ARRAY, 0, 1, __u32, struct rl_fleet_session);

/* One element, all zero: a fresh state of any size, for those larger than a stack. */
SIZED_MAP(fresh, ARRAY, 0, 1, __u32, AT_ATTACH(RL_LOG_SIZE(RL_SLIDING_LOG_MAX)));

/* Bans and their seats, of any number, in maps that push nothing out. */
INNER_MAP(bans_inner, HASH, 0, 1, struct rl_state_key, sizeof(struct rl_ban));
MAP_OF_MAPS(bans, 1, bans_inner);
INNER_MAP(ban_seats_inner, ARRAY, BPF_F_INNER_MAP, 1, __u32, sizeof(struct rl_ban_seat));
MAP_OF_MAPS(ban_seats, 1, ban_seats_inner);

/* State of `per rule`, by the rule's counter_id: an LRU could be made to forget it. */
MAP(shared, ARRAY, 0, AT_ATTACH(1), __u32, struct rl_shared_state);

/* All of one size, which the kernel compiles into the look-up. */
INNER_MAP(shared_chunk, ARRAY, 0, RL_CHUNK_SLOTS, __u32, sizeof(struct rl_shared_state));
MAP_OF_MAPS(shared_chunks, RL_CHUNKS, shared_chunk);

/* This CPU's batch of a shared bucket, by the rule's counter_id; as many as shared:
 * backend_shared.h. */
MAP(batches, PERCPU_ARRAY, 0, AT_ATTACH(1), __u32, struct rl_batch);

MAP(reasons, PERCPU_ARRAY, 0, RL_REASON_COUNT, __u32, struct rl_amount);

/* Blocks of slots, a block for each CPU: not per-CPU arrays, which have a table of pointers, one to
 * a slot, and so a cache line more for each packet. As hot; and single slots are zeroed in place.
 */
SIZED_MAP(rule_counters, ARRAY, BPF_F_MMAPABLE, AT_ATTACH(1), __u32,
	  AT_ATTACH(sizeof(struct rl_counters_block)));
INNER_MAP(counters_chunk, ARRAY, BPF_F_MMAPABLE, RL_CHUNK_SLOTS / RL_COUNTERS_SLOTS, __u32,
	  AT_ATTACH(sizeof(struct rl_counters_block)));
MAP_OF_MAPS(counters_chunks, RL_CHUNKS, counters_chunk);

MAP(instance, ARRAY, 0, 1, __u32, struct rl_instance);

/* Not read by packets: whose instructions the program has. */
MAP(filters, ARRAY, 0, 1, __u32, struct rl_filters);

/* Sets: sets.h. There while the policy has one. This one is not read by packets. */
MAP(sets, ARRAY, 0, RL_SETS_MAX, __u32, struct rl_set);

/* Pages, as many as the sets may need. */
INNER_MAP(members_inner, HASH, BPF_F_NO_PREALLOC, 1, struct rl_member_key,
	  sizeof(union rl_member_page));
MAP_OF_MAPS(members, 1, members_inner);

/* Written in place. */
MAP(member_layout, ARRAY, BPF_F_MMAPABLE, 1, __u32, struct rl_member_layout);

/* One for each half of the rules. */
INNER_MAP(set_groups_inner, ARRAY, 0, 1, __u32, sizeof(struct rl_set_groups));
MAP_OF_MAPS(set_groups, 2, set_groups_inner);

MAP(set_counts, PERCPU_ARRAY, 0, RL_SETS_MAX, __u32, struct rl_amount);

/* The alarms of a policy: one for each half. Empty where the policy has none. The command writes
 * the states of manual ones in place. */
INNER_MAP(alarms_inner, ARRAY, BPF_F_MMAPABLE, 1, __u32, sizeof(struct rl_alarms));
MAP_OF_MAPS(alarms, 2, alarms_inner);

/* For each CPU. As hot: no CPU writes into another's cache line. */
INNER_MAP(alarm_counts_inner, ARRAY, BPF_F_MMAPABLE, 1, __u32,
	  AT_ATTACH(sizeof(struct rl_alarm_counts)));
MAP_OF_MAPS(alarm_counts, 2, alarm_counts_inner);

/* Limits that senders share: backend_parts.h. There while the policy has one. As hot; counts for
 * each CPU. */
MAP(shares, ARRAY, BPF_F_MMAPABLE, 1, __u32, struct rl_shares);
SIZED_MAP(share_counts, ARRAY, BPF_F_MMAPABLE, RL_SHARES_MAX, __u32,
	  AT_ATTACH(sizeof(struct rl_share_counts)));

/* Open connections, as hot: backend_connections.h. With limits on them. */
SIZED_MAP(connections, ARRAY, BPF_F_MMAPABLE, 1, __u32, AT_ATTACH(RL_CONNECTIONS_SIZE(2)));

/* The rings of watchers: watch.h. */
struct ring_inner {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096); /* of a watcher: as its rate needs */
};
MAP_OF_MAPS(rings, RL_WATCHERS, ring_inner);

/* By stream. */
MAP(watch_counts, PERCPU_ARRAY, 0, 2 * RL_WATCHERS, __u32, struct rl_watch_count);
