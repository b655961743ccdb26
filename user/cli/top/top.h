/* SPDX-License-Identifier: GPL-2.0-only */
/* What `rlctl top` shows: a picture of an instance, made of its counters and of samples. top.c
 * makes it, cmd_top.c prints one, screen.c shows them one after the other.
 */
#ifndef RLCTL_TOP_H
#define RLCTL_TOP_H

#include "instance.h"
#include "policy.h"
#include "rule_book.h"
#include "source.h"
#include "talkers.h"
#include "text.h"
#include "watch.h"

#define TOP_HISTORY  120 /* pictures */
#define TOP_CELL_MAX 24

enum top_sort { TOP_DROPPED, TOP_PASSED, TOP_BITS, TOP_ADDRESS, TOP_SORTS };
extern const char *const top_sort_names[TOP_SORTS];

/* A second's. */
struct top_rate {
	uint64_t packets, bits;
};

struct top_row {
	uint8_t addr[16];
	struct rl_sample last;
	struct top_rate rate[TALKER_VERDICTS];
	const struct rule *rule;   /* of the book; NULL: none */
	struct source_entry state; /* of it */
};

struct top {
	struct instance *instance;
	struct watch *watch;
	struct rule_book book;
	struct talkers talkers;
	struct rl_amount counted[TALKER_SLICES + 1][TALKER_VERDICTS]; /* when slices began */
	uint64_t counted_ns[TALKER_SLICES + 1];
	unsigned int slices; /* that are over */
	struct watch_figures figures;
	/* the picture */
	struct top_rate rate[TALKER_VERDICTS]; /* exact */
	uint64_t history[TOP_HISTORY];         /* packets dropped in a second, newest last */
	struct top_row *rows;
	size_t count;
	/* what the user chose */
	enum top_sort sort;
	bool has_filter;
	uint8_t filter[16];
	uint8_t filter_len;
};

int top_open(struct instance *instance, uint32_t rate, struct top *out);
void top_close(struct top *top);

/* Takes the samples that are there. 0; -ENODEV: the instance is gone. */
int top_drain(struct top *top);

/* Ends a slice, and makes the picture, with the states of the first `looked` rows. 0 or below. */
int top_turn(struct top *top, size_t looked);

/* Sorts the rows as chosen; makes them anew with the filter, from samples of the slices before. */
void top_arrange(struct top *top);
void top_filter(struct top *top);

/* A row in cells, of these columns; the rule is the last, and not cut. */
#define TOP_COLUMNS(X)     \
	X("source", 0)     \
	X("dropped/s", 1)  \
	X("bit/s", 1)      \
	X("passed/s", 1)   \
	X("bit/s", 1)      \
	X("remaining", 1)  \
	X("banned for", 1) \
	X("rule", 0)
#define TOP_COLUMN_ONE(name, right) +1
enum { TOP_COLUMN_COUNT = 0 TOP_COLUMNS(TOP_COLUMN_ONE) };

struct top_column {
	const char *name;
	bool right;
};
extern const struct top_column top_columns[TOP_COLUMN_COUNT];

#define TOP_TEXT_MAX RULE_TEXT_MAX
void top_cell(const struct top *top, const struct top_row *row, int column, char out[TOP_TEXT_MAX]);

/* 1,234 or 1.2M: at most six characters. */
void si_print(char buf[NUMBER_TEXT_MAX], uint64_t n);

/* The history as so many characters, each one of `levels`, from nothing to the most. */
void sparkline_print(const struct top *top, size_t width, const char *const *levels, size_t count,
		     char *out, size_t size);

/* "dropped N packets/s N bit/s, passed …" and what the samples are. */
void top_totals(const struct top *top, char *out, size_t size);
void top_sampled(const struct top *top, char *out, size_t size);

/* screen.c: until the user ends it. 0 or below. */
int top_show(struct top *top);

#endif
