/* SPDX-License-Identifier: GPL-2.0-only */
/* The outcome of a limit for a packet. */
#pragma once

enum outcome { OUTCOME_WITHIN, OUTCOME_OVER, OUTCOME_BANNED, OUTCOME_NO_ROOM };
