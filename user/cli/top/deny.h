/* SPDX-License-Identifier: GPL-2.0-only */
/* Denies a source for a time, by the command that a user would type. */
#pragma once

#include <stddef.h>

#include "cli/top/top.h"

/* Runs `rlctl rule add PREFIX deny for TIME` for the instance, in a process without a terminal, so
 * that its guard of the SSH session refuses rather than asks. The command and all that it said are
 * written to `out`. 0 or -1. */
int deny_run(const struct top *top, const char *prefix, const char *time, char *out, size_t size);
