/* SPDX-License-Identifier: GPL-2.0-only */
/* Drawings over time, as SVG in the page. Their colours are those of style.css; every colour comes
 * with a pattern, a place or a word that says the same. */
#pragma once

#include <stdint.h>
#include <stdio.h>

#include "cli/report/record.h"
#include "watch/timeline.h"

#define CHART_WIDE   960u
#define CHART_NARROW 340u

/* A part that grows upwards from the line and one that grows downwards, on one scale. */
struct chart {
	const struct timeline *timeline;
	const struct series *up, *down;
	const char *up_name, *down_name;   /* trusted words */
	const char *up_class, *down_class; /* of style.css */
	const char *title, *description;   /* trusted words */
	uint64_t mark_ns;                  /* a line at this time; 0: none */
	const char *mark_name;
	const struct alarm_record *alarms; /* lanes below; NULL: none */
};

/* The patterns that all drawings use; once in the page. */
void chart_patterns(FILE *out);

/* Draws it for a wide screen and for a narrow one; the style sheet shows one of them. */
void chart_draw(FILE *out, const struct chart *chart);

/* A small drawing without words, of its own scale. */
void spark_draw(FILE *out, const struct timeline *timeline, const struct series *series,
		const char *class_name, const char *title);

/* When something was there: a bar from one time to another in the span of the timeline. */
void span_draw(FILE *out, const struct timeline *timeline, uint64_t from_ns, uint64_t to_ns);
