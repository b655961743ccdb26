// SPDX-License-Identifier: GPL-2.0-only
/* Walks through the maps that hold states and bans by their keys. */

#include "kernel/state/source_search.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "algorithm/key_parts.h"
#include "kernel/maps/map_in_map.h"
#include "kernel/maps/policy_maps.h"
#include "kernel/maps/slot_maps.h"
#include "kernel/state/accounts.h"

#define CHUNK 4096u

/* Calls `found` for every entry of a hash map; shorter keys are zero-padded to rl_state_key. */
static int map_walk(struct source_search *s, int fd, size_t key_size, size_t value_size, int parts,
		    walk_fn *found)
{
	uint32_t chunk = value_size > 1024 ? CHUNK / 16 : CHUNK, n, cursor, *from = NULL;
	char *keys = calloc(chunk, key_size), *values = calloc(chunk, value_size * parts);
	int ret = keys && values ? 0 : -ENOMEM, end = 0;

	while (!ret && !end) {
		n = chunk;
		if (bpf_map_lookup_batch(fd, from, &cursor, keys, values, &n, NULL)) {
			end = errno == ENOENT;
			ret = end ? 0 : -errno;
		}
		for (uint32_t i = 0; !ret && i < n; i++) {
			struct rl_state_key key = {0};

			memcpy(&key, keys + i * key_size, key_size);
			ret = found(s, &key, values + i * value_size * parts, value_size, parts);
		}
		from = &cursor;
	}
	free(keys);
	free(values);
	return ret;
}

/* A map that may not be there; fd: as it was opened. */
static int opened_walk(struct source_search *s, int fd, size_t key_size, size_t value_size,
		       int parts, walk_fn *found)
{
	int ret;

	if (fd < 0)
		return fd == -ENOENT ? 0 : fd;
	ret = map_walk(s, fd, key_size, value_size, parts, found);
	close(fd);
	return ret;
}

int states_walk(struct source_search *s)
{
	const size_t long_key = sizeof(struct rl_state_key);
	const struct {
		enum policy_map map;
		size_t key_size, value_size;
	} maps[] = {
		{POLICY_MAP_sources, RL_SHORT_KEY, sizeof(struct rl_state)},
		{POLICY_MAP_flows, long_key, sizeof(struct rl_state)},
		{POLICY_MAP_windows, long_key, sizeof(struct rl_slots)},
		{POLICY_MAP_logs, long_key, RL_LOG_SIZE(s->instance->info.log_depth)},
	};
	int parts = search_parts(s), ret = 0;

	for (size_t i = 0; !ret && i < sizeof(maps) / sizeof(maps[0]); i++)
		ret = opened_walk(s, policy_map_open(s->instance, maps[i].map), maps[i].key_size,
				  maps[i].value_size, parts, search_state);
	return ret;
}

int bans_walk(struct source_search *s, walk_fn *found)
{
	return opened_walk(s, inner_open(s->instance, s->instance->fd.bans, 0),
			   sizeof(struct rl_state_key), sizeof(struct rl_ban), 1, found);
}

/* Each once, whatever rules it has. */
static int account_walk(struct source_search *s, const struct rule *rule)
{
	struct rl_state_key key = {.limit_id = rule->limit_id};
	struct rl_state state;
	int ret;

	if (search_rule(s, rule->limit_id) != rule)
		return 0;
	ret = account_read(s->instance, rule->limit_id, &state);
	return ret || !state.word ? ret : search_state(s, &key, &state, sizeof(state), 1);
}

int shared_walk(struct source_search *s)
{
	struct rl_shared_state value;
	struct slot_maps maps = slot_states(s->instance);
	int ret = 0, fd;

	policy_for_each (s->policy, rule) {
		struct rl_state_key key = {.limit_id = rule->limit_id};
		uint32_t index;

		if (!ret && rule->action == RL_ACTION_LIMIT && parts_are_account(&rule->limit))
			ret = account_walk(s, rule);
		if (rule->action != RL_ACTION_LIMIT || rule->limit.key != RL_KEY_RULE ||
		    rule_limits_connections(rule) ||
		    (s->addr && rule->limit.share[0]) || /* not for each address */
		    rule->limit.algorithm == RL_SLIDING_WINDOW ||
		    rule->limit.algorithm == RL_SLIDING_LOG)
			continue;
		fd = ret ? ret : slot_map_at(&maps, rule->counter_id, &index);
		if (fd < 0)
			ret = fd;
		else if (bpf_map_lookup_elem(fd, &index, &value))
			ret = -errno;
		else
			ret = search_state(s, &key, &value.state, sizeof(value.state), 1);
	}
	slot_maps_close(&maps);
	return ret;
}
