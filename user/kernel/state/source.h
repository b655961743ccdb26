/* SPDX-License-Identifier: GPL-2.0-only */
/* Reads the states and bans of one address. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernel/instance/instance.h"
#include "kernel/state/source_search.h"
#include "policy/packets/level.h"
#include "policy/policy.h"
#include "rlctl_abi.h"

/* All states and bans of the address (mapped). The caller frees the entries, which point into the
 * policy. Scans all maps: 0.1 s for a million entries. Reports. */
int instance_source_read(const struct instance *instance, const struct policy *policy,
			 const uint8_t addr[16], struct source_entry **out, size_t *count);

struct limit_look;

/* ---- looks up the state of one packet's key */

/* The key of a limit `per set member` is made of the address that counts, and of sets. */
struct member_ask {
	bool by_dest;
	const struct set_members *members;
};

/* The key that the rule's limit counts the packet by. Pure. */
struct rl_state_key packet_key(const struct rule *rule, const struct rl_sample *packet,
			       const struct member_ask *ask);

/* The state of a packet's key under the rule, and the remaining ban of its source; looks up only
 * these. Silent. */
int instance_packet_lookup(const struct instance *instance, const struct policy *policy,
			   const struct rule *rule, const struct rl_sample *packet,
			   struct source_entry *out);

/* Whether the limit would admit such a packet now, and what its key has left; of limits that
 * packets share as well. kept: what the limit keeps for some is for it. Changes nothing. Silent. */
int instance_limit_look(const struct instance *instance, const struct policy *policy,
			const struct rule *rule, const struct rl_sample *packet, bool kept,
			struct limit_look *out);

/* Nanoseconds for which the source (mapped) is banned from everything; 0: it is not. */
uint64_t instance_source_ban(const struct instance *instance, const uint8_t source[16]);

/* ---- lists the sources that are banned, and those at a limit */

/* All bans in force. The caller frees the entries, which point into the policy. Tens of
 * milliseconds for 65,536. Silent. */
int instance_bans_read(const struct instance *instance, const struct policy *policy,
		       struct source_entry **out, size_t *count);

/* All states that admit no packet now, but those in the hot table, which holds no keys. Silent. */
int instance_limited_read(const struct instance *instance, const struct policy *policy,
			  struct source_entry **out, size_t *count);

/* ---- clears states and bans */

/* Clears these states and bans, but not shared states (per rule). Reports. */
int instance_source_forgive(const struct instance *instance, const struct source_entry *entries,
			    size_t count);

/* Whether the data path takes a source for a known one. */

/* Did a packet of the source (mapped) pass while the policy used new-source? Silent. */
int instance_source_is_known(const struct instance *instance, const uint8_t source[16],
			     bool *known);

/* Which sources were known at some time: a copy of the filter of known sources
 * (bpf/algorithm/known_filter.h), which takes a source for another one now and then. Silent. */

struct known_then { /* zero-initialised: no source was known */
	struct rl_known_set *sets;
	uint32_t mask;
	uint64_t epoch;
};

/* As of now, in place of what it had. -ENOENT: no rule of the policy asks for new sources, or there
 * is no hot table; other negative errno. Then no source was known. */
int known_then_read(const struct instance *instance, struct known_then *out);
void known_then_clear(struct known_then *then);

bool known_then_has(const struct known_then *then, const struct instance *instance,
		    const uint8_t source[16]);
