/* SPDX-License-Identifier: GPL-2.0-only */
/* The outcome of a limit for a packet. */
#ifndef RLCTL_BPF_OUTCOME_H
#define RLCTL_BPF_OUTCOME_H

enum outcome { OUTCOME_WITHIN, OUTCOME_OVER, OUTCOME_BANNED, OUTCOME_NO_ROOM };

#endif
