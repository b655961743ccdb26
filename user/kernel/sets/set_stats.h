/* SPDX-License-Identifier: GPL-2.0-only */
/* The members of the sets of a policy in force, and their history. */
#pragma once

#include "kernel/instance/instance.h"
#include "policy/policy.h"

struct set_stats {
	struct rl_set set;        /* its members are those that have not expired */
	struct rl_amount matched; /* packets for which a rule asked, from or to its members */
};

/* One for each of policy->sets, in that order; *out is to be freed. None: NULL. */
int set_stats_read(const struct instance *instance, const struct policy *policy,
		   struct set_stats **out);
