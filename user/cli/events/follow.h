/* SPDX-License-Identifier: GPL-2.0-only */
/* Follows instances: those that are there, and those that come. */
#pragma once

#include <stddef.h>

#include "cli/events/event_sink.h"
#include "kernel/instance/instance.h"

/* Tells the sinks of every event until a signal, or until nobody reads standard output. 0, or < 0
 * after a report. */
int events_follow(const struct target *target, const struct event_sink *sinks, size_t count);
