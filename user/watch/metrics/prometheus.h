/* SPDX-License-Identifier: GPL-2.0-only */
/* All instances in Prometheus' text exposition format 0.0.4. `stats --prometheus` and the exporter
 * print this document.
 */
#pragma once

#include <stdio.h>

#include "kernel/instance/instance.h"
#include "watch/metrics/metric.h"

#define PROMETHEUS_TYPE "text/plain; version=0.0.4; charset=utf-8"

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
