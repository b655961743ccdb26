/* SPDX-License-Identifier: GPL-2.0-only */
/* Reads the states and bans of one address. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "kernel/instance/instance.h"
#include "kernel/state/source_entry.h"
#include "policy/policy.h"

/* All states and bans of the address (mapped). The caller frees the entries, which point into the
 * policy. Scans all maps: 0.1 s for a million entries. Reports. */
int instance_source_read(const struct instance *instance, const struct policy *policy,
			 const uint8_t addr[16], struct source_entry **out, size_t *count);
