// SPDX-License-Identifier: GPL-2.0-only
/* The fleet's maps: leases and limits for the data path, keys and events from it. */

#include "kernel/maps/fleet_maps.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/clock.h"
#include "base/message.h"
#include "kernel/maps/map.h"
#include "kernel/maps/policy_maps.h"
#include "kernel/policy/header_in_force.h"
#include "kernel/scope.h"

uint64_t fleet_now_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

int fleet_maps_open(const struct instance *instance,
		    int (*wanted)(void *arg, void *key, size_t size), void *arg,
		    struct fleet_maps *out)
{
	int ret = 0;

	/* The generation first: where the policy changes meanwhile, the maps are opened again. */
	*out = (struct fleet_maps){.instance = instance,
				   .generation = instance_generation(instance)};
	out->keys = policy_map_open(instance, POLICY_MAP_fleet_keys);
	out->events = policy_map_open(instance, POLICY_MAP_fleet_events);
	out->grants = policy_map_open(instance, POLICY_MAP_fleet_grants);
	const int fds[] = {out->keys, out->events, out->grants};
	for (size_t i = 0; !ret && i < sizeof(fds) / sizeof(fds[0]); i++)
		ret = fds[i] < 0 && fds[i] != -ENOENT ? fds[i] : 0;
	if (!ret && out->events >= 0) {
		out->ring = ring_buffer__new(out->events, wanted, arg, NULL);
		ret = out->ring ? 0 : -errno;
	}
	if (ret) {
		fail("%s: opening the fleet's maps failed: %s", instance->device, strerror(-ret));
		fleet_maps_close(out);
	}
	return ret;
}

void fleet_maps_close(struct fleet_maps *maps)
{
	ring_buffer__free(maps->ring);
	scope_fd(&maps->keys);
	scope_fd(&maps->events);
	scope_fd(&maps->grants);
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
	CLOSED int fd = policy_map_open(instance, POLICY_MAP_fleet_limits);

	return fd < 0 ? fd : bpf_map_lookup_elem(fd, &id, out);
}

int fleet_limit_write(const struct instance *instance, uint32_t id,
		      const struct rl_fleet_limit *limit)
{
	CLOSED int fd = policy_map_open(instance, POLICY_MAP_fleet_limits);

	return fd < 0  ? fd
	       : limit ? bpf_map_update_elem(fd, &id, limit, BPF_ANY)
		       : bpf_map_delete_elem(fd, &id);
}

int fleet_grant_write(const struct fleet_maps *maps, const struct rl_state_key *key,
		      const struct rl_fleet_grant *grant)
{
	return grant ? bpf_map_update_elem(maps->grants, key, grant, BPF_ANY)
		     : bpf_map_delete_elem(maps->grants, key);
}

int fleet_key_read(const struct fleet_maps *maps, const struct rl_state_key *key,
		   struct rl_fleet_key *out)
{
	return maps->keys < 0 ? -ENOENT : bpf_map_lookup_elem(maps->keys, key, out);
}

int fleet_clear(const struct instance *instance, bool limits)
{
	int ret = policy_map_empty(instance, POLICY_MAP_fleet_grants);
	int also = limits ? policy_map_empty(instance, POLICY_MAP_fleet_limits) : 0;

	return ret ? ret : also;
}

int fleet_session_read(const struct instance *instance, struct rl_fleet_session *out)
{
	return map_get(instance->fd.fleet_session, out);
}

int fleet_session_write(const struct instance *instance, const struct rl_fleet_session *session)
{
	return map_put(instance->fd.fleet_session, session);
}

bool fleet_session_is_alive(const struct rl_fleet_session *session)
{
	return session->since_ns && fleet_now_ns() - session->updated_ns < FLEET_ALIVE_NS;
}
