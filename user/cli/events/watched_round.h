/* SPDX-License-Identifier: GPL-2.0-only */
/* Begins to look at an instance, looks at it, and ends. */
#pragma once

#include "cli/events/watched.h"

/* Opens the instance pinned at path. All that is there is known, but for the bans and alarms of one
 * that `is_new`, attached just now: they are told in the next round. Silent. */
int watched_open(const char *path, const char *device, enum rl_hook hook, bool is_new,
		 struct watched **out);
/* Tells what waits, and frees it. */
int watched_close(struct watched *w);

/* One round. 0; -ENODEV: it is gone; another negative value ends the command. */
int watched_poll(struct watched *w);
