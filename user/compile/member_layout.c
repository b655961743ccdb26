// SPDX-License-Identifier: GPL-2.0-only
/* The layout of the table of members: the guide, the number of pages, and the times at which
 * members expire. Packets read its words while they are written.
 *
 * Linear hashing: pages are split in turn, not where they are full. Those whose turn has not come
 * hold up to twice as many members as those that were split, so the average must be low: at 125 of
 * 378 members of IPv4 and 46 of 155 of IPv6, a page has as good as never more than it has room for,
 * and a member takes 33 and 89 bytes.
 *
 * An expired member is none for packets, either: its removal is about memory, and about room in
 * sets that are full.
 */
#include "compile/member_parts.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FILL4      125
#define FILL6      46
#define ROOM_PAGES 64 /* that are swept at a time */

/* ---- the guide */

static void bits_add(__u32 *word, uint32_t bits)
{
	if ((*word & bits) != bits)
		__atomic_store_n(word, *word | bits, __ATOMIC_RELEASE);
}

static uint32_t guide6_place(const __u64 seed[2], const __u64 addr[2])
{
	uint32_t first;

	memcpy(&first, addr, sizeof(first));
	return guide6_index(seed, first);
}

/* A prefix of fewer bits than the guide has covers several of its words. */
static void guide4_add(struct rl_member_layout *layout, uint32_t addr, uint32_t len)
{
	uint32_t first = guide4_index(ntohl(addr)), count = 1;

	if (!len) {
		__atomic_store_n(&layout->zero4, 1, __ATOMIC_RELEASE);
		return;
	}
	if (len < RL_GUIDE4_BITS)
		count <<= RL_GUIDE4_BITS - len;
	for (uint32_t i = 0; i < count; i++)
		bits_add(&layout->guide4[first + i], 1u << (len - 1));
}

void guide_add(struct rl_member_layout *layout, const __u64 seed[2], bool ipv6,
	       const struct member_slot *slot)
{
	uint32_t len = slot_len(slot);
	uint64_t bit = 1ull << (len - 1) % 64;
	__u64 *word;

	if (!ipv6)
		return guide4_add(layout, slot->addr[0], len);
	if (len < RL_GUIDE6_BITS)
		return bits_add(&layout->short6, 1u << len);
	word = &layout->guide6[guide6_place(seed, slot->addr)].lengths[(len - 1) / 64];
	if (!(*word & bit))
		__atomic_store_n(word, *word | bit, __ATOMIC_RELEASE);
}

bool guide_has(const struct rl_member_layout *layout, const __u64 seed[2], bool ipv6,
	       const __u64 addr[2], uint32_t len)
{
	const struct rl_guide6 *guide;

	if (!ipv6 && !len)
		return layout->zero4;
	if (!ipv6)
		return layout->guide4[guide4_index(ntohl(addr[0]))] >> (len - 1) & 1;
	if (len < RL_GUIDE6_BITS)
		return layout->short6 >> len & 1;
	guide = &layout->guide6[guide6_place(seed, addr)];
	return guide->lengths[(len - 1) / 64] >> (len - 1) % 64 & 1;
}

static void word_replace(__u32 *to, uint32_t word)
{
	if (*to != word)
		__atomic_store_n(to, word, __ATOMIC_RELEASE);
}

/* Takes over the guide of `from`, which names all lengths that there are. */
static void guide_replace(struct rl_member_layout *layout, const struct rl_member_layout *from)
{
	word_replace(&layout->zero4, from->zero4);
	word_replace(&layout->short6, from->short6);
	for (int i = 0; i < 1 << RL_GUIDE4_BITS; i++)
		word_replace(&layout->guide4[i], from->guide4[i]);
	for (int i = 0; i < RL_GUIDE6_SIZE; i++)
		for (int half = 0; half < 2; half++) {
			__u64 *to = &layout->guide6[i].lengths[half];

			if (*to != from->guide6[i].lengths[half])
				__atomic_store_n(to, from->guide6[i].lengths[half],
						 __ATOMIC_RELEASE);
		}
}

/* ---- pages */

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
	/* Storing counts what has expired, while it is known. */
	ret = page_load(table, ipv6, parent_of(count), &from) ?: page_store(table, &from);
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

int table_grow(struct member_table *table, const size_t more[2])
{
	int ret = 0;

	for (int ipv6 = 0; ipv6 < 2; ipv6++) {
		uint32_t needed = pages_needed(ipv6, members_held(table, ipv6) + more[ipv6]);

		while (!ret && pages_count(table, ipv6) < needed)
			ret = table_split(table, ipv6);
	}
	return ret;
}

/* Merges the last page, of two or more, into the one that it was split from. -ENOSPC: they do not
 * fit. */
