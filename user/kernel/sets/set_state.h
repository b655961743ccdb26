/* SPDX-License-Identifier: GPL-2.0-only */
/* Saves the members of dynamic sets and brings them back. */
#pragma once

#include "kernel/sets/sets.h"
#include "policy/sets/member_state.h"

#define SET_TAG_MAX 64

/* Names the members as they are: another after any change; "" without sets. The instance is open
 * for writing. 0 or -errno. */
int set_tag(const struct instance *instance, char out[SET_TAG_MAX]);

/* All members of its dynamic sets as text, to be freed, and how many there are; the first line
 * names the owner, "" for none. *text is NULL if the policy has no dynamic set. The instance is
 * open for writing. 0 or -1; reports. */
int set_state_print(const struct instance *instance, const char *owner, char **text, size_t *size,
		    size_t *members);

/* Adds what was saved to those of its sets that the policy still has, with a result for each set of
 * the state. The instance is open for writing. 0 or -1; reports. */
int set_state_restore(struct instance *instance, const struct member_state *state,
		      struct member_result *results);

/* Removes what has expired. The instance is open for writing. 0 or -1; reports. */
int sets_sweep(struct instance *instance);
