// SPDX-License-Identifier: GPL-2.0-only
/* The fleet's maps: leases and limits for the data path, keys and events from it. */

#include "kernel/maps/fleet_maps.h"

#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/clock.h"
#include "base/message.h"
#include "kernel/instance/pins.h"
#include "kernel/maps/map.h"
#include "kernel/maps/policy_maps.h"
#include "kernel/policy/policy_read.h"

uint64_t fleet_now_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

int instance_pins_check(const struct instance *instance)
{
	uint32_t id = 0, ours = 0;
	int ret = pins_policy_id(instance->path, &id);

	if (!ret)
		ret = map_id(instance->fd.policy, &ours);
	if (!ret && id != ours)
		ret = -ENOENT;
	return ret;
}

int fleet_maps_open(const struct instance *instance,
		    int (*wanted)(void *arg, void *key, size_t size), void *arg,
		    struct fleet_maps *out)
{
	struct fleet_maps maps = {.instance = instance};
	int ret;

	maps.generation = instance_generation(instance);
	maps.keys = policy_map_open(instance, POLICY_MAP_fleet_keys);
	maps.events = policy_map_open(instance, POLICY_MAP_fleet_events);
	maps.grants = policy_map_open(instance, POLICY_MAP_fleet_grants);
	if (maps.events >= 0)
		maps.ring = ring_buffer__new(maps.events, wanted, arg, NULL);
	ret = maps.events >= 0 && !maps.ring ? -errno : 0;
	if (!ret && maps.keys < 0 && maps.keys != -ENOENT)
		ret = maps.keys;
	if (!ret && maps.events < 0 && maps.events != -ENOENT)
		ret = maps.events;
	if (!ret && maps.grants < 0 && maps.grants != -ENOENT)
		ret = maps.grants;
	if (ret) {
		fail("%s: opening the fleet's maps failed: %s", instance->device, strerror(-ret));
		fleet_maps_close(&maps);
		return ret;
	}
	*out = maps;
	return 0;
}

void fleet_maps_close(struct fleet_maps *maps)
{
	ring_buffer__free(maps->ring);
	if (maps->keys >= 0)
		close(maps->keys);
	if (maps->events >= 0)
		close(maps->events);
	if (maps->grants >= 0)
		close(maps->grants);
	maps->ring = NULL;
	maps->keys = maps->events = maps->grants = -1;
}

void fleet_events_poll(struct fleet_maps *maps)
{
	if (maps->ring)
		ring_buffer__consume(maps->ring);
}

int fleet_limit_read(const struct instance *instance, uint32_t id, struct rl_fleet_limit *out)
{
	int fd = policy_map_open(instance, POLICY_MAP_fleet_limits), ret;

	if (fd < 0)
		return fd;
	ret = bpf_map_lookup_elem(fd, &id, out) ? -errno : 0;
	close(fd);
	return ret;
}

int fleet_limit_write(const struct instance *instance, uint32_t id,
		      const struct rl_fleet_limit *limit)
{
	int fd = policy_map_open(instance, POLICY_MAP_fleet_limits), ret;

	if (fd < 0)
		return fd;
	ret = bpf_map_update_elem(fd, &id, limit, BPF_ANY) ? -errno : 0;
	close(fd);
	return ret;
}

void fleet_limit_remove(const struct instance *instance, uint32_t id)
{
	int fd = policy_map_open(instance, POLICY_MAP_fleet_limits);

	if (fd < 0)
		return;
	bpf_map_delete_elem(fd, &id);
	close(fd);
}

int fleet_grant_write(const struct fleet_maps *maps, const struct rl_state_key *key,
		      const struct rl_fleet_grant *grant)
{
	return bpf_map_update_elem(maps->grants, key, grant, BPF_ANY) ? -errno : 0;
}

void fleet_grant_remove(const struct fleet_maps *maps, const struct rl_state_key *key)
{
	bpf_map_delete_elem(maps->grants, key);
}

int fleet_key_read(const struct fleet_maps *maps, const struct rl_state_key *key,
		   struct rl_fleet_key *out)
{
	if (maps->keys < 0)
		return -ENOENT;
	return bpf_map_lookup_elem(maps->keys, key, out) ? -errno : 0;
}

/* Restarts at the first key each time, because a deleted key is no cursor. */
static int map_empty(const struct instance *instance, enum policy_map map, void *key)
{
	int fd = policy_map_open(instance, map), ret = 0;

	if (fd < 0)
		return fd == -ENOENT ? 0 : fd;
	while (!ret && !bpf_map_get_next_key(fd, NULL, key))
		if (bpf_map_delete_elem(fd, key) && errno != ENOENT)
			ret = -errno;
	close(fd);
	return ret;
}

int fleet_clear(const struct instance *instance, bool limits)
{
	struct rl_state_key key;
	uint32_t id;

	int ret = map_empty(instance, POLICY_MAP_fleet_grants, &key);
	int also = limits ? map_empty(instance, POLICY_MAP_fleet_limits, &id) : 0;

	return ret ? ret : also;
}

int fleet_session_read(const struct instance *instance, struct rl_fleet_session *out)
{
	uint32_t zero = 0;

	return bpf_map_lookup_elem(instance->fd.fleet_session, &zero, out) ? -errno : 0;
}

int fleet_session_write(const struct instance *instance, const struct rl_fleet_session *session)
{
	uint32_t zero = 0;

	return bpf_map_update_elem(instance->fd.fleet_session, &zero, session, BPF_ANY) ? -errno
											: 0;
}

bool fleet_session_is_alive(const struct rl_fleet_session *session)
{
	return session->since_ns && fleet_now_ns() - session->updated_ns < FLEET_ALIVE_NS;
}
