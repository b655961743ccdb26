// SPDX-License-Identifier: GPL-2.0-only
/* Samples in Prometheus' text format. */
#include "watch/metrics/metric.h"

#include <inttypes.h>
#include <string.h>

#include "base/text.h"
#include "base/units.h"
#include "kernel/attach/hook_names.h"

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

void sample_label(struct page *page, const char *name, const char *text)
{
	putc(',', page->file);
	label_print(page->file, name, text);
}

void sample_begin(struct page *page, const struct scraped *scraped, const char *name,
		  const char *text)
{
	const struct metric *metric = page->metric;

	if (!page->headed)
		fprintf(page->file, "# HELP %s %s\n# TYPE %s %s\n", metric->name, metric->help,
			metric->name, metric->type);
	page->headed = true;
	fprintf(page->file, "%s{", metric->name);
	label_print(page->file, "device", scraped->instance.device);
	sample_label(page, "hook", hook_name(scraped->instance.info.hook));
	if (name)
		sample_label(page, name, text);
}

void sample_end(struct page *page, uint64_t number)
{
	fprintf(page->file, "} %" PRIu64 "\n", number);
}

void sample_end_field(struct page *page, const void *object)
{
	const char *at = (const char *)object + page->metric->field;
	uint64_t number;
	uint32_t word;

	memcpy(&word, at, sizeof(word));
	if (page->metric->size == sizeof(word))
		number = word;
	else
		memcpy(&number, at, sizeof(number));
	sample_end(page, number);
}

void sample_end_seconds(struct page *page, uint64_t ns)
{
	fputs("} ", page->file);
	seconds_print(page->file, ns);
}

void seconds_print(FILE *file, uint64_t ns)
{
	const uint64_t second = NS_PER_SECOND;

	fprintf(file, "%" PRIu64 ".%09" PRIu64 "\n", ns / second, ns % second);
}

/* ---- alarms */

static const struct alarm_now *alarm_begin(struct page *page, const struct scraped *scraped,
					   size_t i)
{
	const struct alarm_now *alarm = &scraped->stats.alarms.alarm[i];

	sample_begin(page, scraped, "alarm", alarm->name);
	return alarm;
}

void alarm_on_sample(struct page *page, const struct scraped *scraped, size_t i)
{
	sample_end(page, alarm_begin(page, scraped, i)->on);
}

void alarm_changes_sample(struct page *page, const struct scraped *scraped, size_t i)
{
	sample_end(page, alarm_begin(page, scraped, i)->changes);
}

static bool is_of_unit(const struct page *page, const struct alarm_now *alarm)
{
	return !alarm->manual && (alarm->unit == RL_PACKETS) == (page->metric->field == RL_PACKETS);
}

void alarm_counted_sample(struct page *page, const struct scraped *scraped, size_t i)
{
	if (is_of_unit(page, &scraped->stats.alarms.alarm[i]))
		sample_end(page, alarm_begin(page, scraped, i)->counted);
}

void alarm_rate_sample(struct page *page, const struct scraped *scraped, size_t i)
{
	if (is_of_unit(page, &scraped->stats.alarms.alarm[i]))
		fprintf(page->file, "} %.3f\n", alarm_begin(page, scraped, i)->rate);
}

/* ---- sets */

static void set_begin(struct page *page, const struct scraped *scraped, size_t i)
{
	sample_begin(page, scraped, "set", scraped->stats.policy.sets[i].name);
}

void set_sample(struct page *page, const struct scraped *scraped, size_t i)
{
	set_begin(page, scraped, i);
	sample_end_field(page, &scraped->stats.sets[i]);
}

void set_members_sample(struct page *page, const struct scraped *scraped, size_t i)
{
	for (int ipv6 = 0; ipv6 < 2; ipv6++) {
		set_begin(page, scraped, i);
		sample_label(page, "family", ipv6 ? "ipv6" : "ipv4");
		sample_end(page, scraped->stats.sets[i].set.members[ipv6]);
	}
}

void set_capacity_sample(struct page *page, const struct scraped *scraped, size_t i)
{
	set_begin(page, scraped, i);
	sample_end(page, scraped->stats.policy.sets[i].max);
}

void set_time_sample(struct page *page, const struct scraped *scraped, size_t i)
{
	uint64_t ns;

	memcpy(&ns, (const char *)&scraped->stats.sets[i] + page->metric->field, sizeof(ns));
	if (!ns)
		return;
	set_begin(page, scraped, i);
	sample_end_seconds(page, ns);
}
