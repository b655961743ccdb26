/* SPDX-License-Identifier: GPL-2.0-only */
/* The sets of a policy as map entries: their numbers, and their groups of rules. */
#pragma once

#include "compile/build.h"
#include "compile/conditions.h"

/* Gives every set of `next` its number: that of the same name in b->ctx->sets, else one that no set
 * has. */
int sets_inherit(struct build *b, struct policy *next);

/* The number of a set that a rule of the policy names. */
uint32_t set_number(const struct policy *policy, const char *name);

/* The bits of the sets that the rule's matches name, which packets then look for. */
void set_matches_emit(struct build *b, const struct rule *rule, struct condition_bits *out);

/* Where the group of rules for the members of a set is to be noted. */
struct rl_range *set_group(struct build *b, const struct rule *rule);

/* Refuses a policy in which one packet could meet more than RL_GROUP_MAX limits of sets and of one
 * prefix together: an address may be a member of all sets. */
int sets_check(struct build *b, const struct policy *policy);
