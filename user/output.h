/* SPDX-License-Identifier: GPL-2.0-only */
/* What goes to stdout (data) and stderr (talk). One description of a table serves text and JSON. */
#ifndef RLCTL_OUTPUT_H
#define RLCTL_OUTPUT_H

#include <stdbool.h>
#include <stdint.h>
#include <json-c/json.h>

#include "rlctl_abi.h"

/* Global options that every verb may look at. */
extern bool output_json;   /* -j */
extern bool output_quiet;  /* -q: no talk but errors */
extern int output_verbose; /* -v, -vv */

/* "rlctl: TEXT\n" on stderr. fail() returns -1, so that `return fail(…)` reads well. */
int fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Not under -q. */
void note(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
