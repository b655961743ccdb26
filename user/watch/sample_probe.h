/* SPDX-License-Identifier: GPL-2.0-only */
/* Does a sampled packet match a rule? */
#ifndef RLCTL_WATCH_SAMPLE_PROBE_H
#define RLCTL_WATCH_SAMPLE_PROBE_H

#include "policy.h"
#include "probe.h"
#include "rlctl_abi.h"

/* By its match alone, not by its prefix. False also where the sample does not tell: of matches by
 * payload, filter, new-source and established. `members` NULL: nothing is known of any set. */
bool sample_matches(const struct rl_sample *sample, const struct rule *rule,
		    const struct policy_context *ctx, const struct set_members *members,
		    bool raw_ip);

#endif
