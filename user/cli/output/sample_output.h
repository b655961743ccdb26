/* SPDX-License-Identifier: GPL-2.0-only */
/* Output of monitor: samples of packets, and alarms that go on or off, as lines and JSON. */
#pragma once

#include "kernel/state/alarms.h"
#include "kernel/watch/sampler.h"
#include "watch/traffic/rule_book.h"

/* Prints one line or one JSON object to stdout. */
void sample_print(const struct sampled *sampled, uint64_t realtime_ns,
		  const struct rule_book *book);

/* The same for an alarm that has changed, which the instance of the book has. */
void alarm_change_print(const struct alarm_now *alarm, uint64_t realtime_ns,
			const struct rule_book *book);
