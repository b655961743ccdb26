/* SPDX-License-Identifier: GPL-2.0-only */
/* Members of one set that are written together, page by page. Pure but for the store. */
#pragma once

#include "compile/member_order.h"
#include "compile/member_page.h"

struct member_batch {
	struct member_table *table;
	uint32_t set;
	uint32_t epoch;  /* that they are written with: 0 or RL_MEMBER_EPOCH */
	uint32_t former; /* of a swap: that of the members in force; else the same */
	struct member_entry *entries;
	struct member_order order;
	struct member_result *result;
};

uint32_t set_epoch(const struct member_table *table, uint32_t set);

/* Where the members of one page end. */
size_t batch_page_end(const struct member_table *table, bool ipv6,
		      const struct member_place *places, size_t first, size_t count);

/* Does the place hold the same member as the one before? */
bool place_repeats(const struct member_batch *batch, const struct member_place *places, size_t i);

/* Does `a` end later than `b`? */
bool expires_later(uint32_t a, uint32_t b);

/* Writes all entries but the refused ones; there are pages for them. Those that `became` says are
 * present may stay unread. Sets `became` and *result. */
int batch_write(struct member_batch *batch);
