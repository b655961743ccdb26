/* SPDX-License-Identifier: GPL-2.0-only */
/* All instances as Prometheus reads them: text exposition format 0.0.4. What `stats --prometheus`
 * prints and what the exporter serves is this one document.
 */
#ifndef RLCTL_PROMETHEUS_H
#define RLCTL_PROMETHEUS_H

#include <stdio.h>

#include "instance.h"
#include "stats.h"

#define PROMETHEUS_TYPE "text/plain; version=0.0.4; charset=utf-8"

/* More rules of an instance have no counters in the document: limits come first, then the others in
 * the order of the policy. It bounds the document, and what a server that reads it has to keep. */
#define PROMETHEUS_RULES_MAX 10000u

/* An instance as it was read; its descriptors are closed by then. */
struct scraped {
	struct instance instance;
	struct instance_status status;
	struct instance_stats stats;
};

struct scrape {
	struct scraped *items;
	size_t count;
	size_t errors; /* instances that are there and could not be read; each was reported */
	uint64_t duration_ns;
};

/* Reads what the target names. An instance that goes away meanwhile is as if it had not been there.
 * 0, or a negative errno where it cannot be told which instances there are; says why. */
int scrape_read(const struct target *target, struct scrape *out);
void scrape_clear(struct scrape *scrape);

void scrape_print(FILE *file, const struct scrape *scrape);

#endif
