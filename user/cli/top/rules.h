/* SPDX-License-Identifier: GPL-2.0-only */
/* Packets that each rule let through and dropped between two moments: from the counters of the
 * rules, so it is exact, unlike the figures of sources and destinations. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "kernel/instance/instance.h"
#include "policy/policy.h"
#include "rlctl_abi.h"
#include "watch/traffic/talkers.h"

/* The counters of a rule that has this counter_id. */
struct rule_count {
	uint32_t id;
	struct rl_amount verdict[TALKER_VERDICTS];
};

/* The counters of a policy at one moment. */
struct rule_counts {
	struct rule_count *items; /* by id; NULL: not read */
	size_t count;
	uint64_t at_ns; /* CLOCK_MONOTONIC */
};

/* Reads them; frees what `out` had. A policy that is being replaced, and an instance that goes,
 * leave it as not read. 0 or -errno; silent. */
int rule_counts_read(const struct instance *instance, const struct policy *policy,
		     struct rule_counts *out);
void rule_counts_clear(struct rule_counts *counts);

/* The counts of the rule since `from`: everything, if the rule was not there or its counters
 * were set to zero meanwhile. Pure. */
struct rule_count rule_counts_since(const struct rule_counts *from, const struct rule_counts *to,
				    const struct rule *rule);
