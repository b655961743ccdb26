/* SPDX-License-Identifier: GPL-2.0-only */
/* Whether a rule holds now, by the alarm after its `while`. Pure: who knows the alarms passes a
 * callback. */
#pragma once

#include "policy/policy.h"

enum alarm_is { ALARM_IS_OFF, ALARM_IS_ON, ALARM_IS_UNKNOWN };

struct alarm_states {
	enum alarm_is (*of)(const char *name, void *arg);
	void *arg;
};

/* HELD: without `while`, too. `states` may be NULL: nothing is known of any alarm. */
enum held { HELD_NOT, HELD, HELD_UNKNOWN };
enum held while_held(const struct rule *rule, const struct alarm_states *states);
