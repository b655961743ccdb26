/* SPDX-License-Identifier: GPL-2.0-only */
/* Rules that are valid but probably not what their author meant. Pure. */
#pragma once

#include "policy/origin.h"
#include "policy/policy.h"

/* Calls `warn` at most this often, and once more without a rule if there is more to say. */
#define LINT_WARNINGS_MAX 20

/* Calls `warn` for each
 * - limit that hides one of a shorter prefix from its packets, and has nothing like it instead,
 *   or something that lets more pass,
 * - rule that decides on no packet, because others of its prefix allow or deny them all,
 * - limit of some packets of unknown sources, if another has more of them,
 * - first limit per source, if nothing limits a flood of forged sources,
 * - rule whose limit is not that of its account's first rule,
 * - set that no rule names: the rule has the line of the set, and nothing else.
 * Texts name other rules by their lines, as those of `source`. 0 or -ENOMEM. */
int policy_lint(const struct policy *policy, const struct policy_context *ctx,
		const struct policy_source *source, policy_warn_fn warn, void *arg);

/* Warns of `rule`, a limit for the device or for any address, where all packets together may be
 * fewer than each source may send: because of the first limit of `policy` for any address, or for
 * the device. */
void lower_limit_warn(const struct policy *policy, const struct rule *rule,
		      const struct policy_context *ctx, policy_warn_fn warn, void *arg);

struct policy_sum {
	size_t rules;
	size_t prefixes; /* with the words any and device */
	size_t shadow;   /* limits that drop nothing */
};
void policy_sum(const struct policy *policy, struct policy_sum *out);
