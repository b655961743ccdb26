/* SPDX-License-Identifier: GPL-2.0-only */
/* Rules for everybody that are probably stricter than was meant. Pure. */
#pragma once

#include "policy/policy.h"

/* Warns where the rule denies all packets. */
void deny_all_warn(const struct rule *rule, const struct policy_context *ctx, policy_warn_fn warn,
		   void *arg);

/* Warns of `rule`, a limit for the device or for any address, where all packets together may be
 * fewer than each source may send: because of the first limit of `policy` for any address, or for
 * the device. */
void lower_limit_warn(const struct policy *policy, const struct rule *rule,
		      const struct policy_context *ctx, policy_warn_fn warn, void *arg);
