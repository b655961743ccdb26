/* SPDX-License-Identifier: GPL-2.0-only */
/* Alarms, full sets and fleets. */
#pragma once

#include "cli/events/watched.h"

void watched_state_poll(struct watched *w, uint64_t now_ns);
