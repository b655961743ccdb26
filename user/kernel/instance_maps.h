/* SPDX-License-Identifier: GPL-2.0-only */
/* The maps of an instance, by pin name. Each is pinned in the directory of the instance. */
#ifndef RLCTL_INSTANCE_MAPS_H
#define RLCTL_INSTANCE_MAPS_H

#define INSTANCE_MAPS(X)   \
	X(policy)          \
	X(tries)           \
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
	X(data_watch)      \
	X(rings)           \
	X(watch_counts)

struct instance_maps {
#define INSTANCE_MAP_FD(name) int name;
	INSTANCE_MAPS(INSTANCE_MAP_FD)
#undef INSTANCE_MAP_FD
};

#define INSTANCE_PATH_MAX 256

#endif
