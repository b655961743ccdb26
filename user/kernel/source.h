/* SPDX-License-Identifier: GPL-2.0-only */
/* What an instance remembers of one address. */
#ifndef RLCTL_SOURCE_H
#define RLCTL_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "allowance.h"
#include "instance.h"
#include "policy.h"
#include "rlctl_abi.h"

/* What is remembered of one address under one limit. */
struct source_entry {
	struct rl_state_key key;
	const struct rule *rule; /* of the policy; NULL: banned from everything */
	bool has_state;
	struct allowance allowance; /* while has_state */
	uint64_t ban_ns;            /* time left; 0: not banned */
};

/* Everything that is remembered of the address (mapped). The entries, to be freed, point into the
 * policy. Looks through all maps: 0.1 s for a million entries. */
int instance_source_read(const struct instance *instance, const struct policy *policy,
			 const uint8_t addr[16], struct source_entry **out, size_t *count);

/* What the rule remembers of a packet's key, and for how long the packet's source is banned; looks
 * only there. Silent. */
int instance_packet_look(const struct instance *instance, const struct policy *policy,
			 const struct rule *rule, const struct rl_sample *packet,
			 struct source_entry *out);

/* Forgets these states and bans; what is shared with everybody (per rule) stays. */
int instance_source_forgive(const struct instance *instance, const struct source_entry *entries,
			    size_t count);

#endif
