/* SPDX-License-Identifier: GPL-2.0-only */
/* Rules that begin to drop, and that have stopped. */
#pragma once

#include "cli/events/watched.h"

/* 0 or < 0; reports. */
int watched_drops_poll(struct watched *w, uint64_t now_ns);
/* w->policy is another one than `before`. */
void watched_drops_policy_changed(struct watched *w, const struct policy *before);
/* The instance is gone: no rule drops any more. */
void watched_drops_end(struct watched *w);
void watched_drops_clear(struct watched *w);
