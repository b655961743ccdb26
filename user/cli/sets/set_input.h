/* SPDX-License-Identifier: GPL-2.0-only */
/* Addresses for a set: words of a command line, lines of a file or of a stream. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "compile/member_table.h"

/* Addresses that were read, each with its life: 0 if none was given. */
struct set_items {
	struct member_entry *entries;
	uint64_t *lives;
	size_t count, capacity;
};

/* Exits if out of memory. */
void set_items_add(struct set_items *items, const struct member *member, uint64_t life_ns);
void set_items_clear(struct set_items *items);

/* `for DURATION` at the end of a command's words, which are then fewer; 0 if there is none. 0 or
 * EXIT_USAGE; reports. */
int set_life_words(const char *verb, char *const *words, int *count, uint64_t *out_ns);

/* One address of a command line. 0 or EXIT_USAGE; reports. */
int set_word_parse(const char *word, struct member *out, bool *host_bits);

/* ---- lines */

#define SET_NAMED_MAX 20   /* bad lines and refused addresses that messages name */
#define SET_LINE_MAX  4096 /* bytes */

/* A file or a stream of lines `ADDRESS[/LEN] [for DURATION]`. Blank lines and what follows a # are
 * skipped; lines that are wrong are reported, the first SET_NAMED_MAX of them each, and skipped. */
struct set_lines {
	const char *name; /* as messages show it */
	int fd;
	uint64_t life_ns; /* of lines without one; 0: that of the set */
	uint64_t line;    /* lines that were read */
	uint64_t bad, host_bits;
	bool ended;
	bool overlong; /* the line at hand is longer than SET_LINE_MAX, and reported */
	char *buffer;
	size_t used;
};

/* "-" is standard input. 0 or -1; reports. */
int set_lines_open(struct set_lines *lines, const char *path);
/* Reads once what is there, and appends the addresses of whole lines. 0 or -1; reports. */
int set_lines_read(struct set_lines *lines, struct set_items *items);
/* Reports how many lines were wrong beyond those that were named. */
void set_lines_close(struct set_lines *lines);
