/* SPDX-License-Identifier: GPL-2.0-only */
/* Pages for a browser: page.html with page.css and the scripts, in which the Makefile has put them,
 * and the JSON document that they draw. A page asks nothing of any other file or server. */
#pragma once

#include <stdint.h>

#include "cli/report/record.h"

struct json_object;

struct page {
	const struct record *record;
	const char *capture; /* its name */
	uint64_t not_run;    /* packets that --local left out */
	uint64_t jumps;      /* times that the policy started over */
};

/* The page of a simulation also has this, beside the document of `simulate -j`: series over time,
 * sources, alarms. */
struct json_object *page_json(const struct page *page);

enum page_kind {
	PAGE_SIMULATION, /* page.js draws it */
	PAGE_INCIDENTS,  /* incidents.js: the document of `report -j` */
};

/* Writes the page to the file, which appears as a whole or stays as it was; takes the document. 0
 * or -1; reports. */
int page_save(enum page_kind kind, struct json_object *document, const char *path);
