/* SPDX-License-Identifier: GPL-2.0-only */
/* Where the lines of a policy's text come from: one file, or several that include one another. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* From line `first` of the text on, up to the next piece: the lines of `name` from `line` on. */
struct policy_piece {
	uint32_t first;
	uint32_t line;
	const char *name;
};

struct policy_source {
	const char *name;            /* of the file that the command names */
	struct policy_piece *pieces; /* ascending; none: the text is that file */
	size_t count;
};

struct policy_place {
	const char *name;
	uint32_t line;
};

/* The place of a line of the text, from 1. */
struct policy_place policy_place(const struct policy_source *source, uint32_t line);
