/* SPDX-License-Identifier: GPL-2.0-only */
/* The packets that two matches have in common. */
#ifndef RLCTL_OVERLAP_H
#define RLCTL_OVERLAP_H

#include "policy.h"

/* The packets that have both matches; false: there are none. */
bool match_common(const struct rl_match *a, const struct rl_match *b, struct rl_match *out);

#endif
