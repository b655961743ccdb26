// SPDX-License-Identifier: GPL-2.0-only
/* Reads instances for their metrics. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/message.h"
#include "kernel/instance/open.h"
#include "kernel/policy/policy_read.h"
#include "kernel/state/source.h"
#include "watch/metrics/prometheus.h"

static int bans_count(const struct instance *instance, struct scraped *out)
{
	const struct policy *policy = &out->stats.policy;
	struct source_entry *entries = NULL;
	size_t count = 0;
	int ret;

	out->bans = calloc(policy->count + 1, sizeof(*out->bans));
	ret = out->bans ? instance_bans_read(instance, policy, &entries, &count) : -ENOMEM;
	if (ret)
		fail("%s: reading the bans failed: %s", instance->device, strerror(-ret));
	for (size_t i = 0; i < count; i++)
		out->bans[entries[i].rule ? (size_t)(entries[i].rule - policy->rules)
					  : policy->count]++;
	free(entries);
	return ret;
}

static void scraped_clear(struct scraped *scraped)
{
	instance_stats_clear(&scraped->stats);
	free(scraped->bans);
}

static int visit(struct instance *instance, void *arg)
{
	struct scrape *scrape = arg;
	struct scraped now = {.instance = *instance}, *items;
	struct rl_policy_header header;
	int ret = instance_status_read(instance, &now.status);

	ret = ret ?: instance_stats_read(instance, &now.stats);
	ret = ret ?: bans_count(instance, &now);
	if (!ret && !policy_header_read(instance, &header))
		now.generation = header.written;
	if (ret) {
		scraped_clear(&now);
		scrape->errors += ret != -ENOENT && ret != -ESTALE; /* these: detached meanwhile */
		return 0;
	}
	items = reallocarray(scrape->items, scrape->count + 1, sizeof(now));
	if (!items) {
		scraped_clear(&now);
		fail("out of memory");
		return -ENOMEM;
	}
	scrape->items = items;
	scrape->items[scrape->count++] = now;
	return 0;
}

int scrape_read(const struct target *target, enum scrape_rules rules, struct scrape *out)
{
	struct scrape scrape = {.rules = rules};
	uint64_t start = clock_ns(CLOCK_MONOTONIC);
	int ret = instance_for_each(target, visit, &scrape);

	scrape.duration_ns = clock_ns(CLOCK_MONOTONIC) - start;
	if (ret && ret != -ENOMEM && scrape.count) { /* one could not be opened; reported */
		scrape.errors++;
		ret = 0;
	}
	if (ret)
		scrape_clear(&scrape);
	else
		*out = scrape;
	return ret;
}

void scrape_clear(struct scrape *scrape)
{
	for (size_t i = 0; i < scrape->count; i++)
		scraped_clear(&scrape->items[i]);
	free(scrape->items);
	memset(scrape, 0, sizeof(*scrape));
}
