/* SPDX-License-Identifier: GPL-2.0-only */
/* The maps of an instance, by pin name. Each is pinned in the directory of the instance: those that
 * every instance has, and those that are there while the policy uses them (policy_maps.h). */
#pragma once

#define INSTANCE_MAPS(X)   \
	X(policy)          \
	X(tries)           \
	X(guides)          \
	X(extras)          \
	X(rule_index)      \
	X(pressure)        \
	X(bans)            \
	X(ban_seats)       \
	X(shared)          \
	X(shared_chunks)   \
	X(batches)         \
	X(fleet_session)   \
	X(reasons)         \
	X(rule_counters)   \
	X(counters_chunks) \
	X(instance)        \
	X(filters)         \
	X(members)         \
	X(set_groups)      \
	X(alarms)          \
	X(alarm_counts)    \
	X(data_watch)      \
	X(rings)           \
	X(watch_counts)

struct instance_maps {
#define INSTANCE_MAP_FD(name) int name;
	INSTANCE_MAPS(INSTANCE_MAP_FD)
#undef INSTANCE_MAP_FD
};

/* Some of them, a bit each. */
#define INSTANCE_MAP_ID(name) INSTANCE_MAP_##name,
enum instance_map { INSTANCE_MAPS(INSTANCE_MAP_ID) INSTANCE_MAP_COUNT };
#undef INSTANCE_MAP_ID
#define INSTANCE_MAP_BIT(name) (1ull << INSTANCE_MAP_##name)
#define INSTANCE_MAPS_ALL      (~0ull)
/* That set_session_open() and others of sets.h need. */
#define INSTANCE_MAPS_SETS                                                                   \
	(INSTANCE_MAP_BIT(policy) | INSTANCE_MAP_BIT(instance) | INSTANCE_MAP_BIT(members) | \
	 INSTANCE_MAP_BIT(set_groups))

/* That alarms_read() of alarms.h needs. */
#define INSTANCE_MAPS_ALARMS                                                                \
	(INSTANCE_MAP_BIT(policy) | INSTANCE_MAP_BIT(instance) | INSTANCE_MAP_BIT(alarms) | \
	 INSTANCE_MAP_BIT(alarm_counts))

/* Each with the RL_USE_* of which one has to be used; 0: it is always there. Every program refers
 * to the tables: to one of a single element, without a pin, where the policy does not use it. */
#define TABLE_MAPS(X)                                  \
	X(sources, RL_USE_SOURCES | RL_USE_NEW_SOURCE) \
	X(hot, RL_USE_HOT | RL_USE_NEW_SOURCE)         \
	X(spilled, RL_USE_HOT)                         \
	X(refusals, RL_USE_HOT)                        \
	X(prefix_cache, RL_USE_PREFIXES)               \
	X(fleet_limits, RL_USE_FLEET)                  \
	X(fleet_grants, RL_USE_FLEET)
#define POLICY_MAPS(X)                     \
	X(rules, 0)                        \
	TABLE_MAPS(X)                      \
	X(known_filter, RL_USE_NEW_SOURCE) \
	X(asked, RL_USE_ASKED)             \
	X(peers, RL_USE_PROOF)             \
	X(answers, RL_USE_ANSWERS)         \
	X(flows, RL_USE_FLOWS)             \
	X(windows, RL_USE_WINDOWS)         \
	X(logs, RL_USE_LOGS)               \
	X(fleet_keys, RL_USE_FLEET)        \
	X(fleet_events, RL_USE_FLEET)      \
	X(sets, RL_USE_ANY_SETS)           \
	X(member_layout, RL_USE_ANY_SETS)  \
	X(set_counts, RL_USE_ANY_SETS)     \
	X(accounts, RL_USE_ACCOUNTS)       \
	X(shares, RL_USE_PARTS)            \
	X(share_counts, RL_USE_PARTS)      \
	X(connections, RL_USE_CONNECTIONS)

#define POLICY_MAP_ID(name, uses) POLICY_MAP_##name,
enum policy_map { POLICY_MAPS(POLICY_MAP_ID) POLICY_MAP_COUNT };
#undef POLICY_MAP_ID

#define INSTANCE_PATH_MAX 256
