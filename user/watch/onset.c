// SPDX-License-Identifier: GPL-2.0-only
#include "onset.h"

#define MASK ((1u << ONSET_READINGS) - 1)

enum onset_change onset_step(struct onset *onset, bool there, uint64_t now_ns)
{
	if (there && onset_is_idle(onset))
		onset->first_ns = now_ns;
	if (there)
		onset->last_ns = now_ns;
	onset->seen = (onset->seen << 1 | there) & MASK;
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
