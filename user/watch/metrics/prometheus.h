/* SPDX-License-Identifier: GPL-2.0-only */
/* All instances in Prometheus' text exposition format 0.0.4. `stats --prometheus` and the exporter
 * print this document.
 */
#pragma once

#include <stdio.h>

#include "kernel/instance/instance.h"
#include "kernel/state/stats.h"

#define PROMETHEUS_TYPE "text/plain; version=0.0.4; charset=utf-8"

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

struct scrape {
	struct scraped *items;
	size_t count;
	size_t errors; /* attached instances that could not be read; each was reported */
	uint64_t duration_ns;
	enum scrape_rules rules;
};

/* Reads the instances of the target. One that is detached meanwhile is left out. 0, or a negative
 * errno if the instances cannot be listed. Reports. */
int scrape_read(const struct target *target, enum scrape_rules rules, struct scrape *out);
void scrape_clear(struct scrape *scrape);

void scrape_print(FILE *file, const struct scrape *scrape);
