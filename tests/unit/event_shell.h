/* SPDX-License-Identifier: GPL-2.0-only */
/* For tests of programs for events: a folder of the test's own, which is the working directory,
 * what is reported, and runners of shell scripts. The programs are real, the time is the test's. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/units.h"
#include "cli/events/event_runner.h"

#define START_NS    (1000 * NS_PER_SECOND)
#define EVENT       "{\"event\":\"alarm-on\",\"device\":\"eth0\",\"text\":\"one\\nline\"}"
#define PATIENCE_MS 20000
#define SAID_MAX    8192

extern char said[SAID_MAX]; /* all messages since shell_fresh(), one a line */

/* For cmocka: of the whole file, and of each test. */
int shell_begin(void **state);
int shell_end(void **state);
int shell_fresh(void **state);

/* The file's content, valid until the next call. */
const char *content(const char *name);
int lines(const char *name);
bool appears(const char *name);
void file_put(const char *name, const char *text, mode_t mode);

/* A runner of `sh -c SCRIPT`, which begins in the test's folder. */
struct runner *shell(const char *script, struct runner_options options);
void number_give(struct runner *runner, int number, uint64_t now_ns);
/* Has a program ended? */
bool readable(struct runner *runner, int wait_ms);
/* Until nothing runs or waits, in a time that stands still. */
void settle(struct runner *runner, uint64_t now_ns);
/* One event, and what the script wrote to the file `out`. */
const char *output_of(const char *script);
