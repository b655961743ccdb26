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

struct metric {
	const char *name, *type, *help;
	void (*print)(struct page *page, const struct scraped *scraped);
	size_t field; /* offset of the number in the object that `print` reads */
};

uint64_t number_at(const void *object, size_t offset);

/* NAME="TEXT" in printable ASCII, escaped as the format asks. */
void label_print(FILE *file, const char *name, const char *text);

/* A sample: its labels device and hook, further ones, and its value. */
void sample_begin(struct page *page, const struct scraped *scraped);
void sample_label(struct page *page, const char *name, const char *text);
void sample_end(struct page *page, uint64_t number);
void sample_end_seconds(struct page *page, uint64_t ns);
void sample_end_rate(struct page *page, double rate); /* with three digits behind the point */

/* "SECONDS.NANOSECONDS\n" */
void seconds_print(FILE *file, uint64_t ns);

/* Samples of metrics by alarm: none where a policy has no alarm, at most RL_ALARMS_MAX of each
 * metric for an instance. */

void alarm_on_samples(struct page *page, const struct scraped *scraped);
void alarm_change_samples(struct page *page, const struct scraped *scraped);
/* The metric's field is an enum rl_unit: of alarms in packets, or of the others, in bytes. */
void alarm_counted_samples(struct page *page, const struct scraped *scraped);
void alarm_rate_samples(struct page *page, const struct scraped *scraped);

/* ---- samples of metrics by set */

/* The number in the set_stats of each set. */
void set_samples(struct page *page, const struct scraped *scraped);
void set_member_samples(struct page *page, const struct scraped *scraped);
void set_capacity_samples(struct page *page, const struct scraped *scraped);
/* Times of sets whose file has been loaded, or has failed to be. */
void set_time_samples(struct page *page, const struct scraped *scraped);
