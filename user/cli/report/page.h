/* SPDX-License-Identifier: GPL-2.0-only */
/* One page for a browser about a simulation: HTML with its style and drawings in it, without
 * scripts, that asks nothing of any other file or server. */
#pragma once

#include <stdint.h>

#include "cli/report/record.h"

struct page {
	const struct record *record;
	const char *capture; /* its name */
	uint64_t not_run;    /* packets that --local left out */
	uint64_t jumps;      /* times that the policy started over */
};

/* Writes the page to the file, which appears as a whole or stays as it was. 0 or -1; reports. */
int page_save(const struct page *page, const char *path);
