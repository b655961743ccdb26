/* SPDX-License-Identifier: GPL-2.0-only */
/* A search for states of one address; source.c and source_packet.c share it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "compile/allowance.h"
#include "compile/compile.h"
#include "kernel/instance/instance.h"
#include "kernel/maps/map.h"
#include "policy/packets/level.h"
#include "policy/policy.h"
#include "rlctl_abi.h"

/* The state or ban of one key under one limit, as it was found. */
struct source_entry {
	struct rl_state_key key;
	const struct rule *rule; /* in the policy; NULL: banned from everything */
	bool has_state;
	struct allowance allowance; /* valid if has_state */
	bool admits;                /* the packet that is asked about; valid if has_state */
	uint64_t ban_ns;            /* time left; 0: not banned */
	uint64_t next_ns; /* until a packet may pass: the wait, the ban or the source's ban */
};

/* A rule by the id of its limit. */
struct search_id {
	uint32_t limit_id;
	const struct rule *rule;
};

struct source_search {
	const struct instance *instance;
	const struct policy *policy;
	bool source_bans;           /* the policy bans sources from everything */
	struct policy_context text; /* which ctx points to: a search is not copied */
	struct compile_context ctx;
	const uint8_t *addr;     /* NULL: any */
	bool spent;              /* only states that admit nothing now */
	struct search_id *by_id; /* see search_index() */
	size_t by_id_count;
	/* For whom limits keep a part: of an address, whether it is known and in which sets; of a
	 * packet, that it is for others. */
	bool is_known;
	const struct set_members *members;
	bool is_other;
	uint32_t bytes; /* of a packet: whether it would be admitted is said, too; 0: none */
	struct source_entry *entries; /* the caller frees them */
	size_t count;
};

/* Fills the context; the instance is set. */
void search_begin(struct source_search *s);

/* Makes search_rule() fast, for a search that asks for many rules. Free it with search_end(). */
int search_index(struct source_search *s);
void search_end(struct source_search *s);

int search_add(struct source_search *s, const struct source_entry *entry);

/* The rule of the policy with that id, or NULL. */
const struct rule *search_rule(const struct source_search *s, uint32_t limit_id);

/* Does a state's key (bpf/limit/key.h) count packets of the address? A key per rule counts all
 * packets.
 */
bool search_covers(const struct source_search *s, const struct rl_state_key *key,
		   const struct rule *rule);

/* The key of a limit `per set member` for an address; all zero but for the limit if the set has no
 * such member. */
void member_key(struct rl_state_key *key, const struct rule *rule, const uint8_t addr[16],
		const struct set_members *members);

/* The rule as the data path uses it. */
struct rl_rule search_numbers(const struct source_search *s, const struct rule *rule);

/* Values per key: one for each possible CPU, or one in total. */
int search_parts(const struct source_search *s);

/* The map that holds the states of a limit: a descriptor, or a negative errno. */
int search_map_open(const struct instance *instance, const struct rule *rule);

/* Time left of a ban, 0 if it is not in force: it is over, or its rule was removed or bans no more.
 */
uint64_t search_ban_ns(const struct source_search *s, const struct rl_state_key *key,
		       const struct rl_ban *ban);

/* Each adds a state that was found; the last two are of the hot table: a bucket, and an unconfirmed
 * key. */
int search_state(struct source_search *s, const struct rl_state_key *key, const void *values,
		 size_t value_size, int parts);
int search_hot(void *arg, const struct rl_state_key *key, const struct rl_hot_slot *slot);
int search_unconfirmed(void *arg, const struct rl_state_key *key, const struct rl_hot_slot *slot);

/* The same of what a limit on connections has open under the key. */
int search_connections(struct source_search *s, const struct rule *rule,
		       const struct rl_state_key *key);

/* ---- walks through the maps that hold states and bans by their keys; the hot table holds none */

/* search_state() for each state in a hash map. */
int states_walk(struct source_search *s);
/* search_state() for each state of a rule. */
int shared_walk(struct source_search *s);
/* Each ban, also those that are over: `found` gets the search, a struct rl_state_key and a struct
 * rl_ban. */
int bans_walk(struct source_search *s, map_entry_fn found);
