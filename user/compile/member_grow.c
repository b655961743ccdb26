// SPDX-License-Identifier: GPL-2.0-only
/* Linear hashing: pages are split in turn, not where they are full. Those whose turn has not come
 * hold up to twice as many members as those that were split, so the average must be low: at 125 of
 * 378 members of IPv4 and 46 of 155 of IPv6, a page has as good as never more than it has room for,
 * and a member takes 33 and 89 bytes.
 */

#include "compile/member_parts.h"

#include <errno.h>

#include "algorithm/member_hash.h"

#define FILL4 125
#define FILL6 46

uint32_t page_of(const struct member_table *table, bool ipv6, uint64_t hash)
{
	return member_page(hash, pages_read(table, ipv6));
}

uint64_t members_held(const struct member_table *table, bool ipv6)
{
	uint64_t sum = 0;

	for (int set = 0; set < RL_SETS_MAX; set++)
		sum += table->sets[set].members[ipv6];
	return sum;
}

uint32_t pages_needed(bool ipv6, uint64_t members)
{
	uint32_t fill = ipv6 ? FILL6 : FILL4;

	return (members + fill - 1) / fill;
}

/* A few more are split where a page has no room although the average is low. */
uint32_t member_table_pages(uint64_t members)
{
	return pages_needed(true, members) + pages_needed(true, members) / 16 + 4;
}

/* The page that one with this number was split from. */
static uint32_t parent_of(uint32_t number)
{
	return number & member_pages(number + 1) >> 33;
}

/* Members stand in both pages until the former one is rewritten; packets look for them in the one
 * that `pages` names. If that fails, whoever loads the former page sees that they belong elsewhere.
 */
int table_split(struct member_table *table, bool ipv6)
{
	uint32_t count = pages_count(table, ipv6);
	uint64_t after = member_pages(count + 1);
	struct member_page from, to;
	int ret;

	if (!count) {
		pages_publish(table, ipv6, after);
		return 0;
	}
	ret = page_load(table, ipv6, parent_of(count), &from);
	if (!ret)
		ret = page_store(table, &from); /* counts what has expired, while it is known */
	if (ret)
		return ret;
	page_part(table, &from, count, after, &to);
	to.exists = true; /* or may, left by a killed writer */
	to.changed = true;
	ret = page_store(table, &to);
	if (ret)
		return ret;
	pages_publish(table, ipv6, after);
	return page_store(table, &from);
}

int table_grow(struct member_table *table, bool ipv6, uint64_t members)
{
	uint32_t needed = pages_needed(ipv6, members);
	int ret = 0;

	while (!ret && pages_count(table, ipv6) < needed)
		ret = table_split(table, ipv6);
	return ret;
}

/* -ENOSPC: they do not fit. */
static int page_join(const struct member_table *table, struct member_page *page,
		     const struct member_page *last)
{
	struct member_slot slot;
	uint32_t next = 0;

	while (slot_next(&last->lines, last->ipv6, &next, &slot))
		if (page_put(page, slot_hash(table, page->ipv6, &slot), &slot) < 0)
			return -ENOSPC;
	return 0;
}

/* Merges the last page, of two or more, into the one that it was split from. */
static int table_merge(struct member_table *table, bool ipv6)
{
	struct rl_member_layout *layout = table->layout;
	uint64_t pages = pages_read(table, ipv6);
	uint32_t number = (uint32_t)pages - 1;
	struct member_page last, page;
	int ret = page_load(table, ipv6, number, &last);

	if (!ret)
		ret = page_load(table, ipv6, parent_of(number), &page);
	if (!ret)
		ret = page_join(table, &page, &last);
	if (!ret)
		ret = page_store(table, &page);
	if (ret)
		return ret;
	/* Whoever walks through the pages begins anew, and so does the round of those swept. */
	__atomic_store_n(&layout->merges, layout->merges + 1, __ATOMIC_SEQ_CST);
	layout->swept = 0;
	layout->round_expiry = 0;
	pages_publish(table, ipv6, member_pages(number));
	if (!last.exists)
		return 0;
	ret = page_remove(table, &last);
	if (ret)
		pages_publish(table, ipv6, pages);
	return ret;
}

/* Not before a quarter is too many, so that sets that grow and shrink do not split and merge all
 * the time. */
int table_shrink(struct member_table *table, bool ipv6, uint32_t most)
{
	uint32_t needed = pages_needed(ipv6, members_held(table, ipv6));
	int ret = 0;

	if (pages_count(table, ipv6) <= needed + needed / 4 + 1)
		return 0;
	while (!ret && most-- && pages_count(table, ipv6) > needed + 1)
		ret = table_merge(table, ipv6);
	return ret == -ENOSPC ? 0 : ret;
}
