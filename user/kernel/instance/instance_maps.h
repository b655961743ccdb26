/* SPDX-License-Identifier: GPL-2.0-only */
/* The maps of an instance, by pin name. Each is pinned in the directory of the instance. */
#pragma once

#define INSTANCE_MAPS(X)   \
	X(policy)          \
	X(tries)           \
	X(guides)          \
	X(extras)          \
	X(rules)           \
	X(rule_index)      \
	X(sources)         \
	X(hot)             \
	X(spilled)         \
	X(refusals)        \
	X(prefix_cache)    \
	X(known_filter)    \
	X(asked)           \
	X(peers)           \
	X(answers)         \
	X(pressure)        \
	X(flows)           \
	X(windows)         \
	X(logs)            \
	X(bans)            \
	X(ban_seats)       \
	X(shared)          \
	X(shared_chunks)   \
	X(leases)          \
	X(fleet_limits)    \
	X(fleet_grants)    \
	X(fleet_keys)      \
	X(fleet_events)    \
	X(fleet_session)   \
	X(reasons)         \
	X(rule_counters)   \
	X(counters_chunks) \
	X(instance)        \
	X(filters)         \
	X(sets)            \
	X(members)         \
	X(member_layout)   \
	X(set_groups)      \
	X(set_counts)      \
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
#define INSTANCE_MAPS_SETS                                                                \
	(INSTANCE_MAP_BIT(policy) | INSTANCE_MAP_BIT(instance) | INSTANCE_MAP_BIT(sets) | \
	 INSTANCE_MAP_BIT(members) | INSTANCE_MAP_BIT(member_layout) |                    \
	 INSTANCE_MAP_BIT(set_groups) | INSTANCE_MAP_BIT(set_counts))

/* That alarms_read() of alarms.h needs. */
#define INSTANCE_MAPS_ALARMS                                                                \
	(INSTANCE_MAP_BIT(policy) | INSTANCE_MAP_BIT(instance) | INSTANCE_MAP_BIT(alarms) | \
	 INSTANCE_MAP_BIT(alarm_counts))

#define INSTANCE_PATH_MAX 256
