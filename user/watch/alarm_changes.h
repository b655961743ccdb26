/* SPDX-License-Identifier: GPL-2.0-only */
/* Which alarms went on or off between two readings. Pure. */
#pragma once

#include <stdbool.h>

#include "kernel/state/alarms.h"

/* Begins with zeros. */
struct alarm_changes {
	struct alarms_now before;
	bool read;
};

/* Calls `tell` for each alarm that changed since the last call, with its state of now; none in the
 * first call. One that went on and off again meanwhile is told as it is now. An alarm that the
 * policy did not have before is told if it has changed since it was defined; one that was on and is
 * not in the policy any more, or was defined anew, is told as off, with since_ns 0. */
typedef void (*alarm_change_fn)(const struct alarm_now *alarm, void *arg);
void alarm_changes_tell(struct alarm_changes *changes, const struct alarms_now *now,
			alarm_change_fn tell, void *arg);

/* Have both the same alarms, by name, at the same places? */
bool alarms_same_places(const struct alarms_now *a, const struct alarms_now *b);

/* Did alarms_read() fail only because others keep writing policies, or because the instance goes,
 * which a watch reports? */
bool alarms_are_unknown(int error);
