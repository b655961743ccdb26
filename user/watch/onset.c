// SPDX-License-Identifier: GPL-2.0-only
#include "watch/onset.h"

#define MASK ((1u << ONSET_TENTHS) - 1)

/* At least 1, at most all that are looked at. */
static uint32_t tenths_between(uint64_t before_ns, uint64_t now_ns)
{
	uint64_t tenths = (now_ns - before_ns + ONSET_TENTH_NS / 2) / ONSET_TENTH_NS;

	return tenths < 1 ? 1 : tenths > ONSET_TENTHS ? ONSET_TENTHS : (uint32_t)tenths;
}

enum onset_change onset_step(struct onset *onset, uint64_t count, uint64_t before_ns,
			     uint64_t now_ns)
{
	uint32_t tenths = tenths_between(before_ns, now_ns);
	uint32_t there = count < tenths ? (uint32_t)count : tenths;

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
