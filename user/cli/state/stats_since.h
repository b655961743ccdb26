/* SPDX-License-Identifier: GPL-2.0-only */
/* Counters of an instance since an earlier document of `stats -j`. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "kernel/instance/instance.h"
#include "kernel/state/stats.h"

struct json_object;

/* A document of `rlctl stats -j`. */
struct since {
	const char *name; /* of the file, as messages show it */
	struct json_object *document;
};

/* "-" is standard input. 0 or -1; reports. */
int since_read(const char *path, struct since *out);
void since_clear(struct since *since);

/* The device and the hook of item i, "" if it has none. False if there is no such item. */
bool since_instance(const struct since *since, size_t i, const char **device, const char **hook);

/* Subtracts what the document has of the instance, and says how long ago it was made; 0 if the
 * clock was set back meanwhile. -1 if it has another instance or none; reports. A rule that was
 * deleted and added again keeps its count. */
int since_subtract(const struct since *since, const struct instance *instance,
		   struct instance_stats *stats, uint64_t *elapsed_ns);

/* ---- rules and their counters in another order */

/* The order of rules: of the policy, or the largest first. As the choices of --sort. */
enum stats_order { ORDER_DROPPED, ORDER_PASSED, ORDER_BYTES, ORDER_RULE };

/* A copy with the rules sorted by what they counted since `before` (NULL: since they were added).
 * Only the two arrays of rules are its own; everything else remains that of `stats`. */
void stats_sort(const struct instance_stats *stats, const struct instance_stats *before,
		enum stats_order order, struct instance_stats *out);

/* Frees what stats_sort() made. */
void stats_sorted_clear(struct instance_stats *sorted);
