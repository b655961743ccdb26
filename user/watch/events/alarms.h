/* SPDX-License-Identifier: GPL-2.0-only */
/* Alarms as text for people, and which of them changed between two readings. Pure: the moment at
 * which they were read is a parameter. */
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

/* Begins with zeros. */
struct alarm_changes {
	struct alarms_now before;
	bool read;
};

/* Calls `tell` for each alarm that changed since the last call, with its state of now; none in the
 * first call. One that went on and off again meanwhile is reported as it is now. An alarm that the
 * policy did not have before is reported if it has changed since it was defined; one that was on
 * and is not in the policy any more, or was defined anew, is reported as off, with since_ns 0. */
typedef void (*alarm_change_fn)(const struct alarm_now *alarm, void *arg);
void alarm_changes_tell(struct alarm_changes *changes, const struct alarms_now *now,
			alarm_change_fn tell, void *arg);

/* Have both the same alarms, by name, at the same places? */
bool alarms_same_places(const struct alarms_now *a, const struct alarms_now *b);

/* Reads the alarms. 1; 0: they are unknown because others keep writing policies, or because the
 * instance goes, which a watch reports; or < 0; reports. */
int alarms_read_if_known(const struct instance *instance, struct alarms_now *out);
