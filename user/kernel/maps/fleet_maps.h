/* SPDX-License-Identifier: GPL-2.0-only */
/* Reads and writes the maps that the fleet agent shares with the data path
 * (bpf/limit/backend_fleet.h). All functions are silent and return a negative errno, except
 * fleet_maps_open, which reports. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernel/instance/instance.h"
#include "rlctl_abi.h"

struct ring_buffer;

struct fleet_maps {
	const struct instance *instance;
	int keys;   /* -1: the policy has no fleet limit */
	int events; /* as keys, and so are the next */
	int grants;
	struct ring_buffer *ring;
	uint64_t generation; /* policy generation for which the maps were opened */
};

/* fleet_events_poll calls `wanted` for every key that needs a lease. */
int fleet_maps_open(const struct instance *instance,
		    int (*wanted)(void *arg, void *key, size_t size), void *arg,
		    struct fleet_maps *out);
void fleet_maps_close(struct fleet_maps *maps);

void fleet_events_poll(struct fleet_maps *maps);

int fleet_limit_read(const struct instance *instance, uint32_t id, struct rl_fleet_limit *out);
/* These remove what is there if they are given none. */
int fleet_limit_write(const struct instance *instance, uint32_t id,
		      const struct rl_fleet_limit *limit);
int fleet_grant_write(const struct fleet_maps *maps, const struct rl_state_key *key,
		      const struct rl_fleet_grant *grant);
int fleet_key_read(const struct fleet_maps *maps, const struct rl_state_key *key,
		   struct rl_fleet_key *out);

/* Removes all leases; with `limits` also the fleet limits' records, so that each limit applies in
 * full on this machine alone. */
int fleet_clear(const struct instance *instance, bool limits);

/* *out is all zero before the first agent started. */
int fleet_session_read(const struct instance *instance, struct rl_fleet_session *out);
int fleet_session_write(const struct instance *instance, const struct rl_fleet_session *session);

/* Did the agent update the session within FLEET_ALIVE_NS? It does so every 0.1 s, and after each
 * reply or timeout of Redis. */
#define FLEET_ALIVE_NS (2000ull * 1000 * 1000)
bool fleet_session_is_alive(const struct rl_fleet_session *session);

/* CLOCK_MONOTONIC, the clock of the data path. */
uint64_t fleet_now_ns(void);
