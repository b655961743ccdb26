/* SPDX-License-Identifier: GPL-2.0-only */
/* A progress bar on stderr for what takes longer than a second. */
#ifndef RLCTL_PROGRESS_H
#define RLCTL_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct progress {
	bool wanted; /* stderr is a terminal, and not -q */
	uint64_t next_ns;
};

void progress_begin(struct progress *progress);

/* Is the bar to be drawn (again)? Costs next to nothing. */
bool progress_due(struct progress *progress);

/* `done` of what the noun names, in the plural. permille < 0: the end is not known, only the count
 * is shown. */
void progress_draw(uint64_t done, const char *noun, int permille);
void progress_end(void);

/* Of the library's own work, as a message_sink wants it: all of the above at once. */
void progress_show(uint64_t done, const char *noun, int permille);

#endif
