/* SPDX-License-Identifier: GPL-2.0-only */
/* Reads the rules of one prefix or address, at a cost that does not grow with the policy. */
#pragma once

#include <stdint.h>

#include "kernel/instance/instance.h"
#include "policy/policy.h"

/* The rules of the prefix of the given rule; 0 and an empty *out if there are none. *out must be
 * empty. Reports. */
int instance_prefix_read(const struct instance *instance, const struct rule *prefix,
			 struct policy *out);

/* The same without comments, and with the header in force. 1 if the trie has the prefix, -ENOENT if
 * no policy was written yet. Silent. */
int prefix_rules_read(const struct instance *instance, const struct rule *prefix,
		      struct policy *out, struct rl_policy_header *header);

/* The rules of all prefixes that hold the address (mapped), of all sets, of `any` and of `device`.
 * Reports. */
int instance_address_read(const struct instance *instance, const uint8_t addr[16],
			  struct policy *out);
