/* SPDX-License-Identifier: GPL-2.0-only */
/* How many limits of one prefix a packet can meet. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "policy/policy.h"

/* A packet, and limits that it meets: one more than RL_GROUP_MAX. */
struct meeting {
	const struct rule *rules[RL_GROUP_MAX + 1];
	size_t count;
	struct match packet;
};

/* Is there a packet that meets more than RL_GROUP_MAX limits of these rules, which are of one
 * prefix? 0: none; -E2BIG: *met is one; -EOVERFLOW: not found out within the search's bound;
 * -ENOMEM. Rules that allow or deny such a packet before are not looked at. */
int limits_meet(const struct rule *const *rules, size_t count, bool by_dest, struct meeting *met);
