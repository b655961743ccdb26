/* SPDX-License-Identifier: GPL-2.0-only */
/* Replaces the rules of one prefix in place, at a cost that does not grow with the policy. */
#pragma once

#include <stdint.h>

#include "kernel/instance/instance.h"
#include "policy/policy.h"

/* Replaces all rules of the prefix by `next`, which may be empty. Every packet sees either the old
 * or the new rules. If there is no room to do it in place, rewrites the whole policy. Reports. */
int instance_prefix_write(const struct instance *instance, const struct rule *prefix,
			  struct policy *next);

/* Whether instance_prefix_write would succeed. Changes nothing; costs as much as reading the whole
 * policy. Reports. */
int instance_prefix_check(const struct instance *instance, const struct rule *prefix,
			  struct policy *next);
