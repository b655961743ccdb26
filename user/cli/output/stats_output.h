/* SPDX-License-Identifier: GPL-2.0-only */
/* Prints an instance and its counters to stdout. */
#pragma once

#include "base/clock.h"
#include "cli/output/output.h"
#include "kernel/instance/instance.h"
#include "kernel/state/alarms.h"
#include "kernel/state/stats.h"

/* The names of RL_PRESSURES. */
extern const char *const pressure_names[];

/* {"device","hook"} */
struct json_object *json_instance(const struct instance *instance);

/* "while" and "while_not", where the rule has such a word. */
void json_put_while(struct json_object *object, const struct rule *rule);

/* The object of `stats -j`, which `status -j` extends. */
struct json_object *json_stats(const struct instance *instance, const struct instance_stats *stats);

/* Only the counters: {"passed","dropped","reasons","rules"}. */
void json_put_stats(struct json_object *object, const struct instance *instance,
		    const struct instance_stats *stats);

/* Tables of totals, reasons and rules. If `before`, read `elapsed_ns` earlier, is not NULL, also
 * prints rates per second. */
void stats_print(const struct instance *instance, const struct instance_stats *stats,
		 const struct instance_stats *before, uint64_t elapsed_ns);

/* The line above: device and hook, without `before` since when they are counted. */
void stats_head_print(const struct instance *instance, const struct instance_stats *stats,
		      const struct instance_stats *before);

/* Only the tables, without the line that names the instance. */
void stats_print_sums(const struct instance *instance, const struct instance_stats *stats);

/* ---- alarms.c: alarms as JSON, whose keys are stable, and as tables */

/* An amount of what the alarm counts: {"packets"} or {"bytes"}. */
struct json_object *json_alarm_amount(const struct alarm_now *alarm, uint64_t amount);

/* All of them as an array. `at`: when they were read. */
struct json_object *json_alarms(const struct alarms_now *alarms, const struct clock_pair *at);

/* Adds the array "alarms", if the policy has one. */
void json_put_alarms(struct json_object *object, const struct alarms_now *alarms,
		     const struct clock_pair *at);

/* Prints a table of them to stdout. */
void alarms_print(const struct alarms_now *alarms, const struct clock_pair *at);
