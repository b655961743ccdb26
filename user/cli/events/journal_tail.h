/* SPDX-License-Identifier: GPL-2.0-only */
/* Follows the journal of an instance: each line as it is appended. Silent. */
#pragma once

#include <json-c/json.h>
#include <stdint.h>

#define JOURNAL_TAILS 2 /* files: journal_ending() */

struct journal_tail {
	int fd[JOURNAL_TAILS]; /* -1: the file is not there yet */
};

/* From now on. */
void journal_tail_open(struct journal_tail *tail, const char *pins);
void journal_tail_close(struct journal_tail *tail);

/* Calls `visit` for each line that was appended since the last call, by whichever process. 0, or
 * the first value of `visit` that is not 0. */
typedef int (*journal_line_fn)(const char *line, struct json_object *event, void *arg);
int journal_tail_poll(struct journal_tail *tail, const char *pins, journal_line_fn visit,
		      void *arg);
