/* SPDX-License-Identifier: GPL-2.0-only */
/* Statements `set` of a policy: text and model. */
#pragma once

#include "policy/policy.h"

#define SET_TEXT_MAX (RL_SET_NAME_MAX + RL_SET_PATH_MAX + RL_SET_PICK_MAX + RL_COMMENT_MAX + 128)

/* The shortest prefixes of members, of IPv4 and of IPv6, unless the statement says others: lists of
 * addresses have no whole continents. */
void set_shortest_default(uint8_t source, uint8_t out[2]);

/* The canonical line, beginning with the word "set", with its comment. Returns the length, like
 * snprintf. */
int set_print(char *buf, size_t size, const struct policy_set *set);

/* The set of that name, or NULL. */
struct policy_set *policy_set_find(const struct policy *policy, const char *name);

/* Adds it, or replaces that of the same name; keeps the order. 0 or -ENOMEM. */
int policy_set_put(struct policy *policy, const struct policy_set *set);

/* All that the statements say is the same; not line and id. */
bool same_set(const struct policy_set *a, const struct policy_set *b);

/* Calls `tell`, unless it is NULL, for each set that only one of the policies has (the other is
 * NULL) or that they have differently, by name. Returns how many there are. */
typedef void (*set_diff_fn)(const struct policy_set *from, const struct policy_set *to, void *arg);
size_t policy_sets_diff(const struct policy *from, const struct policy *to, set_diff_fn tell,
			void *arg);

/* The sets that a rule names, and at which columns; NULL where it names none. */
enum set_role { SET_PREFIX, SET_SRC, SET_DST, SET_KEEP, SET_ROLES };
struct rule_sets {
	const char *name[SET_ROLES];
	uint32_t column[SET_ROLES];
};
struct rule_sets rule_sets(const struct rule *rule);

/* Calls `refuse`, unless it is NULL, for each word @NAME of a rule, or of what an alarm counts, at
 * this column, whose set `known` has not. Returns how many there are. */
typedef void (*set_refuse_fn)(const struct rule *rule, uint32_t column, const char *name,
			      void *arg);
size_t policy_sets_missing(const struct policy *policy, const struct policy *known,
			   set_refuse_fn refuse, void *arg);

/* Does a rule or an alarm name the set? */
bool set_is_named(const struct policy *policy, const char *name);
