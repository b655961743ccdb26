/* SPDX-License-Identifier: GPL-2.0-only */
/* The program of an instance, swapped for that of this build. */
#ifndef RLCTL_REPLACE_H
#define RLCTL_REPLACE_H

#include <stdint.h>

#include "instance.h"

/* Opens the instance on the hook of target->device, both of which are named, to be replaced: as
 * instance_open for writing, with words of its own. */
int instance_replace_open(const struct target *target, struct instance *out);

/* What --replace may raise; 0: it stays. */
struct sizes {
	uint32_t prefixes, bans;
};

/* Swaps its program for that of this build. Policy, state, counters and what attach decided stay;
 * no packet passes meanwhile that neither program saw. Rates and budgets are shared out anew among
 * the CPUs that are online now. */
int instance_replace(struct instance *instance, const struct sizes *wanted);

#endif
