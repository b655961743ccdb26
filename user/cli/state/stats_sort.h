/* SPDX-License-Identifier: GPL-2.0-only */
/* Rules and their counters in another order. */
#pragma once

#include "kernel/state/stats.h"

/* The order of rules: of the policy, or the largest first. As the choices of --sort. */
enum stats_order { ORDER_DROPPED, ORDER_PASSED, ORDER_BYTES, ORDER_RULE };

/* A copy with the rules sorted by what they counted since `before` (NULL: since they were added).
 * Only the two arrays of rules are its own; everything else remains that of `stats`. */
void stats_sort(const struct instance_stats *stats, const struct instance_stats *before,
		enum stats_order order, struct instance_stats *out);

/* Frees what stats_sort() made. */
void stats_sorted_clear(struct instance_stats *sorted);
