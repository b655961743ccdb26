/* SPDX-License-Identifier: GPL-2.0-only */
/* The states of a simulation: a policy starts over where the time of a capture jumps. */
#pragma once

#include "kernel/instance/instance.h"
#include "policy/policy.h"

/* Removes states and bans; counters stay. Silent. */
int simulation_states_remove(const struct instance *instance, const struct policy *policy);
