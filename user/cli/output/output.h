/* SPDX-License-Identifier: GPL-2.0-only */
/* What goes to stdout (data) and stderr (talk). One description of a table serves text and JSON.
 * Whatever is printed here is printable ASCII: everything else is escaped as \xNN. Who runs out of
 * memory while printing ends the program with exit status 1.
 */
#ifndef RLCTL_OUTPUT_H
#define RLCTL_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <json-c/json.h>

#include "policy.h"
#include "rlctl_abi.h"

/* Global options that every verb may look at. */
extern bool output_json;   /* -j */
extern bool output_quiet;  /* -q: no talk but errors */
extern int output_verbose; /* -v, -vv */

/* Messages and progress go to stderr from now on: "rlctl: TEXT\n"; notes not under -q, what the
 * libraries say only under -v (all of it under -vv). */
void output_begin(void);

/* fail("PLACE:COLUMN: TEXT"), then the line of `len` bytes and a caret under err->column. Without a
 * place: "column N: TEXT". Returns -1. */
int fail_at(const char *place, const char *line, size_t len, const struct policy_error *err);

/* A line on stderr, which has to be a terminal, that the next one, a message or status_clear()
 * takes away again. */
void status_show(const char *text);
void status_clear(void);

/* What was written to stdout has arrived there; says so and returns -1 when not. */
int output_flush(void);

/* One byte of text from outside, escaped; returns how many columns it took. */
int put_escaped(FILE *file, char c);

/* text_escape(), to be freed; ends the program where there is no memory. */
char *text_shown(const char *text);

/* The program's end. */
void out_of_memory(void) __attribute__((noreturn));

/* ---- tables ---- */

#define TABLE_COLUMNS_MAX 32

/* Cells row by row, the headings first. Zero but for `columns` and `right` it is empty. */
struct table {
	size_t columns; /* at most TABLE_COLUMNS_MAX */
	uint32_t right; /* bit i: column i is right-aligned */
	char **cells;
	size_t count, capacity;
};

void table_cell(struct table *table, const char *text);
void table_row(struct table *table, ...) __attribute__((sentinel)); /* texts, then NULL */
void table_number(struct table *table, uint64_t n);
/* To stdout, in aligned columns; the cells are gone afterwards. */
void table_print(struct table *table);
void table_clear(struct table *table);

/* ---- JSON ---- */

/* As json_object_object_add, json_object_array_add, but a missing value is out of memory. */
void json_put(struct json_object *object, const char *key, struct json_object *value);
void json_append(struct json_object *array, struct json_object *value);
struct json_object *json_amount(const struct rl_amount *amount);
/* One line of ASCII on stdout; frees the document. */
void json_print(struct json_object *document);

/* ---- records: objects as JSON, a table as text, from one description */

/* One call per field. `key` NULL: text only; `heading` NULL: JSON only. */
struct report {
	struct table headings; /* from the first record */
	struct table cells;    /* of all records */
	size_t records;
	struct json_object *array;
	struct json_object *record; /* under way; owned by the array */
};

/* The next record. `object` is what its JSON begins with, NULL for nothing; it is taken over. */
void report_begin(struct report *report, struct json_object *object);
void report_text(struct report *report, const char *key, const char *heading, const char *text);
void report_id(struct report *report, const char *key, const char *heading, uint64_t id);
void report_number(struct report *report, const char *key, const char *heading, uint64_t n);
void report_bytes(struct report *report, const char *key, const char *heading, uint64_t bytes);
void report_time(struct report *report, const char *key, const char *heading, uint64_t realtime_ns);
/* JSON only; the value is taken over. */
void report_value(struct report *report, const char *key, struct json_object *value);
/* What this record has not: "-", and no key. */
void report_none(struct report *report, const char *heading);
/* Prints the table; under -j prints nothing and returns the array, which is then the caller's. */
struct json_object *report_end(struct report *report);

#endif
