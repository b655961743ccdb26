// SPDX-License-Identifier: GPL-2.0-only
/* Removes members that have expired or are of a former epoch. An expired one is no member for
 * packets, either: this is about memory, and about room in sets that are full.
 */

#include "compile/member_parts.h"

#include <errno.h>
#include <stdlib.h>

#include "algorithm/member_hash.h"

#define ROOM_PAGES 64 /* that are swept at a time */

/* ---- time */

uint32_t member_expiry(uint64_t now_ns, uint64_t life_ns)
{
	uint32_t expires = member_time(now_ns + life_ns + (1u << RL_MEMBER_TIME_SHIFT) - 1);

	return expires ? expires : 1; /* 0 would be never */
}

static uint32_t earlier(uint32_t a, uint32_t b)
{
	if (!a || !b)
		return a ? a : b;
	return (int32_t)(a - b) < 0 ? a : b;
}

void expiry_note(struct rl_member_layout *layout, uint32_t expires)
{
	if (!expires)
		return;
	layout->next_expiry = earlier(layout->next_expiry, expires);
	layout->round_expiry = earlier(layout->round_expiry, expires);
}

bool expiry_is_due(const struct member_table *table)
{
	return member_expired(table->layout->next_expiry, table->now);
}

/* ---- some pages */

static uint32_t page_expiry(const struct member_page *page)
{
	uint32_t first = 0, next = 0;
	struct member_slot slot;

	while (slot_next(&page->lines, page->ipv6, &next, &slot))
		first = earlier(first, slot.expires);
	return first;
}

static int page_sweep(struct member_table *table, bool ipv6, uint32_t number)
{
	struct member_page page;
	int ret = page_load(table, ipv6, number, &page);

	if (!ret)
		ret = page_store(table, &page);
	if (!ret && page.used)
		table->layout->round_expiry =
			earlier(table->layout->round_expiry, page_expiry(&page));
	return ret;
}

/* IPv4 pages first, then IPv6 ones. */
static int sweep_next(struct member_table *table)
{
	struct rl_member_layout *layout = table->layout;
	uint32_t count4 = pages_count(table, false), count6 = pages_count(table, true);
	bool ipv6 = layout->swept >= count4;
	int ret = 0;

	if (layout->swept < count4 + count6)
		ret = page_sweep(table, ipv6, layout->swept - (ipv6 ? count4 : 0));
	if (!ret && ++layout->swept >= count4 + count6) {
		layout->next_expiry = layout->round_expiry;
		layout->round_expiry = 0;
		layout->swept = 0;
	}
	return ret;
}

int member_table_sweep_some(struct member_table *table, uint32_t pages)
{
	int ret = 0;

	while (!ret && pages-- && expiry_is_due(table))
		ret = sweep_next(table);
	return ret;
}

static uint64_t set_held(const struct member_table *table, uint32_t set)
{
	return (uint64_t)table->sets[set].members[0] + table->sets[set].members[1];
}

/* From where the last one ended: each page is looked through once at most, and as a rule few are.
 */
int sweep_for_room(struct member_table *table, uint32_t set, uint64_t members)
{
	uint32_t left = 2 * (pages_count(table, false) + pages_count(table, true));
	int ret = 0;

	while (!ret && left && set_held(table, set) > members && expiry_is_due(table)) {
		uint32_t some = left < ROOM_PAGES ? left : ROOM_PAGES;

		ret = member_table_sweep_some(table, some);
		left -= some;
	}
	return ret;
}

/* ---- all of them */

struct sweep {
	struct rl_member_layout guide; /* of what there is */
	uint32_t members[RL_SETS_MAX][2];
	uint32_t next_expiry;
};

static void page_note(const struct member_table *table, const struct member_page *page,
		      struct sweep *sweep)
{
	struct member_slot slot;
	uint32_t next = 0;

	while (slot_next(&page->lines, page->ipv6, &next, &slot)) {
		guide_add(&sweep->guide, table->seed, page->ipv6, &slot);
		sweep->next_expiry = earlier(sweep->next_expiry, slot.expires);
		sweep->members[slot_set(&slot)][page->ipv6] += slot_is_current(table, &slot);
	}
}

static int family_sweep(struct member_table *table, bool ipv6, struct sweep *sweep)
{
	struct rl_member_key beyond = page_key(ipv6, pages_count(table, ipv6));
	struct member_page page;
	int ret = 0;

	for (uint32_t i = 0; !ret && i < beyond.page; i++) {
		ret = page_load(table, ipv6, i, &page);
		if (!ret)
			ret = page_store(table, &page);
		if (!ret && page.used)
			page_note(table, &page, sweep);
	}
	if (!ret) /* a killed writer may have left it; no packet reads there */
		ret = table->store.remove(table->store.arg, &beyond);
	return ret == -ENOENT ? 0 : ret;
}

static void sweep_settle(struct member_table *table, const struct sweep *sweep)
{
	struct rl_member_layout *layout = table->layout;

	guide_replace(layout, &sweep->guide);
	for (int set = 0; set < RL_SETS_MAX; set++)
		for (int ipv6 = 0; ipv6 < 2; ipv6++)
			table->sets[set].members[ipv6] = sweep->members[set][ipv6];
	layout->next_expiry = sweep->next_expiry;
	layout->round_expiry = 0;
	layout->swept = 0;
	__atomic_store_n(&layout->stale, 0, __ATOMIC_SEQ_CST);
}

static int table_shrink_both(struct member_table *table)
{
	int ret = table_shrink(table, false, UINT32_MAX);

	return ret ? ret : table_shrink(table, true, UINT32_MAX);
}

static int pages_sweep(struct member_table *table)
{
	struct sweep *sweep = calloc(1, sizeof(*sweep));
	int ret = sweep ? 0 : -ENOMEM;

	if (!ret)
		ret = family_sweep(table, false, sweep);
	if (!ret)
		ret = family_sweep(table, true, sweep);
	if (!ret)
		sweep_settle(table, sweep);
	free(sweep);
	return ret;
}

/* Pages that merge first are not swept one by one. */
int member_table_sweep(struct member_table *table)
{
	int ret = table_shrink_both(table);

	if (!ret)
		ret = pages_sweep(table);
	return ret ? ret : table_shrink_both(table);
}

int sweep_stale(struct member_table *table)
{
	return table->layout->stale ? member_table_sweep(table) : 0;
}

int member_table_begin(struct member_table *table)
{
	int ret = 0;

	if (table->layout->writing) {
		ret = pages_sweep(table);
		if (!ret)
			ret = table_shrink_both(table);
	}
	if (!ret)
		__atomic_store_n(&table->layout->writing, 1, __ATOMIC_SEQ_CST);
	return ret;
}

void member_table_end(struct member_table *table)
{
	__atomic_store_n(&table->layout->writing, 0, __ATOMIC_SEQ_CST);
}
