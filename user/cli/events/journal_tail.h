/* SPDX-License-Identifier: GPL-2.0-only */
/* Passes on each line that is appended to the journal of an instance. Silent. */
#pragma once

#include <json-c/json.h>
#include <stdint.h>
#include <sys/types.h>

#define JOURNAL_TAILS 4 /* files: two, in each of two places */

struct journal_tail {
	struct journal_tail_file {
		int fd;            /* -1: it is not there */
		uint64_t since_ns; /* CLOCK_REALTIME: lines up to its present end that are older are
				      past */
	} file[JOURNAL_TAILS];
	dev_t kept_dev;   /* of the folder that is kept */
	ino_t kept_ino;   /* 0: there is none */
	uint64_t last_ns; /* CLOCK_REALTIME: of the last line that was read */
};

/* From now on; or since since_ns (CLOCK_REALTIME), if it is not 0. */
void journal_tail_open(struct journal_tail *tail, const char *pins, uint64_t since_ns);
void journal_tail_close(struct journal_tail *tail);

/* Calls `visit` for each line that was appended since the last call, by whichever process. 0, or
 * the first value of `visit` that is not 0. */
typedef int (*journal_line_fn)(const char *line, struct json_object *event, void *arg);
int journal_tail_poll(struct journal_tail *tail, const char *pins, journal_line_fn visit,
		      void *arg);
