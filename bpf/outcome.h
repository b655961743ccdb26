/* SPDX-License-Identifier: GPL-2.0-only */
/* What a limit says of a packet. */
#ifndef RLCTL_OUTCOME_H
#define RLCTL_OUTCOME_H

enum outcome { OUTCOME_WITHIN, OUTCOME_OVER, OUTCOME_BANNED, OUTCOME_NO_ROOM };

#endif
