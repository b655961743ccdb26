/* SPDX-License-Identifier: GPL-2.0-only */
/* Alarms as text for people. Pure: the moment at which they were read is a parameter. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/clock.h"
#include "base/text.h"
#include "base/units.h"
#include "kernel/state/alarms.h"

/* "12,345 packets/s", "98,304 bytes/s" or "786,432 bits/s": as the alarm's rates are written; of a
 * manual one "manual". */
void alarm_rate_print(char *buf, size_t size, const struct alarm_now *alarm);

/* "10000/second for 5s": what puts it on (phase 0) or off (1), without the word before it. Not of a
 * manual one. */
#define ALARM_PHASE_MAX (2 * QUANTITY_TEXT_MAX + 8)
void alarm_phase_print(char buf[ALARM_PHASE_MAX], const struct alarm_now *alarm,
		       unsigned int phase);

/* "in 25s": when a manual one with ends_ns goes off. */
void alarm_end_print(char buf[NUMBER_TEXT_MAX + 4], const struct alarm_now *alarm,
		     const struct clock_pair *at);

/* "2026-11-23T09:00:00Z (4m 3s)" in local time; "-": it has not changed yet. */
void alarm_since_print(char *buf, size_t size, const struct alarm_now *alarm,
		       const struct clock_pair *at);

/* "flood on since ..., 12,345 packets/s, off under ...", or "flood off, 3 packets/s, on over ...",
 * or "overload on since ..., manual, off in 25s". Returns the length, like snprintf. */
#define ALARM_LINE_MAX 512
int alarm_line_print(char *buf, size_t size, const struct alarm_now *alarm,
		     const struct clock_pair *at);

/* "alarms on: flood since 09:00:12 (4m 3s), 12,345 packets/s; ...". False: none is on. */
bool alarms_on_print(char *buf, size_t size, const struct alarms_now *alarms,
		     const struct clock_pair *at);
