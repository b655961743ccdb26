// SPDX-License-Identifier: GPL-2.0-only
/* Reads counters and status: sums over all CPUs. */

#include "kernel/state/stats.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <bpf/bpf.h>

#include "base/message.h"
#include "base/privilege.h"
#include "kernel/attach/companion.h"
#include "kernel/device/cpus.h"
#include "kernel/instance/find.h"
#include "kernel/maps/map.h"
#include "kernel/maps/map_in_map.h"
#include "kernel/maps/policy_maps.h"
#include "kernel/policy/comments.h"
#include "kernel/policy/policy_read.h"
#include "kernel/scope.h"

/* Counters of bans and of the hot table, if there is one. */
static int pressure_read(const struct instance *instance, struct instance_stats *out)
{
	struct hot_table table;
	int ret = 0;

	if (instance->clock_injected)
		return 0;
	for (uint32_t i = 0; !ret && i < RL_PRESSURE_COUNT; i++)
		ret = percpu_sum(instance->fd.pressure, i, &out->pressure[i], 1);
	if (ret || instance->info.table != RL_TABLE_HOT)
		return ret;
	ret = hot_open(instance, &table);
	if (ret)
		return ret;
	out->hot_slots = (uint64_t)instance->info.hot_sets * RL_HOT_WAYS;
	ret = hot_live(&table, clock_ns(CLOCK_MONOTONIC), &out->hot_live);
	hot_close(&table);
	return ret;
}

static int reasons_read(const struct instance *instance, struct rl_amount out[RL_REASON_COUNT])
{
	int ret = 0;

	for (uint32_t i = 0; !ret && i < RL_REASON_COUNT; i++)
		ret = percpu_sum(instance->fd.reasons, i, (uint64_t *)&out[i], sizeof(out[i]) / 8);
	return ret;
}

int instance_reasons_read(const struct instance *instance, struct rl_amount out[RL_REASON_COUNT])
{
	int ret = reasons_read(instance, out);

	if (ret)
		fail("%s: reading the counters failed: %s", instance->device, strerror(-ret));
	return ret;
}

int instance_stats_read(const struct instance *instance, struct instance_stats *out)
{
	struct instance_stats stats = {.read_ns = clock_ns(CLOCK_REALTIME)};
	int ret = instance_policy_read(instance, &stats.policy);

	if (ret)
		return ret;
	stats.rules = calloc(stats.policy.count + 1, sizeof(*stats.rules));
	ret = stats.rules ? counters_read(instance, &stats.policy, stats.rules) : -ENOMEM;
	if (!ret)
		ret = share_counts_read(instance, &stats.policy, &stats.shares);
	if (!ret)
		ret = connections_read(instance, &stats.policy, &stats.connections);
	if (!ret)
		ret = set_stats_read(instance, &stats.policy, &stats.sets);
	stats.alarms_at = clock_pair();
	if (instance->clock_injected) /* both clocks are those of the capture */
		stats.alarms_at = (struct clock_pair){instance->now_ns, instance->now_ns};
	if (!ret)
		ret = alarms_read(instance, &stats.alarms);
	if (!ret)
		ret = reasons_read(instance, stats.reasons);
	if (!ret)
		ret = pressure_read(instance, &stats);
	if (ret) {
		fail("%s: reading the counters failed: %s", instance->device, strerror(-ret));
		instance_stats_clear(&stats);
		return ret;
	}
	*out = stats;
	return 0;
}

void instance_stats_clear(struct instance_stats *stats)
{
	policy_clear(&stats->policy);
	free(stats->rules);
	free(stats->shares);
	free(stats->connections.open);
	free(stats->sets);
	memset(stats, 0, sizeof(*stats));
}

/* The kernel keeps no count. */
static int entry_count(void *arg, const void *key, const void *value)
{
	(void)key, (void)value;
	++*(uint64_t *)arg;
	return 0;
}

/* Adds the memory of a map: in total, and for each CPU. */
static int one_memory_add(const struct instance *instance, int fd, struct instance_status *out)
{
	struct bpf_map_info info;
	int ret = map_info(fd, &info);

	if (ret)
		return ret;
	out->cpu_bytes +=
		map_cpu_bytes(&instance->info, info.type, info.value_size, info.max_entries);
	return map_memory_add(fd, &out->memory_bytes);
}

/* The same of one that may not be there, as it was opened. */
static int opened_memory_add(const struct instance *instance, int opened,
			     struct instance_status *out)
{
	CLOSED int fd = opened;

	if (fd < 0)
		return fd == -ENOENT ? 0 : fd;
	return one_memory_add(instance, fd, out);
}

static int memory_add(const struct instance *instance, int fd, struct instance_status *out)
{
	struct bpf_map_info info;
	uint32_t first = 0, slots;
	int ret = one_memory_add(instance, fd, out);

	if (!ret)
		ret = map_info(fd, &info);
	/* Rings belong to their watchers, and only those can open them. */
	if (ret || info.type != BPF_MAP_TYPE_ARRAY_OF_MAPS || fd == instance->fd.rings)
		return ret;
	slots = info.max_entries == RL_CHUNKS ? chunks_count(instance, fd, &first)
					      : info.max_entries;
	for (uint32_t slot = first; !ret && slot < first + slots; slot++)
		ret = opened_memory_add(instance, inner_open(instance, fd, slot), out);
	return ret;
}

static int sources_used(const struct instance *instance, uint64_t *out)
{
	struct hot_table table;
	uint64_t live;
	int ret = map_walk(policy_map_open(instance, POLICY_MAP_sources), entry_count, out);

	if (!ret)
		ret = hot_open(instance, &table);
	if (ret)
		return ret;
	ret = hot_live(&table, clock_ns(CLOCK_MONOTONIC), &live);
	*out += live;
	hot_close(&table);
	return ret;
}

/* Without CAP_SYS_ADMIN it is not known whether a filter of clsact is still there. */
static uint32_t companion_id(const struct instance *instance)
{
	struct device_program program;
	uint32_t noted = instance->info.companion;

	if (!noted)
		return 0;
	if (privilege_held(PRIVILEGE_SYS_ADMIN))
		return companion_find(instance->path, instance->device, &program) ? 0 : program.id;
	return noted == RL_COMPANION_COMING || companion_is_dead(instance->path) ? 0 : noted;
}

int instance_status_read(const struct instance *instance, struct instance_status *out)
{
	struct instance_status status = {.since_ns = instance->info.since_ns};
	struct device_program program;
	int ret = instance_program_find(instance, &program);

	if (ret == -ENOENT) {
		fail("%s: detached while its status was read: run `rlctl status` again",
		     instance->device);
		return ret;
	}
	if (!ret)
		ret = sources_used(instance, &status.sources_used);
	if (!ret)
		ret = map_walk(inner_open(instance, instance->fd.bans, 0), entry_count,
			       &status.bans_used);
#define MEMORY_ADD(name) ret = ret ? ret : memory_add(instance, instance->fd.name, &status);
	INSTANCE_MAPS(MEMORY_ADD)
#undef MEMORY_ADD
	for (int map = 0; !ret && map < POLICY_MAP_COUNT; map++)
		ret = opened_memory_add(instance, policy_map_open(instance, map), &status);
	if (!ret)
		ret = comments_memory_add(instance, &status.memory_bytes);
	if (ret) {
		fail("%s: reading the status failed: %s", instance->device, strerror(-ret));
		return ret;
	}
	status.program_id = program.id;
	status.companion_id = companion_id(instance);
	status.mode = program.mode;
	*out = status;
	return 0;
}