static int table_merge(struct member_table *table, bool ipv6)
{
	struct rl_member_layout *layout = table->layout;
	uint64_t pages = pages_read(table, ipv6);
	uint32_t number = (uint32_t)pages - 1, next = 0;
	struct member_page last, page;
	struct member_slot slot;
	int ret = page_load(table, ipv6, number, &last)
			  ?: page_load(table, ipv6, parent_of(number), &page);

	while (!ret && slot_next(&last.lines, ipv6, &next, &slot))
		if (!page_put(&page, slot_hash(table, ipv6, &slot), &slot))
			ret = -ENOSPC;
	ret = ret ?: page_store(table, &page);
	if (ret)
		return ret;
	/* Whoever walks through the pages begins anew, and so does the round of those swept. */
	__atomic_store_n(&layout->merges, layout->merges + 1, __ATOMIC_SEQ_CST);
	layout->swept = 0;
	layout->round_expiry = 0;
	pages_publish(table, ipv6, member_pages(number));
	last.used = 0;
	last.changed = true;
	ret = page_store(table, &last);
	if (ret)
		pages_publish(table, ipv6, pages);
	return ret;
}

/* Not before a quarter is too many, so that sets that grow and shrink do not split and merge all
 * the time. */
int table_shrink(struct member_table *table, uint32_t most)
{
	int ret = 0;

	for (int ipv6 = 0; !ret && ipv6 < 2; ipv6++) {
		uint32_t needed = pages_needed(ipv6, members_held(table, ipv6)), left = most;

		if (pages_count(table, ipv6) <= needed + needed / 4 + 1)
			continue;
		while (!ret && left-- && pages_count(table, ipv6) > needed + 1)
			ret = table_merge(table, ipv6);
		ret = ret == -ENOSPC ? 0 : ret;
	}
	return ret;
}

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

/* May a member have expired? */
static bool expiry_is_due(const struct member_table *table)
{
	return member_expired(table->layout->next_expiry, table->now);
}

/* ---- some pages */

static int page_sweep(struct member_table *table, bool ipv6, uint32_t number)
{
	__u32 *expiry = &table->layout->round_expiry;
	struct member_page page;
	struct member_slot slot;
	uint32_t next = 0;
	int ret = page_load(table, ipv6, number, &page) ?: page_store(table, &page);

	while (!ret && slot_next(&page.lines, ipv6, &next, &slot))
		*expiry = earlier(*expiry, slot.expires);
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

/* From where the last one ended: each page is looked through once at most, and as a rule few are.
 */
int sweep_for_room(struct member_table *table, uint32_t set, uint64_t members)
{
	uint32_t left = 2 * (pages_count(table, false) + pages_count(table, true));
	int ret = 0;

	while (!ret && left && set_held(&table->sets[set]) > members && expiry_is_due(table)) {
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

static int family_sweep(struct member_table *table, bool ipv6, struct sweep *sweep)
{
	struct rl_member_key beyond = page_key(ipv6, pages_count(table, ipv6));
	struct member_page page;
	struct member_slot slot;
	int ret = 0;

	for (uint32_t i = 0, next = 0; !ret && i < beyond.page; i++, next = 0) {
		ret = page_load(table, ipv6, i, &page) ?: page_store(table, &page);
		while (!ret && slot_next(&page.lines, ipv6, &next, &slot)) {
			guide_add(&sweep->guide, table->seed, ipv6, &slot);
			sweep->next_expiry = earlier(sweep->next_expiry, slot.expires);
			sweep->members[slot_set(&slot)][ipv6] += slot_is_current(table, &slot);
		}
	}
	if (!ret) /* a killed writer may have left it; no packet reads there */
		ret = table->store.remove(table->store.arg, &beyond);
	return ret == -ENOENT ? 0 : ret;
}

static int pages_sweep(struct member_table *table)
{
	struct rl_member_layout *layout = table->layout;
	struct sweep *sweep = calloc(1, sizeof(*sweep));
	int ret = sweep ? 0 : -ENOMEM;

	for (int ipv6 = 0; !ret && ipv6 < 2; ipv6++)
		ret = family_sweep(table, ipv6, sweep);
	if (ret) {
		free(sweep);
		return ret;
	}
	guide_replace(layout, &sweep->guide);
	for (int set = 0; set < RL_SETS_MAX; set++)
		memcpy(table->sets[set].members, sweep->members[set], sizeof(sweep->members[set]));
	layout->next_expiry = sweep->next_expiry;
	layout->round_expiry = 0;
	layout->swept = 0;
	__atomic_store_n(&layout->stale, 0, __ATOMIC_SEQ_CST);
	free(sweep);
	return 0;
}

/* Pages that merge first are not swept one by one. */
int member_table_sweep(struct member_table *table)
{
	return table_shrink(table, UINT32_MAX) ?: pages_sweep(table) ?: table_shrink(table, UINT32_MAX);
}

int sweep_stale(struct member_table *table)
{
	return table->layout->stale ? member_table_sweep(table) : 0;
}

int member_table_begin(struct member_table *table)
{
	int ret = 0;

	if (table->layout->writing)
		ret = pages_sweep(table) ?: table_shrink(table, UINT32_MAX);
	if (!ret)
		__atomic_store_n(&table->layout->writing, 1, __ATOMIC_SEQ_CST);
	return ret;
}

void member_table_end(struct member_table *table)
{
	__atomic_store_n(&table->layout->writing, 0, __ATOMIC_SEQ_CST);
}
