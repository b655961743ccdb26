/* SPDX-License-Identifier: GPL-2.0-only */
/* Metrics of prometheus.c's table, and how their samples are written. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "kernel/instance/instance.h"
#include "kernel/state/stats.h"

/* An instance as metrics are made of it. */

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

struct metric;

/* The metric being printed. Its HELP and TYPE lines come with its first sample. */
struct page {
	FILE *file;
	const struct metric *metric;
	enum scrape_rules rules;
	bool headed;
};

/* The things that a metric has samples of. Limits come first among rules; bans are those of limits,
 * and of everything: i is then the number of rules. */
enum metric_of {
	OF_INSTANCE,
	OF_REASONS,
	OF_SETS,
	OF_ALARMS,
	OF_RULES,
	OF_LIMITS,
	OF_BANS,
};

struct metric {
	const char *name, *type, *help;
	enum metric_of of;
	/* The samples of the i-th of them. */
	void (*print)(struct page *page, const struct scraped *scraped, size_t i);
	size_t field, size; /* of the number in the object that `print` reads: offset and bytes */
};

/* NAME="TEXT" in printable ASCII, escaped as the format asks. */
void label_print(FILE *file, const char *name, const char *text);
/* "SECONDS.NANOSECONDS\n" */
void seconds_print(FILE *file, uint64_t ns);

/* A sample: its labels device and hook, this one unless it is NULL, further ones, and its value. */
void sample_begin(struct page *page, const struct scraped *scraped, const char *name,
		  const char *text);
void sample_label(struct page *page, const char *name, const char *text);
void sample_end(struct page *page, uint64_t number);
void sample_end_field(struct page *page, const void *object);
void sample_end_seconds(struct page *page, uint64_t ns);

/* ---- of the i-th alarm */

void alarm_on_sample(struct page *page, const struct scraped *scraped, size_t i);
void alarm_changes_sample(struct page *page, const struct scraped *scraped, size_t i);
/* The metric's field is an enum rl_unit: of alarms in packets, or of the others, in bytes. */
void alarm_counted_sample(struct page *page, const struct scraped *scraped, size_t i);
void alarm_rate_sample(struct page *page, const struct scraped *scraped, size_t i);

/* ---- of the i-th set */

/* The number in its set_stats. */
void set_sample(struct page *page, const struct scraped *scraped, size_t i);
void set_members_sample(struct page *page, const struct scraped *scraped, size_t i);
void set_capacity_sample(struct page *page, const struct scraped *scraped, size_t i);
/* None of a set whose file has not been loaded, or has not failed to be. */
void set_time_sample(struct page *page, const struct scraped *scraped, size_t i);
