/* SPDX-License-Identifier: GPL-2.0-only */
/* The part of a service that was a flood, and is left out: its cells become 0. Pure. */
#pragma once

#include "watch/suggest_sums.h"

/* The least limits: below them no flood is told from a client that was not there. */
extern const struct suggest_limit suggest_least_source, suggest_least_sum;

/* With the cells of all packets, ordered by source and second. 0 or -ENOMEM. */
int whole_make(struct class_input *input, struct class_whole *out);

/* Cells are ordered by source and second. Afterwards the sums are those of what remains. */
void floods_leave_out(struct class_input *input, struct sums *sums, struct suggest_left_out *out);
