/* SPDX-License-Identifier: GPL-2.0-only */
/* Looks up the state of one packet's key. */
#pragma once

#include "kernel/instance/instance.h"
#include "kernel/state/source_entry.h"
#include "policy/explain.h"
#include "policy/policy.h"
#include "rlctl_abi.h"

/* The key that the rule's limit counts the packet by. Pure. */
struct rl_state_key packet_key(const struct rule *rule, const struct rl_sample *packet);

/* The state of a packet's key under the rule, and the remaining ban of its source; looks up only
 * these. Silent. */
int instance_packet_lookup(const struct instance *instance, const struct policy *policy,
			   const struct rule *rule, const struct rl_sample *packet,
			   struct source_entry *out);

/* Whether the limit would admit such a packet now, and what its key has left; of limits that
 * packets share as well. Changes nothing. Silent. */
int instance_limit_look(const struct instance *instance, const struct policy *policy,
			const struct rule *rule, const struct rl_sample *packet,
			struct limit_look *out);

/* Did a packet of the source (mapped) pass while the policy used new-source? Silent. */
int instance_source_is_known(const struct instance *instance, const uint8_t source[16],
			     bool *known);

/* Nanoseconds for which the source (mapped) is banned from everything; 0: it is not. */
uint64_t instance_source_ban(const struct instance *instance, const uint8_t source[16]);
