// SPDX-License-Identifier: GPL-2.0-only
#include "cli/suggest/suggest_axis.h"

#include <errno.h>
#include <stdlib.h>

#include "base/units.h"

/* A machine of which nothing was captured for so long was not captured then. */
#define PAUSE_NS NS_PER_HOUR

uint64_t axis_shift(uint64_t time_ns, uint64_t from_ns)
{
	uint64_t shift = (from_ns / NS_PER_SECOND - time_ns / NS_PER_SECOND) * NS_PER_SECOND;

	return shift + (time_ns % NS_PER_SECOND < from_ns % NS_PER_SECOND ? NS_PER_SECOND : 0);
}

static int stretch_add(struct axis *axis, uint64_t time_ns)
{
	uint64_t shift = axis->count ? axis_shift(time_ns, axis->end_ns) : 0;
	struct stretch *list;

	list = reallocarray(axis->stretches, axis->count + 1, sizeof(*list));
	if (!list)
		return -ENOMEM;
	axis->stretches = list;
	list[axis->count++] = (struct stretch){.at_ns = time_ns + shift, .ahead_ns = 0 - shift};
	return 0;
}

int axis_place(struct axis *axis, uint64_t number, uint64_t time_ns, uint64_t *out)
{
	bool pause = axis->count && time_ns > axis->epoch.latest_ns &&
		     time_ns - axis->epoch.latest_ns > PAUSE_NS;
	bool jump = epoch_ends(&axis->epoch, number, time_ns);
	int ret = !axis->count || jump || pause ? stretch_add(axis, time_ns) : 0;

	if (ret)
		return ret;
	*out = time_ns - axis->stretches[axis->count - 1].ahead_ns;
	axis->end_ns = *out > axis->end_ns ? *out : axis->end_ns;
	return 0;
}

void axis_clear(struct axis *axis)
{
	free(axis->stretches);
	*axis = (struct axis){0};
}

uint64_t axis_clock(const struct axis *axis, uint64_t at_ns)
{
	size_t i = axis->count;

	while (i > 1 && axis->stretches[i - 1].at_ns > at_ns)
		i--;
	return at_ns + (i ? axis->stretches[i - 1].ahead_ns : 0);
}
