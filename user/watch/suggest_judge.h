/* SPDX-License-Identifier: GPL-2.0-only */
/* The limits of a service, by its packets. Pure. */
#pragma once

#include "watch/suggest_class.h"

extern const uint32_t suggest_seconds[SUGGEST_WINDOWS];

/* Fills in all of *out but kind, number and the address of the heaviest source. `cells` are ordered
 * here; the packets of those that are left out become 0. `forgotten`: sources. 0 or -ENOMEM. */
int class_judge(struct class_input *input, struct suggest_class *out);
