/* SPDX-License-Identifier: GPL-2.0-only */
/* Alarms as JSON, whose keys are stable, and as tables. */
#pragma once

#include <json-c/json.h>

#include "base/clock.h"
#include "cli/output/output.h"
#include "kernel/state/alarms.h"

/* An amount of what the alarm counts: {"packets"} or {"bytes"}. */
struct json_object *json_alarm_amount(const struct alarm_now *alarm, uint64_t amount);

/* All of them as an array. `at`: when they were read. */
struct json_object *json_alarms(const struct alarms_now *alarms, const struct clock_pair *at);

/* Adds the array "alarms", if the policy has one. */
void json_put_alarms(struct json_object *object, const struct alarms_now *alarms,
		     const struct clock_pair *at);

/* Prints a table of them to stdout. */
void alarms_print(const struct alarms_now *alarms, const struct clock_pair *at);
