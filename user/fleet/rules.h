/* SPDX-License-Identifier: GPL-2.0-only */
/* The policy of the instance, as the agent follows it. */
#pragma once

#include "fleet/agent_state.h"

/* Writes the member's part of every limit to the kernel. */
void agent_limits_write(struct agent *a, uint64_t now_ns);

/* Adds a key that needs a lease: the callback of fleet_maps_open(); arg is the agent. */
int agent_key_wanted(void *arg, void *data, size_t size);

/* Opens the maps and reads the limits of the policy in force. 0, or negative; reports. */
int agent_policy_load(struct agent *a);

/* Loads the policy again if it changed. 0, or -1 if the instance was detached; reports. */
int agent_policy_watch(struct agent *a, uint64_t now_ns);
