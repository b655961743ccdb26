/* SPDX-License-Identifier: GPL-2.0-only */
/* The policies that `apply` and `rule flush` replaced, beside the instance's journal, until it
 * is detached or the machine restarts. */
#pragma once

#include "cli/cmd.h"

#define REPLACED_MAX 3 /* of each instance */

/* Keeps it as number 1, and gives the others the next numbers; the one that was replaced at drop_ns
 * goes, or the last one. Call with the writers' lock held. A failure is a note: the policy that
 * replaces it is in force. */
void replaced_keep(const struct instance *instance, const struct policy *policy,
		   const struct policy_context *ctx, uint64_t drop_ns);

/* The policy with that number, from 1, and when it was replaced (CLOCK_BOOTTIME). Its rules with a
 * time have what is left of it now. 0 or -1; reports. */
int replaced_read(const struct instance *instance, unsigned int number,
		  const struct policy_context *ctx, struct policy_file *out, uint64_t *then_ns);
