/* SPDX-License-Identifier: GPL-2.0-only */
/* When members expire, and room by those that have. Pure but for the store. */
#pragma once

#include "compile/member_page.h"

/* A member with this time is about to be written. */
void expiry_note(struct rl_member_layout *layout, uint32_t expires);

/* May a member have expired? */
bool expiry_is_due(const struct member_table *table);

/* Removes what has expired until the set has at most so many members, or nothing is left to remove.
 */
int sweep_for_room(struct member_table *table, uint32_t set, uint64_t members);

/* No members of former epochs are left when it returns 0. */
int sweep_stale(struct member_table *table);
