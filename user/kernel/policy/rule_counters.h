/* SPDX-License-Identifier: GPL-2.0-only */
/* Reads and zeroes the counters of rules, which their slots index. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "kernel/instance/instance.h"
#include "policy/policy.h"
#include "rlctl_abi.h"

/* Sums over all CPUs. */
struct rule_counters {
	struct rl_amount passed;
	struct rl_amount dropped;
	struct rl_amount shadow;
};

/* Bytes of a map's element. */
uint32_t counters_value_size(const struct rl_instance *info);

/* Sums of policy.rules[i], into out[i]. Silent. */
int counters_read(const struct instance *instance, const struct policy *policy,
		  struct rule_counters *out);
/* Slots in missing chunks have nothing to zero. Silent. */
int counters_zero(const struct instance *instance, const uint32_t *slots, size_t count);
