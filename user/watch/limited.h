/* SPDX-License-Identifier: GPL-2.0-only */
/* Finds sources at a limit in the hot table. It holds no addresses: they are learnt from a sample
 * of the packets that limits drop, and the state of each is then looked up. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernel/instance/instance.h"
#include "kernel/state/source_entry.h"
#include "policy/policy.h"

/* Does a limit of the policy, or this one (NULL: any), keep states there? */
bool limited_is_hot(const struct instance *instance, const struct policy *policy,
		    const struct rule *only);

/* Watches for so many seconds. The caller frees the entries, which point into the policy; a key may
 * be among them several times. Reports. */
int limited_sample(const struct instance *instance, const struct policy *policy,
		   const struct rule *rule, uint32_t seconds, struct source_entry **out,
		   size_t *count);
