/* SPDX-License-Identifier: GPL-2.0-only */
/* The model of `rlctl top`: snapshots of an instance, from its counters and from samples. top.c
 * makes them, snapshot.c prints one, screen.c shows them live.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <json-c/json.h>

#include "base/clock.h"
#include "base/text.h"
#include "cli/output/line.h"
#include "cli/output/output.h"
#include "cli/top/groups.h"
#include "cli/top/rules.h"
#include "kernel/instance/instance.h"
#include "kernel/state/alarms.h"
#include "kernel/state/source_search.h"
#include "kernel/watch/watch.h"
#include "policy/policy.h"
#include "watch/traffic/rule_book.h"
#include "watch/traffic/talkers.h"

#define TOP_HISTORY  120 /* snapshots */
#define TOP_CELL_MAX 24

/* The kinds of rows; as the choices of --by. */
enum top_by { TOP_BY_SOURCE, TOP_BY_DEST, TOP_BY_RULE, TOP_BY_PATTERN, TOP_BYS };

/* TOP_ADDRESS: rules are in the order of the policy. */
enum top_sort { TOP_DROPPED, TOP_PASSED, TOP_BITS, TOP_ADDRESS, TOP_SORTS };

/* A view's name for its rows: "source" is its heading and, with s, its list in JSON. */
struct top_view {
	const char *name, *names;
	const char *sorts[TOP_SORTS];
	uint32_t columns; /* bits: those that it has */
};
extern const struct top_view top_views[TOP_BYS];

/* A source, a destination, a pattern, or a rule, whose rates are exact and which has no address. */
struct top_row {
	uint8_t addr[16]; /* as of struct talker */
	struct talker_packet last;
	struct top_rate rate[TALKER_VERDICTS];
	struct top_rate error[TALKER_VERDICTS];  /* estimate.h */
	struct rl_amount count[TALKER_VERDICTS]; /* by rule: in its window */
	struct talker_value dport; /* the destination port that most of its packets are for */
	uint32_t network;          /* that at least half of the pattern is from; 0: none */
	const struct rule *rule;   /* in the book; NULL: none */
	struct source_entry state; /* of a source under that rule */
};

struct top {
	struct instance *instance;
	const char *bpffs; /* of its pins */
	bool has_next;     /* are there other devices to show? */
	struct watch *watch;
	struct rule_book book;
	struct talkers talkers[TOP_BYS]; /* none by rule */
	struct rl_amount counted[TALKER_SLICES + 1]
				[TALKER_VERDICTS]; /* at the start of each slice */
	uint64_t counted_ns[TALKER_SLICES + 1];
	struct rule_counts rules[TALKER_SLICES + 1]; /* the same; not of each slice */
	unsigned int slices;                         /* completed */
	struct watch_figures figures;
	/* the snapshot */
	struct top_rate rate[TALKER_VERDICTS];    /* exact */
	uint64_t window_ns;                       /* that the rates are over */
	uint64_t rules_ns;                        /* the same of rules */
	struct top_group rare[TALKER_VERDICTS];   /* without a row: their samples bear no rate */
	struct top_group prefix[TALKER_VERDICTS]; /* in the prefix with most packets, if any */
	uint64_t history[TOP_HISTORY];            /* packets dropped in a second, newest last */
	struct top_row *rows;                     /* those whose samples bear a rate of a verdict */
	size_t count;
	size_t seen; /* addresses with samples, or rules that counted packets */
	struct alarms_now alarms;
	struct clock_pair alarms_at;
	/* the user's choices */
	enum top_by by;
	enum top_sort sort;
	struct top_filter filter[TOP_BYS]; /* of rules and patterns: never set */
};

/* `by` is the first view; `quiet` as in watch_options. */
int top_open(struct instance *instance, uint32_t rate, enum top_by by, bool quiet, struct top *out);
void top_close(struct top *top);

/* Processes the available samples. 0, or -ENODEV if the instance is gone. */
int top_drain(struct top *top);

/* Processes the samples of all packets until now, the last ones. 0 or < 0. */
int top_finish(struct top *top);

/* Ends a slice and makes a snapshot, with the states of the first `looked` rows. 0 or < 0. */
int top_turn(struct top *top, size_t looked);

