// SPDX-License-Identifier: GPL-2.0-only
#include "kernel/simulation_states.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include <bpf/bpf.h>

#include "kernel/maps/hot_table.h"
#include "kernel/maps/map.h"
#include "kernel/maps/map_in_map.h"
#include "kernel/maps/policy_maps.h"
#include "kernel/maps/slot_maps.h"
#include "kernel/scope.h"
#include "kernel/state/accounts.h"
#include "kernel/state/alarms.h"
#include "kernel/state/bans.h"
#include "kernel/state/share_counts.h"
#include "rlctl_abi.h"

/* Removes every key of a map, as it was opened, unless it does not exist because the policy does
 * not use it; with bans their seats. Fetches the next key first, because from a deleted key the
 * walk would restart. */
static int keys_remove(const struct instance *instance, int opened, bool bans)
{
	CLOSED int fd = opened;
	struct rl_state_key key, next;
	int end, ret = 0;

	if (fd < 0)
		return fd == -ENOENT ? 0 : fd;
	for (end = bpf_map_get_next_key(fd, NULL, &key); !end && !ret; key = next) {
		end = bpf_map_get_next_key(fd, &key, &next);
		ret = bans ? ban_forget(instance, &key) : bpf_map_delete_elem(fd, &key);
		ret = ret == -ENOENT ? 0 : ret;
	}
	return ret ? ret : end == -ENOENT ? 0 : end;
}

static int shared_remove(const struct instance *instance, const struct policy *policy)
{
	const struct rl_shared_state none = {};
	struct slot_maps maps = slot_states(instance);
	int ret = 0;

	policy_for_each (policy, rule) {
		uint32_t index;
		int fd;

		if (ret || rule->action != RL_ACTION_LIMIT ||
		    (rule->limit.key != RL_KEY_RULE && !rule->limit.share[0]))
			continue;
		fd = slot_map_at(&maps, rule->counter_id, &index);
		ret = fd < 0 ? fd : bpf_map_update_elem(fd, &index, &none, BPF_ANY);
	}
	slot_maps_close(&maps);
	return ret;
}

static int array_zero(const struct instance *instance, enum policy_map map, size_t size)
{
	CLOSED int fd = policy_map_open(instance, map);
	void *at;

	if (fd < 0)
		return fd == -ENOENT ? 0 : fd;
	at = map_whole(fd, size, PROT_READ | PROT_WRITE);
	if (!at)
		return -errno;
	memset(at, 0, size);
	munmap(at, size);
	return 0;
}

static int spilled_remove(const struct instance *instance)
{
	CLOSED int fd = policy_map_open(instance, POLICY_MAP_spilled);
	uint64_t key;
	int ret = 0;

	if (fd < 0)
		return fd == -ENOENT ? 0 : fd;
	while (!ret && !bpf_map_get_next_key(fd, NULL, &key)) {
		ret = bpf_map_delete_elem(fd, &key);
		ret = ret == -ENOENT ? 0 : ret;
	}
	return ret;
}

/* The hot table, and what is there only beside it. */
static int hot_remove(const struct instance *instance)
{
	const struct rl_instance *info = &instance->info;
	int ret;

	if (info->table != RL_TABLE_HOT)
		return 0;
	ret = array_zero(instance, POLICY_MAP_hot, info->hot_sets * sizeof(struct rl_hot_set));
	if (!ret)
		ret = array_zero(instance, POLICY_MAP_refusals,
				 refusal_sets(info) * sizeof(struct rl_refusal_set));
	if (!ret)
		ret = spilled_remove(instance);
	return ret ? ret : share_states_restart(instance);
}

/* There are no batches with one CPU. */
int simulation_states_remove(const struct instance *instance, const struct policy *policy)
{
	static const enum policy_map maps[] = {POLICY_MAP_sources, POLICY_MAP_flows,
					       POLICY_MAP_windows, POLICY_MAP_logs,
					       POLICY_MAP_fleet_keys};
	int ret = accounts_sweep(instance, true);

	for (size_t i = 0; !ret && i < sizeof(maps) / sizeof(maps[0]); i++)
		ret = keys_remove(instance, policy_map_open(instance, maps[i]), false);
	if (!ret)
		ret = keys_remove(instance, inner_open(instance, instance->fd.bans, 0), true);
	if (!ret)
		ret = hot_remove(instance);
	if (!ret)
		ret = alarms_restart(instance);
	return ret ? ret : shared_remove(instance, policy);
}
