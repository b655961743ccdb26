// SPDX-License-Identifier: GPL-2.0-only
/* Samples in Prometheus' text format. */

#include <inttypes.h>
#include <string.h>

#include "base/text.h"
#include "base/units.h"
#include "kernel/attach/hook_names.h"
#include "kernel/state/alarms.h"
#include "kernel/state/stats.h"
#include "watch/metrics/metric.h"

uint64_t number_at(const void *object, size_t offset)
{
	uint64_t number;

	memcpy(&number, (const char *)object + offset, sizeof(number));
	return number;
}

/* Only these two of the characters that the format escapes remain. */
void label_print(FILE *file, const char *name, const char *text)
{
	char shown[5];

	fprintf(file, "%s=\"", name);
	for (const char *c = text; *c; c++) {
		byte_escape(shown, *c);
		for (const char *s = shown; *s; s++)
			fprintf(file, *s == '\\' || *s == '"' ? "\\%c" : "%c", *s);
	}
	putc('"', file);
}

void sample_begin(struct page *page, const struct scraped *scraped)
{
	const struct metric *metric = page->metric;

	if (!page->headed)
		fprintf(page->file, "# HELP %s %s\n# TYPE %s %s\n", metric->name, metric->help,
			metric->name, metric->type);
	page->headed = true;
	fprintf(page->file, "%s{", metric->name);
	label_print(page->file, "device", scraped->instance.device);
	putc(',', page->file);
	label_print(page->file, "hook", hook_name(scraped->instance.info.hook));
}

void sample_label(struct page *page, const char *name, const char *text)
{
	putc(',', page->file);
	label_print(page->file, name, text);
}

void sample_end(struct page *page, uint64_t number)
{
	fprintf(page->file, "} %" PRIu64 "\n", number);
}

void sample_end_seconds(struct page *page, uint64_t ns)
{
	fputs("} ", page->file);
	seconds_print(page->file, ns);
}

void sample_end_rate(struct page *page, double rate)
{
	fprintf(page->file, "} %.3f\n", rate);
}

void seconds_print(FILE *file, uint64_t ns)
{
	const uint64_t second = NS_PER_SECOND;

	fprintf(file, "%" PRIu64 ".%09" PRIu64 "\n", ns / second, ns % second);
}

/* Samples of metrics by alarm. */

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

/* Samples of metrics by set. */

void set_samples(struct page *page, const struct scraped *scraped)
{
	const struct instance_stats *stats = &scraped->stats;

	for (size_t i = 0; i < stats->policy.set_count; i++) {
		sample_begin(page, scraped);
		sample_label(page, "set", stats->policy.sets[i].name);
		sample_end(page, number_at(&stats->sets[i], page->metric->field));
	}
}

void set_member_samples(struct page *page, const struct scraped *scraped)
{
	const struct instance_stats *stats = &scraped->stats;

	for (size_t i = 0; i < 2 * stats->policy.set_count; i++) {
		sample_begin(page, scraped);
		sample_label(page, "set", stats->policy.sets[i / 2].name);
		sample_label(page, "family", i % 2 ? "ipv6" : "ipv4");
		sample_end(page, stats->sets[i / 2].set.members[i % 2]);
	}
}

void set_capacity_samples(struct page *page, const struct scraped *scraped)
{
	const struct instance_stats *stats = &scraped->stats;

	for (size_t i = 0; i < stats->policy.set_count; i++) {
		sample_begin(page, scraped);
		sample_label(page, "set", stats->policy.sets[i].name);
		sample_end(page, stats->policy.sets[i].max);
	}
}

void set_time_samples(struct page *page, const struct scraped *scraped)
{
	const struct instance_stats *stats = &scraped->stats;

	for (size_t i = 0; i < stats->policy.set_count; i++) {
		uint64_t ns = number_at(&stats->sets[i], page->metric->field);

		if (!ns)
			continue;
		sample_begin(page, scraped);
		sample_label(page, "set", stats->policy.sets[i].name);
		sample_end_seconds(page, ns);
	}
}