/* Sorts the rows. */
void top_arrange(struct top *top);
/* Makes the rows anew with the filter from what is known of the past slices, or with another view.
 * 0 or < 0; reports. */
void top_remake(struct top *top, size_t looked);
int top_switch(struct top *top, enum top_by by, size_t looked);

/* The columns of a row, and whether they are right-aligned. The heading of NAME is the view's. */
#define TOP_COLUMNS(X)               \
	X(SHARE, "share", 1)         \
	X(NAME, "", 0)               \
	X(FROM, "from", 0)           \
	X(DROPPED, "dropped/s", 1)   \
	X(DROPPED_ERROR, "+-", 1)    \
	X(DROPPED_BITS, "bit/s", 1)  \
	X(PASSED, "passed/s", 1)     \
	X(PASSED_ERROR, "+-", 1)     \
	X(PASSED_BITS, "bit/s", 1)   \
	X(DPORT, "dport", 1)         \
	X(REMAINING, "remaining", 1) \
	X(BANNED, "banned for", 1)   \
	X(RULE, "rule", 0)
#define TOP_COLUMN_ID(id, name, right) COLUMN_##id,
enum top_column_id { TOP_COLUMNS(TOP_COLUMN_ID) TOP_COLUMN_COUNT };
#define BIT(name) (1u << COLUMN_##name)

struct top_column {
	const char *name;
	bool right;
};
extern const struct top_column top_columns[TOP_COLUMN_COUNT];
/* The share of the row in all packets, 0 to 1; of a pattern. */
double top_share(const struct top *top, const struct top_row *row);
bool top_has_addresses(const struct top *top);
const char *top_heading(const struct top *top, enum top_column_id column);

#define TOP_TEXT_MAX RULE_TEXT_MAX
void top_cell(const struct top *top, const struct top_row *row, enum top_column_id column,
	      char out[TOP_TEXT_MAX]);

/* How wide the columns are, and, as bits, which have had a value: both only grow, so that columns
 * keep their places from one snapshot to the next. Zero: none was shown yet. */
struct top_widths {
	int of[TOP_COLUMN_COUNT];
	uint32_t filled;
};

/* Makes room for the headings and for these rows. */
void top_widths_grow(const struct top *top, size_t first, size_t count, struct top_widths *widths);

/* Which of the columns, as bits, have room in a line. */
uint32_t top_columns_fit(const struct top_widths *widths, uint32_t columns, int width);

/* 1,234 or 1.2M: at most six characters. */
void si_print(char buf[NUMBER_TEXT_MAX], uint64_t n);

/* The last `width` slices as characters, each one of `levels`, from zero to the maximum, which it
 * returns: as many as there were. */
uint64_t sparkline_print(const struct top *top, size_t width, const char *const *levels,
			 size_t count, char *out, size_t size);

/* The lines above the rows. With a verdict: TALKER_VERDICTS of them. */
enum top_line {
	TOP_LINE_TOTALS,
	TOP_LINE_SAMPLED, /* what the rows are made of */
	TOP_LINE_ALARMS,
	TOP_LINE_PREFIX,
	TOP_LINE_RARE = TOP_LINE_PREFIX + TALKER_VERDICTS,
	TOP_LINES = TOP_LINE_RARE + TALKER_VERDICTS
};
/* Into an empty line. False: there is nothing to say. */
bool top_line_print(const struct top *top, enum top_line which, struct screen_line *out);

/* screen.c: runs until the user quits, or asks for the next device. 0 or < 0. */
int top_show(struct top *top, bool *next);

/* ---- one snapshot of `rlctl top` as text and as JSON */

/* To stdout; `headed`: below a line that names the instance. */
void snapshot_print(const struct top *top, bool headed);

/* The caller frees it. */
struct json_object *snapshot_json(const struct top *top);

/* ---- denies a source for a time, by the command that a user would type */

/* Runs `rlctl rule add PREFIX deny for TIME` for the instance, in a process without a terminal, so
 * that its guard of the SSH session refuses rather than asks. The command and all that it said are
 * written to `out`. 0 or -1. */
int deny_run(const struct top *top, const char *prefix, const char *time, char *out, size_t size);
