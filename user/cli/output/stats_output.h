/* SPDX-License-Identifier: GPL-2.0-only */
/* An instance and its counters on stdout. */
#ifndef RLCTL_OUTPUT_STATS_H
#define RLCTL_OUTPUT_STATS_H

#include "instance.h"
#include "stats.h"

/* {"device","hook"} */
struct json_object *json_instance(const struct instance *instance);

/* What `stats -j` has of an instance; `status -j` has it and more. */
struct json_object *json_stats(const struct instance *instance, const struct instance_stats *stats);

/* Only the counters: {"passed","dropped","reasons","rules"}. */
void json_put_stats(struct json_object *object, const struct instance *instance,
		    const struct instance_stats *stats);

/* Tables of totals, reasons and rules. `before`, if not NULL, was read `elapsed_ns` earlier: then
 * rates per second stand beside the counts. */
void stats_print(const struct instance *instance, const struct instance_stats *stats,
		 const struct instance_stats *before, uint64_t elapsed_ns);

/* Only the tables, without the line that names the instance. */
void stats_print_sums(const struct instance *instance, const struct instance_stats *stats);

#endif
