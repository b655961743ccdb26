// SPDX-License-Identifier: GPL-2.0-only
/* A progress bar on stderr. */

#include "cli/progress.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/text.h"
#include "base/units.h"
#include "cli/output/output.h"

#define FIRST_NS  NS_PER_SECOND
#define AGAIN_NS  (100 * NS_PER_MS)
#define BAR_WIDTH 40

/* The coarse clock, since it is read for every packet. */
static uint64_t coarse_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	return (uint64_t)now.tv_sec * NS_PER_SECOND + (uint64_t)now.tv_nsec;
}

void progress_begin(struct progress *progress)
{
	progress->wanted = !output_quiet && isatty(STDERR_FILENO);
	progress->next_ns = coarse_ns() + FIRST_NS;
}

bool progress_due(struct progress *progress)
{
	uint64_t now;

	if (!progress->wanted)
		return false;
	now = coarse_ns();
	if (now < progress->next_ns)
		return false;
	progress->next_ns = now + AGAIN_NS;
	return true;
}

void progress_draw(uint64_t done, const char *noun, int permille)
{
	char count[NUMBER_TEXT_MAX], bar[BAR_WIDTH + 1] = "", line[160];
	int filled = permille * BAR_WIDTH / 1000;

	number_print(count, done);
	if (permille < 0) {
		snprintf(line, sizeof(line), "%s %s", count, noun);
	} else {
		memset(bar, '#', (size_t)filled);
		snprintf(line, sizeof(line), "[%-*s] %3d %%  %s %s", BAR_WIDTH, bar, permille / 10,
			 count, noun);
	}
	status_show(line);
}

void progress_end(void)
{
	status_clear();
}

void progress_show(uint64_t done, const char *noun, int permille)
{
	static struct progress progress;

	if (!noun) {
		progress_end();
		progress.next_ns = 0;
		return;
	}
	if (!progress.next_ns)
		progress_begin(&progress);
	if (progress_due(&progress))
		progress_draw(done, noun, permille);
}
