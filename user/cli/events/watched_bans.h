/* SPDX-License-Identifier: GPL-2.0-only */
/* Bans that begin and end. */
#pragma once

#include "cli/events/watched.h"

void watched_bans_poll(struct watched *w, uint64_t now_ns);
void watched_bans_clear(struct watched *w);
