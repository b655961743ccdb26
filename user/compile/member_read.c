// SPDX-License-Identifier: GPL-2.0-only
/* Looks members up, beside a writer that may be at work: as packets do it (abi/sets.h), what is
 * read is read again if a page was written meanwhile.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/units.h"
#include "compile/member_parts.h"

#define READ_RETRIES 1000 /* a read takes as long as a write, or less */
#define WALK_RETRIES 100

static uint32_t changes_read(const struct member_table *table)
{
	if (table->store.refresh)
		table->store.refresh(table->store.arg);
	return __atomic_load_n(&table->layout->changes, __ATOMIC_SEQ_CST);
}

/* ---- one member */

static int one_read(struct member_table *table, uint32_t set, const struct member *member,
		    struct member_entry *out)
{
	bool ipv6 = !member_is_ipv4(member);
	union rl_member_page lines;
	struct member_slot slot;
	struct rl_member_key key;
	uint64_t hash, epochs = __atomic_load_n(&table->layout->epochs, __ATOMIC_ACQUIRE);
	int place, ret;

	slot_of_member(member, set, epochs >> set & 1 ? RL_MEMBER_EPOCH : 0, 0, &slot);
	if (!guide_has(table->layout, table->seed, ipv6, slot.addr, slot_len(&slot)))
		return -ENOENT;
	hash = slot_hash(table, ipv6, &slot);
	key = page_key(ipv6, page_of(table, ipv6, hash));
	ret = table->store.read(table->store.arg, &key, &lines);
	if (ret)
		return ret;
	place = slot_find(&lines, ipv6, hash, &slot);
	if (place < 0)
		return -ENOENT;
	slot_read(&lines, ipv6, place, &slot);
	if (member_expired(slot.expires, table->now))
		return -ENOENT;
	*out = (struct member_entry){.member = *member, .expires = slot.expires};
	return 0;
}

/* The longest member around the address, from `longest` down to `least` bits. */
static int longest_read(struct member_table *table, uint32_t set, const uint8_t addr[16],
			int longest, int least, struct member_entry *out)
{
	int ret = -EAGAIN;

	for (int i = 0; i < READ_RETRIES; i++) {
		uint32_t changes = changes_read(table);

		ret = -ENOENT;
		for (int len = longest; ret == -ENOENT && len >= least; len--) {
			struct member member = {.len = len};

			prefix_mask(member.addr, addr, len);
			ret = one_read(table, set, &member, out);
		}
		if (changes == changes_read(table))
			break;
	}
	return ret;
}

int member_table_get(struct member_table *table, uint32_t set, const struct member *member,
		     struct member_entry *out)
{
	return longest_read(table, set, member->addr, member->len, member->len, out);
}

int member_table_find(struct member_table *table, uint32_t set, const uint8_t addr[16],
		      struct member_entry *out)
{
	int least = prefix_is_ipv4(addr, 128) ? RL_MAPPED_BITS : 0;

	return longest_read(table, set, addr, 128, least, out);
}

/* ---- all members */

struct found {
	uint32_t set;
	struct member_entry entry;
};

struct walk {
	struct member_table *table;
	uint64_t sets;
	struct found *found;
	size_t count, capacity;
	uint32_t *seen_at; /* how many pages there were when the page of this number was read */
	size_t seen_capacity;
};

static int found_add(struct walk *walk, bool ipv6, const struct member_slot *slot)
{
	struct found *found = array_room(walk->found, walk->count, &walk->capacity, sizeof(*found));

	if (!found)
		return -ENOMEM;
	walk->found = found;
	found += walk->count++;
	*found = (struct found){.set = slot_set(slot), .entry.expires = slot->expires};
	slot_to_member(slot, ipv6, &found->entry.member);
	return 0;
}

/* Pages are read in the order of their numbers. */
static int seen_note(struct walk *walk, uint32_t number, uint32_t pages)
{
	uint32_t *seen = array_room(walk->seen_at, number, &walk->seen_capacity, sizeof(*seen));

	if (!seen)
		return -ENOMEM;
	walk->seen_at = seen;
	seen[number] = pages;
	return 0;
}

