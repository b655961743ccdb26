// SPDX-License-Identifier: GPL-2.0-only
/* The words of events. */

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "base/units.h"
#include "watch/events/event.h"

#define WORD(name, text) text,
const char *const event_words[EVENT_KIND_COUNT] = {EVENT_KINDS(WORD)};

/* ---- when something has begun and ended */

#define MASK ((1u << ONSET_TENTHS) - 1)

enum onset_change onset_step(struct onset *onset, uint64_t count, uint64_t before_ns,
			     uint64_t now_ns)
{
	uint64_t tenths = (now_ns - before_ns + ONSET_TENTH_NS / 2) / ONSET_TENTH_NS;
	uint32_t there;

	/* At least 1, at most all that are looked at. */
	tenths = tenths < 1 ? 1 : tenths > ONSET_TENTHS ? ONSET_TENTHS : tenths;
	there = (uint32_t)(count < tenths ? count : tenths);
	if (there && onset_is_idle(onset))
		onset->first_ns = now_ns;
	if (there)
		onset->last_ns = now_ns;
	onset->seen = (onset->seen << tenths | ((1u << there) - 1)) & MASK;
	if (!onset->on && __builtin_popcount(onset->seen) >= ONSET_BEGINS) {
		onset->on = true;
		return ONSET_BEGUN;
	}
	if (!onset->on || there || now_ns - onset->last_ns < ONSET_PAUSE_NS)
		return ONSET_NONE;
	onset->on = false;
	onset->seen = 0;
	return ONSET_ENDED;
}

bool onset_is_idle(const struct onset *onset)
{
	return !onset->on && !onset->seen;
}

/* ---- how many are told */

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
bool quota_tell(struct quota *quota, uint64_t now_ns, bool at_once, struct event *out)
{
	char number[NUMBER_TEXT_MAX];
	uint64_t sum = 0;
	size_t used;

	for (int i = 0; i < EVENT_KIND_COUNT; i++)
		sum += quota->lost[i];
	if (!sum || (!at_once && now_ns - quota->told_ns < NS_PER_SECOND))
		return false;
	out->kind = EVENT_LOST;
	out->count = sum;
	memcpy(out->of, quota->lost, sizeof(out->of));
	memset(quota->lost, 0, sizeof(quota->lost));
	quota->told_ns = now_ns;
	number_print(number, sum);
	used = (size_t)snprintf(out->text, EVENT_TEXT_MAX, "%s event%s suppressed", number,
				sum == 1 ? " was" : "s were");
	for (int i = 0, n = 0; i < EVENT_KIND_COUNT; i++) {
		if (!out->of[i])
			continue;
		number_print(number, out->of[i]);
		used += (size_t)snprintf(out->text + used, EVENT_TEXT_MAX - used, "%s%s %s",
					 n++ ? ", " : ": ", number, event_words[i]);
	}
	return true;
}
