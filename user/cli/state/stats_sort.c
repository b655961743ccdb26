// SPDX-License-Identifier: GPL-2.0-only
/* Rules and their counters, the largest first. */

#include "cli/state/stats_since.h"

#include <stdlib.h>

#include "cli/output/output.h"
#include "policy/policy.h"

struct row {
	uint64_t number;
	size_t index;
};

/* The largest first; equals in the order of the policy. */
static int row_compare(const void *left, const void *right)
{
	const struct row *a = left, *b = right;

	if (a->number != b->number)
		return a->number < b->number ? 1 : -1;
	return a->index < b->index ? -1 : a->index > b->index;
}

static uint64_t number_of(const struct rule_counters *counters, enum stats_order order)
{
	switch (order) {
	case ORDER_DROPPED:
		return counters->dropped.packets;
	case ORDER_PASSED:
		return counters->passed.packets;
	case ORDER_BYTES:
		return counters->passed.bytes + counters->dropped.bytes;
	default:
		return 0;
	}
}

/* By what was counted since, or in all by a rule that is new or was reset. */
static uint64_t growth_of(const struct instance_stats *stats, size_t index,
			  const struct instance_stats *before, enum stats_order order)
{
	uint64_t now = number_of(&stats->rules[index], order), then = 0;
	const struct rule *found =
		before ? policy_find(&before->policy, &stats->policy.rules[index]) : NULL;

	if (found)
		then = number_of(&before->rules[found - before->policy.rules], order);
	return now >= then ? now - then : now;
}

void stats_sort(const struct instance_stats *stats, const struct instance_stats *before,
		enum stats_order order, struct instance_stats *out)
{
	size_t count = stats->policy.count;
	struct row *rows = xcalloc(count + 1, sizeof(*rows));

	*out = *stats;
	out->policy.rules = xcalloc(count + 1, sizeof(*out->policy.rules));
	out->rules = xcalloc(count + 1, sizeof(*out->rules));
	if (stats->shares)
		out->shares = xcalloc(count + 1, sizeof(*out->shares));
	for (size_t i = 0; i < count; i++)
		rows[i] = (struct row){.number = growth_of(stats, i, before, order), .index = i};
	qsort(rows, count, sizeof(*rows), row_compare);
	for (size_t i = 0; i < count; i++) {
		out->policy.rules[i] = stats->policy.rules[rows[i].index];
		out->rules[i] = stats->rules[rows[i].index];
		if (stats->shares)
			out->shares[i] = stats->shares[rows[i].index];
	}
	free(rows);
}

void stats_sorted_clear(struct instance_stats *sorted)
{
	free(sorted->policy.rules);
	free(sorted->rules);
	free(sorted->shares);
	sorted->policy.rules = NULL;
	sorted->rules = NULL;
	sorted->shares = NULL;
}
