/* SPDX-License-Identifier: GPL-2.0-only */
/* Replaces the program of an instance by that of this build (attach --replace). */
#pragma once

#include <stdint.h>

#include "kernel/instance/instance.h"

/* Opens the instance at the hook of target->device for writing, and checks that its maps fit this
 * build. The target must name both. Reports. */
int instance_replace_open(const struct target *target, struct instance *out);

/* Sizes that --replace may raise; 0: unchanged. */
struct sizes {
	uint32_t prefixes, bans;
};

/* Replaces its program. Policy, state, counters and attach options stay; every packet meanwhile
 * runs through the old or the new program. Recomputes the CPUs' shares of rates and budgets if the
 * number of online CPUs changed. Reports. */
int instance_replace(struct instance *instance, const struct sizes *wanted);
