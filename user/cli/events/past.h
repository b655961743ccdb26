/* SPDX-License-Identifier: GPL-2.0-only */
/* The past as far as it is known. */
#pragma once

#include <stddef.h>

#include "cli/events/event_sink.h"
#include "kernel/instance/instance.h"

/* Tells the sink of the events in the journals and of what the maps tell now: since when an
 * instance is attached, which alarms are on, which bans are in force. In the order of time. 0, or
 * < 0 after a report. */
int events_past(const struct target *target, const struct event_sink *sink);
