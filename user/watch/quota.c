// SPDX-License-Identifier: GPL-2.0-only
#include "watch/quota.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "base/units.h"

#define STEP_NS (NS_PER_SECOND / QUOTA_RATE)

bool quota_take(struct quota *quota, enum event_kind kind, uint64_t now_ns)
{
	uint64_t *free_ns = &quota->free_ns[kind];
	uint64_t from = *free_ns > now_ns ? *free_ns : now_ns;

	if (from + STEP_NS > now_ns + NS_PER_SECOND) {
		quota_lose(quota, kind, 1);
		return false;
	}
	*free_ns = from + STEP_NS;
	return true;
}

void quota_lose(struct quota *quota, enum event_kind kind, uint64_t count)
{
	quota->lost[kind] += count;
}

/* "1,234 events were suppressed: 1,200 ban-begin, 34 ban-end" */
static void lost_text(struct event *event)
{
	char number[NUMBER_TEXT_MAX];
	size_t used;

	number_print(number, event->count);
	used = (size_t)snprintf(event->text, EVENT_TEXT_MAX, "%s event%s suppressed", number,
				event->count == 1 ? " was" : "s were");
	for (int i = 0, n = 0; i < EVENT_KIND_COUNT; i++) {
		if (!event->of[i])
			continue;
		number_print(number, event->of[i]);
		used += (size_t)snprintf(event->text + used, EVENT_TEXT_MAX - used, "%s%s %s",
					 n++ ? ", " : ": ", number, event_words[i]);
	}
}

bool quota_tell(struct quota *quota, uint64_t now_ns, bool at_once, struct event *out)
{
	uint64_t sum = 0;

	for (int i = 0; i < EVENT_KIND_COUNT; i++)
		sum += quota->lost[i];
	if (!sum || (!at_once && now_ns - quota->told_ns < NS_PER_SECOND))
		return false;
	out->kind = EVENT_LOST;
	out->count = sum;
	memcpy(out->of, quota->lost, sizeof(out->of));
	lost_text(out);
	memset(quota->lost, 0, sizeof(quota->lost));
	quota->told_ns = now_ns;
	return true;
}