/* Was it in a page that this one was split from when that was read? */
static bool was_seen(const struct walk *walk, uint64_t hash, uint32_t number)
{
	if (!walk->seen_at) /* page 0 has not been read */
		return false;
	while (number) {
		number &= ~(1u << (31 - __builtin_clz(number)));
		if (member_page(hash, member_pages(walk->seen_at[number])) == number)
			return true;
	}
	return false;
}

static int lines_walk(struct walk *walk, const struct rl_member_key *key,
		      const union rl_member_page *lines, uint64_t pages, uint64_t epochs)
{
	bool ipv6 = key->family == 6;
	struct member_slot slot;
	uint32_t next = 0;
	int ret = 0;

	while (!ret && slot_next(lines, ipv6, &next, &slot)) {
		uint64_t hash;

		if (!(walk->sets >> slot_set(&slot) & 1) ||
		    !(slot.meta & RL_MEMBER_EPOCH) != !(epochs >> slot_set(&slot) & 1) ||
		    member_expired(slot.expires, walk->table->now))
			continue;
		hash = slot_hash(walk->table, ipv6, &slot);
		if (member_page(hash, pages) == key->page && !was_seen(walk, hash, key->page))
			ret = found_add(walk, ipv6, &slot);
	}
	return ret;
}

/* 1: there is no such page, and none after it. */
static int page_walk(struct walk *walk, bool ipv6, uint32_t number, uint64_t epochs)
{
	struct rl_member_key key = page_key(ipv6, number);
	union rl_member_page lines;
	uint32_t changes;
	uint64_t pages;
	int ret, tries = READ_RETRIES;

	do {
		changes = changes_read(walk->table);
		pages = pages_read(walk->table, ipv6);
		if (number >= (uint32_t)pages)
			return 1;
		ret = walk->table->store.read(walk->table->store.arg, &key, &lines);
	} while (changes != changes_read(walk->table) && --tries);
	if (!tries)
		return -EAGAIN;
	if (!ret)
		ret = lines_walk(walk, &key, &lines, pages, epochs);
	else if (ret == -ENOENT)
		ret = 0;
	return ret ? ret : seen_note(walk, number, pages);
}

/* -EAGAIN: pages were merged meanwhile, or a set has other members now. */
static int table_walk(struct walk *walk)
{
	const struct rl_member_layout *layout = walk->table->layout;
	uint32_t merges;
	uint64_t epochs;
	int ret;

	changes_read(walk->table);
	merges = __atomic_load_n(&layout->merges, __ATOMIC_SEQ_CST);
	epochs = __atomic_load_n(&layout->epochs, __ATOMIC_SEQ_CST);
	walk->count = 0;
	for (int ipv6 = 0; ipv6 < 2; ipv6++) {
		ret = 0;
		for (uint32_t number = 0; !ret; number++)
			ret = page_walk(walk, ipv6, number, epochs);
		if (ret < 0)
			return ret;
	}
	changes_read(walk->table);
	if (merges != __atomic_load_n(&layout->merges, __ATOMIC_SEQ_CST) ||
	    (epochs ^ __atomic_load_n(&layout->epochs, __ATOMIC_SEQ_CST)) & walk->sets)
		return -EAGAIN;
	return 0;
}

int member_table_walk(struct member_table *table, uint64_t sets, member_fn tell, void *arg)
{
	struct walk walk = {.table = table, .sets = sets};
	int ret = -EAGAIN;

	for (int i = 0; ret == -EAGAIN && i < WALK_RETRIES; i++)
		ret = table_walk(&walk);
	for (size_t i = 0; !ret && i < walk.count; i++)
		ret = tell(walk.found[i].set, &walk.found[i].entry, arg);
	free(walk.found);
	free(walk.seen_at);
	return ret;
}
