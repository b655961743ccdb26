// SPDX-License-Identifier: GPL-2.0-only
/* Samples of metrics by alarm. */

#include "watch/metric.h"

#include "kernel/state/alarms.h"
#include "kernel/state/stats.h"

static void alarm_begin(struct page *page, const struct scraped *scraped,
			const struct alarm_now *alarm)
{
	sample_begin(page, scraped);
	sample_label(page, "alarm", alarm->name);
}

void alarm_on_samples(struct page *page, const struct scraped *scraped)
{
	const struct alarms_now *alarms = &scraped->stats.alarms;

	for (uint32_t i = 0; i < alarms->count; i++) {
		alarm_begin(page, scraped, &alarms->alarm[i]);
		sample_end(page, alarms->alarm[i].on);
	}
}

void alarm_change_samples(struct page *page, const struct scraped *scraped)
{
	const struct alarms_now *alarms = &scraped->stats.alarms;

	for (uint32_t i = 0; i < alarms->count; i++) {
		alarm_begin(page, scraped, &alarms->alarm[i]);
		sample_end(page, alarms->alarm[i].changes);
	}
}

static bool is_of_unit(const struct page *page, const struct alarm_now *alarm)
{
	return !alarm->manual && (alarm->unit == RL_PACKETS) == (page->metric->field == RL_PACKETS);
}

void alarm_counted_samples(struct page *page, const struct scraped *scraped)
{
	const struct alarms_now *alarms = &scraped->stats.alarms;

	for (uint32_t i = 0; i < alarms->count; i++) {
		if (!is_of_unit(page, &alarms->alarm[i]))
			continue;
		alarm_begin(page, scraped, &alarms->alarm[i]);
		sample_end(page, alarms->alarm[i].counted);
	}
}

void alarm_rate_samples(struct page *page, const struct scraped *scraped)
{
	const struct alarms_now *alarms = &scraped->stats.alarms;

	for (uint32_t i = 0; i < alarms->count; i++) {
		if (!is_of_unit(page, &alarms->alarm[i]))
			continue;
		alarm_begin(page, scraped, &alarms->alarm[i]);
		sample_end_rate(page, alarms->alarm[i].rate);
	}
}
