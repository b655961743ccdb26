/* SPDX-License-Identifier: GPL-2.0-only */
/* Output: data to stdout, messages to stderr. One description of a table serves text and JSON.
 * Everything except printable ASCII is escaped as \xNN. Functions that run out of memory exit with
 * status 1.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <json-c/json.h>

#include "policy/policy.h"

/* Global options. */
extern bool output_json;   /* -j */
extern bool output_quiet;  /* -q: errors only */
extern int output_verbose; /* -v, -vv */

/* Sends messages and progress to stderr as "rlctl: TEXT\n"; with -q no notes; messages of libraries
 * only with -v (all of them with -vv). */
void output_begin(void);

/* From now on, prints a note only if it was not printed since. */
void notes_once(void);

/* fail("PLACE:COLUMN: TEXT"), or "column N: TEXT" without a place, then the line of `len` bytes and
 * a caret under err->column. Returns -1. */
int fail_at(const char *place, const char *line, size_t len, const struct policy_error *err);

/* Shows a line on stderr, which must be a terminal, until the next one, a message or
 * status_clear(). */
void status_show(const char *text);
void status_clear(void);

/* The text in whose place -j prints a document: printf() and note() without -j, else nothing. */
void text_print(const char *format, ...) __attribute__((format(printf, 1, 2)));
void text_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Flushes stdout. 0 or -1; reports, unless nobody reads it any more. */
int output_flush(void);
extern bool output_unread; /* found by output_flush() */

/* Prints one byte of untrusted text, escaped. Returns its width in columns. */
int put_escaped(FILE *file, char c);

/* text_escape(); the caller frees it. Exits if out of memory. */
char *text_shown(const char *text);

/* Reports, and exits with status 1. */
void out_of_memory(void) __attribute__((noreturn));

/* As those of the C library, and open_memstream() and the fclose() of its file, but exit if out of
 * memory. */
void *xcalloc(size_t count, size_t size);
void *xreallocarray(void *items, size_t count, size_t size);
char *xstrdup(const char *text);
FILE *memory_open(char **text, size_t *size);
void memory_close(FILE *file);

/* ---- tables ---- */

#define TABLE_COLUMNS_MAX 32
#define COLUMN_GAP        2

/* Columns, as bits, that are left out where there is no room: the first ones of a list first, but
 * for those without a value in any row, which go before. They go while the last column, which gets
 * the rest of the line, would have less than `rest`, or than it needs. A list ends with {0, 0}. */
struct column_drop {
	uint32_t columns;
	int rest; /* 0: they go only where they are empty */
};
#define REST_USUAL 30
#define REST_LEAST 14 /* leaves room for the longest sources in 80 columns */

/* Which of the columns `shown` fit in `width`. `filled`: those with values. */
uint32_t columns_fit(const int *widths, size_t count, uint32_t shown, uint32_t filled,
		     const struct column_drop *drops, int width);

/* Cells row by row, the headings first. An empty table has only the first three set. */
struct table {
	size_t columns;                  /* at most TABLE_COLUMNS_MAX */
	uint32_t right;                  /* bit i: column i is right-aligned */
	const struct column_drop *drops; /* on a terminal that is too narrow; NULL: none */
	char **cells;
	size_t count, capacity;
};

void table_cell(struct table *table, const char *text);
void table_row(struct table *table, ...) __attribute__((sentinel)); /* texts, then NULL */
void table_number(struct table *table, uint64_t n);
/* Prints to stdout in aligned columns, and clears the table. */
void table_print(struct table *table);
void table_clear(struct table *table);

/* ---- JSON ---- */

/* Like json_object_object_add and json_object_array_add; exit if out of memory, also for NULL. */
void json_put(struct json_object *object, const char *key, struct json_object *value);
void json_append(struct json_object *array, struct json_object *value);
/* json_put() of a new value. */
void json_put_text(struct json_object *object, const char *key, const char *text);
void json_put_number(struct json_object *object, const char *key, uint64_t n);
void json_put_bool(struct json_object *object, const char *key, bool is);
void json_put_time(struct json_object *object, const char *key, uint64_t realtime_ns); /* UTC */
struct json_object *json_amount(const struct rl_amount *amount);
/* Prints one line of ASCII to stdout, and frees the document. */
void json_print(struct json_object *document);
/* The same line without its end; the caller frees it. */
char *json_line(struct json_object *document);

/* ---- records: objects as JSON, a table as text, from one description */

/* One call per field. `key` NULL: text only; `heading` NULL: JSON only. */
struct report {
	const char *const *drops; /* headings in the order in which they are left out, or NULL */
	const struct column_drop *columns; /* the same as bits, where headings repeat, or NULL */
	struct table headings;             /* from the first record */
	struct table cells;                /* of all records */
	size_t records;
	bool document; /* the array, also without -j */
	struct json_object *array;
	struct json_object *record; /* the current one; owned by the array */
};

/* Begins a record. Its JSON starts as `object` (NULL: empty), of which it takes ownership. */
void report_begin(struct report *report, struct json_object *object);
void report_text(struct report *report, const char *key, const char *heading, const char *text);
void report_id(struct report *report, const char *key, const char *heading, uint64_t id);
void report_number(struct report *report, const char *key, const char *heading, uint64_t n);
void report_bytes(struct report *report, const char *key, const char *heading, uint64_t bytes);
void report_time(struct report *report, const char *key, const char *heading, uint64_t realtime_ns);
/* Text only. */
void report_cell(struct report *report, const char *heading, const char *text, bool right);
/* JSON only; takes ownership of the value. */
void report_value(struct report *report, const char *key, struct json_object *value);
/* A field that this record lacks: "-" as text, no key in JSON. */
void report_none(struct report *report, const char *heading);
/* Prints the table; with -j prints nothing and returns the array, which the caller frees. */
struct json_object *report_end(struct report *report);
/* The same; the document gets the array. */
void report_put(struct report *report, struct json_object *document, const char *key);
