// SPDX-License-Identifier: GPL-2.0-only
/* Samples of metrics by set. */

#include "watch/metric.h"

#include "kernel/state/stats.h"

void set_samples(struct page *page, const struct scraped *scraped)
{
	const struct instance_stats *stats = &scraped->stats;

	for (size_t i = 0; i < stats->policy.set_count; i++) {
		sample_begin(page, scraped);
		sample_label(page, "set", stats->policy.sets[i].name);
		sample_end(page, number_at(&stats->sets[i], page->metric->field));
	}
}

void set_member_samples(struct page *page, const struct scraped *scraped)
{
	const struct instance_stats *stats = &scraped->stats;

	for (size_t i = 0; i < 2 * stats->policy.set_count; i++) {
		sample_begin(page, scraped);
		sample_label(page, "set", stats->policy.sets[i / 2].name);
		sample_label(page, "family", i % 2 ? "ipv6" : "ipv4");
		sample_end(page, stats->sets[i / 2].set.members[i % 2]);
	}
}

void set_capacity_samples(struct page *page, const struct scraped *scraped)
{
	const struct instance_stats *stats = &scraped->stats;

	for (size_t i = 0; i < stats->policy.set_count; i++) {
		sample_begin(page, scraped);
		sample_label(page, "set", stats->policy.sets[i].name);
		sample_end(page, stats->policy.sets[i].max);
	}
}

void set_time_samples(struct page *page, const struct scraped *scraped)
{
	const struct instance_stats *stats = &scraped->stats;

	for (size_t i = 0; i < stats->policy.set_count; i++) {
		uint64_t ns = number_at(&stats->sets[i], page->metric->field);

		if (!ns)
			continue;
		sample_begin(page, scraped);
		sample_label(page, "set", stats->policy.sets[i].name);
		sample_end_seconds(page, ns);
	}
}
