/* SPDX-License-Identifier: GPL-2.0-only */
/* The guard against lockout by the members of a set. */
#pragma once

#include "cli/sets/set_change.h"
#include "policy/member_list.h"

/* set_change_apply(), but asks before if it would cut off the SSH session of this process on one of
 * the targets. If the answer is no, the change has failed on all of them. */
int set_guarded_apply(struct set_change *change);

/* For sets_load(): `guard` of struct set_load. */
int set_load_guard(const struct target *target, const struct rl_set_words *words,
		   struct member_list *list, char *why, size_t size);
