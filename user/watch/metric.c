// SPDX-License-Identifier: GPL-2.0-only
/* Samples in Prometheus' text format. */

#include "watch/metric.h"

#include <inttypes.h>
#include <string.h>

#include "base/text.h"
#include "base/units.h"
#include "kernel/attach/hook_names.h"

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
