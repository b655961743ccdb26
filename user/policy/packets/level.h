/* SPDX-License-Identifier: GPL-2.0-only */
/* Which rules are for an address, and in which order they are asked: by the length of the prefix,
 * be it the rule's own or a member of its set. Pure: who knows the members passes a callback. */
#pragma once

#include "policy/policy.h"

#define SET_NO_MEMBER (-1)
#define SET_UNKNOWN   (-2) /* nobody knows its members: the address may be one */

struct set_members {
	/* The length (mapped, 0..128) of the set's longest member that holds the (mapped) address,
	 * SET_NO_MEMBER or SET_UNKNOWN. */
	int (*len)(const char *name, const uint8_t addr[16], void *arg);
	void *arg;
};

/* The same; `members` may be NULL: nothing is known of any set. */
int set_member_len(const struct set_members *members, const char *name, const uint8_t addr[16]);

/* The length of the prefix by which the rule is for the address, 0..128, or one of these. */
#define LEVEL_LONGEST 128
#define LEVEL_UNKNOWN 129 /* by a member of a set that may be of any length, or not be there */
#define LEVEL_NONE    255 /* it is not for the address; or its prefix is any or device */
uint8_t rule_level(const struct rule *rule, const uint8_t addr[16],
		   const struct set_members *members);

/* That of each rule of the policy, with one question about each set; free() it. NULL: there is no
 * memory. */
uint8_t *policy_levels(const struct policy *policy, const uint8_t addr[16],
		       const struct set_members *members);

/* The levels at which rules are asked. Those of unknown members are asked first, as none can be
 * longer. */
void levels_asked(const struct policy *policy, const uint8_t *levels, bool out[LEVEL_LONGEST + 1]);

/* Is the rule asked together with those of this kind, of prefixes of `len` bits? PREFIX_ADDR: its
 * own, or that of a member of its set. */
bool rule_is_at(const struct policy *policy, const uint8_t *levels, const struct rule *rule,
		enum prefix_kind kind, int len);
