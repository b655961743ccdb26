/* SPDX-License-Identifier: GPL-2.0-only */
/* Samples of metrics by set. */
#pragma once

#include "watch/metric.h"

/* The number in the set_stats of each set. */
void set_samples(struct page *page, const struct scraped *scraped);
void set_member_samples(struct page *page, const struct scraped *scraped);
void set_capacity_samples(struct page *page, const struct scraped *scraped);
/* Times of sets whose file has been loaded, or has failed to be. */
void set_time_samples(struct page *page, const struct scraped *scraped);
