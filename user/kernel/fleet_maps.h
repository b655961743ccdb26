/* SPDX-License-Identifier: GPL-2.0-only */
/* The maps through which a fleet's agent and the data path speak (bpf/backend_fleet.h). Failures are silent
 * and a negative errno, but those of opening, which report.
 */
#ifndef RLCTL_KERNEL_FLEET_H
#define RLCTL_KERNEL_FLEET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "instance.h"
#include "rlctl_abi.h"

struct ring_buffer;

struct fleet_maps {
	const struct instance *instance;
	int keys;   /* -1: the policy has no fleet limit yet */
	int events; /* as keys */
	struct ring_buffer *ring;
	uint64_t generation; /* of the policy that they were opened for */
};

/* `wanted` is called for every key that asks, from fleet_events_poll. */
int fleet_maps_open(const struct instance *instance,
		    int (*wanted)(void *arg, void *key, size_t size), void *arg,
		    struct fleet_maps *out);
void fleet_maps_close(struct fleet_maps *maps);

/* 0: the pins are still those that were opened; -ENOENT: they are not. */
int instance_is_there(const struct instance *instance);

void fleet_events_poll(struct fleet_maps *maps);

int fleet_limit_read(const struct instance *instance, uint32_t id, struct rl_fleet_limit *out);
int fleet_limit_write(const struct instance *instance, uint32_t id,
		      const struct rl_fleet_limit *limit);
void fleet_limit_remove(const struct instance *instance, uint32_t id);
int fleet_grant_write(const struct instance *instance, const struct rl_state_key *key,
		      const struct rl_fleet_grant *grant);
void fleet_grant_remove(const struct instance *instance, const struct rl_state_key *key);
int fleet_key_read(const struct fleet_maps *maps, const struct rl_state_key *key,
		   struct rl_fleet_key *out);

/* Whatever an agent left: leases; with `limits` also the limits' records, which then hold whole and
 * alone. */
int fleet_clear(const struct instance *instance, bool limits);

/* *out is all zero where no agent was yet. */
int fleet_session_read(const struct instance *instance, struct rl_fleet_session *out);
int fleet_session_write(const struct instance *instance, const struct rl_fleet_session *session);

/* Whether its agent has said so lately; it does every 0.1 s, or when Redis has answered or not. */
#define FLEET_ALIVE_NS (2000ull * 1000 * 1000)
bool fleet_session_is_alive(const struct rl_fleet_session *session);

/* CLOCK_MONOTONIC, as packets see it. */
uint64_t fleet_now_ns(void);

#endif
