/* SPDX-License-Identifier: GPL-2.0-only */
/* A prefix with more rules than packets are asked one by one. */
#pragma once

#include "compile/build.h"

/* Makes its index: its rules are element `begin` of the rules array and those behind it, allow
 * before deny before limits. Refuses rules of which a packet could meet too many. */
int group_index(struct build *b, const struct rule *first, size_t count, uint32_t begin);

/* Refuses limits of which a packet could meet more than RL_GROUP_MAX; those of a prefix come first.
 * 0, or -ENOMEM; errors are added. */
int limits_check(struct build *b, const struct rule *const *rules, size_t count);
