/* SPDX-License-Identifier: GPL-2.0-only */
/* Lists the sources that are banned, and those at a limit. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "kernel/instance/instance.h"
#include "kernel/state/source_entry.h"
#include "policy/policy.h"

/* All bans in force. The caller frees the entries, which point into the policy. Tens of
 * milliseconds for 65,536. Silent. */
int instance_bans_read(const struct instance *instance, const struct policy *policy,
		       struct source_entry **out, size_t *count);

/* All states that admit no packet now, but those in the hot table, which holds no keys. Silent. */
int instance_limited_read(const struct instance *instance, const struct policy *policy,
			  struct source_entry **out, size_t *count);
