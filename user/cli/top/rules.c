// SPDX-License-Identifier: GPL-2.0-only
/* Counters of all rules at one moment, found by their id: a policy may change between two. */

#include "cli/top/rules.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "cli/output/output.h"
#include "kernel/maps/slot_maps.h"
#include "kernel/scope.h"

static int count_compare(const void *a, const void *b)
{
	const struct rule_count *x = a, *y = b;

	return (x->id > y->id) - (x->id < y->id);
}

int rule_counts_read(const struct instance *instance, const struct policy *policy,
		     struct rule_counts *out)
{
	FREED struct rule_counters *counters = xcalloc(policy->count + 1, sizeof(*counters));
	int ret;

	rule_counts_clear(out);
	out->at_ns = clock_ns(CLOCK_MONOTONIC);
	out->items = xcalloc(policy->count + 1, sizeof(*out->items));
	ret = counters_read(instance, policy, counters);
	for (size_t i = 0; !ret && i < policy->count; i++) {
		struct rule_count *item = &out->items[out->count++];

		item->id = policy->rules[i].counter_id;
		item->verdict[TALKER_DROPPED] = counters[i].dropped;
		item->verdict[TALKER_PASSED] = counters[i].passed;
	}
	qsort(out->items, out->count, sizeof(*out->items), count_compare);
	if (ret) {
		free(out->items);
		out->items = NULL;
	}
	return ret == -ENOENT || ret == -ESTALE ? 0 : ret;
}

void rule_counts_clear(struct rule_counts *counts)
{
	free(counts->items);
	*counts = (struct rule_counts){0};
}

static struct rule_count count_find(const struct rule_counts *counts, uint32_t id)
{
	const struct rule_count wanted = {.id = id};
	const struct rule_count *found = NULL;

	if (counts->count)
		found = bsearch(&wanted, counts->items, counts->count, sizeof(wanted),
				count_compare);
	return found ? *found : wanted;
}

static uint64_t grown(uint64_t from, uint64_t to)
{
	return to >= from ? to - from : to;
}

struct rule_count rule_counts_since(const struct rule_counts *from, const struct rule_counts *to,
				    const struct rule *rule)
{
	struct rule_count before = count_find(from, rule->counter_id);
	struct rule_count now = count_find(to, rule->counter_id);

	for (int v = 0; v < TALKER_VERDICTS; v++) {
		struct rl_amount *amount = &now.verdict[v];

		amount->packets = grown(before.verdict[v].packets, amount->packets);
		amount->bytes = grown(before.verdict[v].bytes, amount->bytes);
	}
	return now;
}
