/* SPDX-License-Identifier: GPL-2.0-only */
/* Keys that the agent has no time or room for. */
#pragma once

#include "fleet/agent_state.h"

/* Counts keys that get no lease or wait; prints a note from time to time. */
void agent_shed(struct agent *a, size_t count, const char *why);
