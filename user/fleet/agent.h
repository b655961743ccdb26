/* SPDX-License-Identifier: GPL-2.0-only */
/* The agent of one member: its loop is in agent.c. */
#pragma once

#include "fleet/agent_state.h"

/* Steps of a tick, which tests call with their own time. */

/* Begin to share limits, and end it: revokes all leases. */
void agent_shared_begin(struct agent *a);
void agent_shared_end(struct agent *a, uint64_t now_ns, const char *why);

/* Sends requests for the keys that are due, and the heartbeat; applies the answers. */
void agent_exchange(struct agent *a, uint64_t now_ns);
