/* SPDX-License-Identifier: GPL-2.0-only */
/* Checks and replaces the policy of an instance. */
#pragma once

#include <stdbool.h>

#include "compile/compile.h"
#include "kernel/instance/instance.h"
#include "policy/origin.h"
#include "policy/policy.h"
#include "rlctl_abi.h"

/* Replaces the policy atomically. On failure the old policy stays in force. `file` names the source
 * of the rules in errors ("FILE:LINE"), NULL for a command line. *former, unless it is NULL,
 * receives the old policy, which the caller clears. Reports. */
int instance_policy_write(const struct instance *instance, struct policy *next, bool keep_expiry,
			  const struct policy_source *file, struct policy *former);

/* Checks whether instance_policy_write would succeed. Changes nothing. Reports. */
int instance_policy_check(const struct instance *instance, struct policy *next,
			  const struct policy_source *file);

/* Replaces the header. Returns when no packet still uses the previous one. Silent. */
int policy_header_swap(const struct instance *instance, const struct rl_policy_header *header);

/* Before a policy comes into force: makes the maps that it needs, and the program fit it. Reports.
 */
int policy_program_ready(const struct instance *instance, const struct compiled *compiled);

/* Writes the rules to the half that packets do not read, and their comments. Silent. */
int compiled_rules_write(const struct instance *instance, const struct compiled *compiled,
			 const struct policy *next);

/* Drops what only a policy that does not come back has needed. */
void policy_in_force_settle(const struct instance *instance);
/* After a write that failed: drops what the policy in force does not need. */
void policy_write_undo(const struct instance *instance);

/* Reports the change to the journal: of whole policies, or of the rules of one prefix. */
void policy_change_tell(const struct instance *instance, const struct policy *from,
			const struct policy *to);

/* Reports why the policy could not be written. */
int report_write_error(const struct instance *instance, int error);

/* Restores a former policy. Its rules keep their limit ids, and so find their states and counters.
 * Reports. */
int instance_policy_restore(const struct instance *instance, const struct policy *before);

/* ---- prefix_write.c: the rules of one prefix, at a cost that does not grow with the policy */

/* Replaces all rules of the prefix by `next`, which may be empty. Every packet sees either the old
 * or the new rules. If there is no room to do it in place, rewrites the whole policy. Reports. */
int instance_prefix_write(const struct instance *instance, const struct rule *prefix,
			  struct policy *next);

/* Whether instance_prefix_write would succeed. Changes nothing; costs as much as reading the whole
 * policy. Reports. */
int instance_prefix_check(const struct instance *instance, const struct rule *prefix,
			  struct policy *next);
