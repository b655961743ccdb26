/* SPDX-License-Identifier: GPL-2.0-only */
/* The parts of a page, each in a file of its own, and what they all know of the record. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "cli/report/record.h"

struct page; /* page.h */

/* Drops begin with the first bin that has so many per cent of the drops of the worst one: single
 * packets over a limit are no attack. */
#define DROPS_BEGIN_PERCENT 10u

struct facts {
	const struct page *page;
	const struct record *record;
	const struct timeline *timeline;
	struct series passed, dropped; /* of the first side */
	struct rl_amount all_passed, all_dropped;
	size_t begin_bin, worst_bin; /* of drops */
	uint64_t begin_ns, step_ns;  /* 0: nothing was dropped; by what times are told apart */
	uint64_t dropped_alone[RECORD_SIDES];
};

/* page_summary.c: what an operator wants to know first */
void part_summary(FILE *out, const struct facts *facts);
/* page_counts.c */
void part_reasons(FILE *out, const struct facts *facts);
void part_rules(FILE *out, const struct facts *facts);
void part_bins(FILE *out, const struct facts *facts);
/* page_alarms.c */
void part_alarms(FILE *out, const struct facts *facts);
/* page_sources.c */
void part_sources(FILE *out, const struct facts *facts);
/* page_against.c: nothing without --against */
void part_against(FILE *out, const struct facts *facts);

/* page_parts.c: the rule as words, of a side's policy. */
void side_rule_words(const struct record_side *side, const struct rule *rule,
		     char words[RULE_TEXT_MAX]);

/* Traffic of sources that were there before drops began. */
struct known_sources {
	uint64_t sources, losing;
	struct rl_amount passed, dropped;
};
void known_sources_sum(const struct facts *facts, struct known_sources *out);

/* Opens a table that scrolls in itself; the id is of the caption. */
void table_begin(FILE *out, const char *id, const char *caption);
void table_end(FILE *out);
