/* SPDX-License-Identifier: GPL-2.0-only */
/* The number of pages of the table of members: one more, one fewer. Pure but for the store. */
#pragma once

#include "compile/member_page.h"

static inline uint32_t pages_count(const struct member_table *table, bool ipv6)
{
	return pages_read(table, ipv6);
}

/* The page of a hash; there is one. */
uint32_t page_of(const struct member_table *table, bool ipv6, uint64_t hash);

/* Members of the family in all sets. */
uint64_t members_held(const struct member_table *table, bool ipv6);

/* Pages that so many members of the family need. */
uint32_t pages_needed(bool ipv6, uint64_t members);

/* Splits the next page in turn. */
int table_split(struct member_table *table, bool ipv6);

/* Splits pages until so many members have room. */
int table_grow(struct member_table *table, bool ipv6, uint64_t members);

/* Merges at most so many pages of those that the members which are there do not need. */
int table_shrink(struct member_table *table, bool ipv6, uint32_t most);
