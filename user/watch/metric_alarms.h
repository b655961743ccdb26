/* SPDX-License-Identifier: GPL-2.0-only */
/* Samples of metrics by alarm: none where a policy has no alarm, at most RL_ALARMS_MAX of each
 * metric for an instance. */
#pragma once

#include "watch/metric.h"

void alarm_on_samples(struct page *page, const struct scraped *scraped);
void alarm_change_samples(struct page *page, const struct scraped *scraped);
/* The metric's field is an enum rl_unit: of alarms in packets, or of the others, in bytes. */
void alarm_counted_samples(struct page *page, const struct scraped *scraped);
void alarm_rate_samples(struct page *page, const struct scraped *scraped);
