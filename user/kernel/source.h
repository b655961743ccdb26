/* SPDX-License-Identifier: GPL-2.0-only */
/* Reads and clears the states and bans of one address. */
#ifndef RLCTL_SOURCE_H
#define RLCTL_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "allowance.h"
#include "instance.h"
#include "policy.h"
#include "rlctl_abi.h"

/* The state of one key under one limit. */
struct source_entry {
	struct rl_state_key key;
	const struct rule *rule; /* in the policy; NULL: banned from everything */
	bool has_state;
	struct allowance allowance; /* valid if has_state */
	uint64_t ban_ns;            /* time left; 0: not banned */
};

/* All states and bans of the address (mapped). The caller frees the entries, which point into the
 * policy. Scans all maps: 0.1 s for a million entries. Reports. */
int instance_source_read(const struct instance *instance, const struct policy *policy,
			 const uint8_t addr[16], struct source_entry **out, size_t *count);

/* The state of a packet's key under the rule, and the remaining ban of its source; looks up only
 * these. Silent. */
int instance_packet_lookup(const struct instance *instance, const struct policy *policy,
			   const struct rule *rule, const struct rl_sample *packet,
			   struct source_entry *out);

/* Clears these states and bans, but not shared states (per rule). Reports. */
int instance_source_forgive(const struct instance *instance, const struct source_entry *entries,
			    size_t count);

#endif
