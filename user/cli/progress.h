/* SPDX-License-Identifier: GPL-2.0-only */
/* A progress bar on stderr for work that takes longer than a second. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct progress {
	bool wanted; /* stderr is a terminal, without -q */
	uint64_t next_ns;
};

void progress_begin(struct progress *progress);

/* Whether to draw the bar now. Cheap enough to call for every packet. */
bool progress_due(struct progress *progress);

/* `done` counts what the noun names, in the plural. permille < 0: the end is unknown; shows only
 * the count. */
void progress_draw(uint64_t done, const char *noun, int permille);
void progress_end(void);

/* The callback of struct message_sink: all of the above in one function. */
void progress_show(uint64_t done, const char *noun, int permille);
