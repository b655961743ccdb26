/* SPDX-License-Identifier: GPL-2.0-only */
/* An instance as metrics are made of it. */
#pragma once

#include <stdint.h>

#include "kernel/instance/instance.h"
#include "kernel/state/stats.h"

/* Which rules have metrics of their own. The counts of the others are in the totals by reason; it
 * is not summed up here, because a sum over rules falls when one of them is removed. */
enum scrape_rules {
	SCRAPE_RULES_BOUNDED, /* none that allows or denies a single address, and at most
				 PROMETHEUS_RULES_MAX: limits first, then in the policy's order */
	SCRAPE_RULES_ALL,
	SCRAPE_RULES_NONE,
};
#define PROMETHEUS_RULES_MAX 1000u

/* An instance as it was read; its descriptors are closed. */
struct scraped {
	struct instance instance;
	struct instance_status status;
	struct instance_stats stats;
	uint64_t generation; /* rl_policy_header.written; 0: none */
	uint64_t *bans;      /* in force, by rule of stats.policy; the last is of everything */
};
