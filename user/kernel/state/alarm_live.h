/* SPDX-License-Identifier: GPL-2.0-only */
/* The alarms of an instance that are on now, for questions about rules (while.h). */
#pragma once

#include "kernel/state/alarms.h"
#include "policy/while.h"

struct alarm_live {
	struct alarms_now now;
	struct alarm_states states; /* to be passed on; what could not be read is not known */
};

/* The instance is open with INSTANCE_MAPS_ALARMS. Silent. */
void alarm_live_read(const struct instance *instance, struct alarm_live *out);
