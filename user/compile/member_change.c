// SPDX-License-Identifier: GPL-2.0-only
/* Adds members to a set, deletes them, and replaces all of a set at once. For that, members are
 * written with an epoch, a bit; the set has those with the epoch that the layout names, so one word
 * that changes is the moment. Those of the former epoch are removed afterwards, and must be before
 * the next such moment.
 */

#include "compile/member_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "compile/member_parts.h"

#define SWEEP_PAGES 4 /* that every change looks through besides, and … */
#define SWEEP_SHARE 4 /* … one for so many pages that it may have written */

/* ---- what is new */

/* The future of the entry, as far as the page says. A repeated one may extend the one before. */
static enum member_became entry_look(const struct member_batch *batch,
				     const union rl_member_page *lines, size_t at)
{
	const struct member_place *place = &batch->order.places[at];
	const struct member_entry *entry = &batch->entries[place->index];
	struct member_slot slot;
	int found = -1;

	slot_of_member(&entry->member, batch->set, batch->epoch, 0, &slot);
	if (lines)
		found = slot_find(lines, place->ipv6, place_hash(place), &slot);
	if (found >= 0)
		slot_read(lines, place->ipv6, found, &slot);
	if (found >= 0 && !member_expired(slot.expires, batch->table->now))
		return expires_later(entry->expires, slot.expires) ? MEMBER_EXTENDED
								   : MEMBER_PRESENT;
	return place_repeats(batch, at) ? MEMBER_EXTENDED : MEMBER_ADDED;
}

/* Marks the entries, and counts the new ones of each family. */
static int entries_look(struct member_batch *batch, size_t count, size_t fresh[2])
{
	struct member_table *table = batch->table;

	for (size_t first = 0, end; first < count; first = end) {
		const struct member_place *places = batch->order.places;
		bool ipv6 = places[first].ipv6;
		struct rl_member_key key =
			page_key(ipv6, page_of(table, ipv6, place_hash(&places[first])));
		union rl_member_page lines;
		int ret = table->store.read(table->store.arg, &key, &lines);

		if (ret && ret != -ENOENT)
			return ret;
		end = first + places_of_page(table, places + first, count - first);
		for (size_t i = first; i < end; i++) {
			enum member_became became = entry_look(batch, ret ? NULL : &lines, i);

			batch->entries[places[i].index].became = became;
			fresh[ipv6] += became == MEMBER_ADDED;
		}
	}
	return 0;
}

/* ---- room in the set */

/* The first new ones in the order in which they were given are taken. If a member is refused, it is
 * so each time that it was given. */
static void surplus_refuse(struct member_batch *batch, size_t count, uint64_t room, size_t fresh[2])
{
	const struct member_place *places = batch->order.places;

	for (size_t i = 0; i < count; i++) {
		struct member_entry *entry = &batch->entries[i];

		if (entry->became != MEMBER_ADDED)
			continue;
		if (room) {
			room--;
			continue;
		}
		entry->became = MEMBER_REFUSED;
		fresh[!member_is_ipv4(&entry->member)]--;
	}
	for (size_t i = 1; i < count; i++)
		if (place_repeats(batch, i))
			batch->entries[places[i].index].became =
				batch->entries[places[i - 1].index].became == MEMBER_REFUSED
					? MEMBER_REFUSED
					: MEMBER_EXTENDED;
}

static int room_make(struct member_batch *batch, size_t count, size_t fresh[2])
{
	const struct rl_set *set = &batch->table->sets[batch->set];
	uint64_t wanted = (uint64_t)fresh[0] + fresh[1];
	int ret =
		sweep_for_room(batch->table, batch->set, wanted < set->max ? set->max - wanted : 0);

	if (!ret && set_held(set) + wanted > set->max)
		surplus_refuse(batch, count,
			       set_held(set) < set->max ? set->max - set_held(set) : 0, fresh);
	return ret;
}

/* ---- adding and deleting */

/* The change itself is done: an error of this is not one of that. */
static void some_sweep(struct member_table *table, size_t count)
{
	member_table_sweep_some(table, SWEEP_PAGES + count / SWEEP_SHARE);
}

int member_table_add(struct member_table *table, uint32_t set, struct member_entry *entries,
		     size_t count, struct member_result *result)
{
	struct member_batch batch = {.table = table,
				     .set = set,
				     .epoch = set_epoch(table, set),
				     .former = set_epoch(table, set),
				     .entries = entries,
				     .result = result};
	size_t fresh[2] = {0};
	int ret = member_order_make(table, entries, sizeof(*entries), count, &batch.order) ?:
		  entries_look(&batch, count, fresh) ?:
		  room_make(&batch, count, fresh) ?:
		  table_grow(table, fresh);

	if (!ret) {
		ret = batch_write(&batch);
	} else {
		for (size_t i = 0; i < count; i++)
			entries[i].became = MEMBER_REFUSED;
		result->refused += count;
		table->sets[set].refused += count;
	}
	free(batch.order.places);
	if (!ret)
		some_sweep(table, count);
	return ret;
}

/* Those of one page. */
static int page_delete(struct member_table *table, uint32_t set, const struct member *members,
		       const struct member_place *places, size_t count,
		       struct member_result *result)
{
	bool ipv6 = places->ipv6;
	struct member_page page;
	size_t deleted = 0;
	int ret = page_load(table, ipv6, page_of(table, ipv6, place_hash(places)), &page);

	if (ret)
		return ret;
	for (size_t i = 0; i < count; i++) {
		struct member_slot slot;
		int place;

		slot_of_member(&members[places[i].index], set, set_epoch(table, set), 0, &slot);
		place = slot_find(&page.lines, ipv6, place_hash(&places[i]), &slot);
		if (place < 0)
			continue;
		page_free(&page, place);
		page.members[set]--;
		deleted++;
	}
	ret = page_store(table, &page);
	if (ret)
		return ret;
	result->deleted += deleted;
	result->missing += count - deleted;
	table->sets[set].deleted += deleted;
	return 0;
}

int member_table_delete(struct member_table *table, uint32_t set, const struct member *members,
			size_t count, struct member_result *result)
{
	struct member_order order;
	int ret = member_order_make(table, members, sizeof(*members), count, &order);

	for (size_t first = 0, some; !ret && first < count; first += some) {
		some = places_of_page(table, order.places + first, count - first);
		ret = page_delete(table, set, members, order.places + first, some, result);
	}
	free(order.places);
	if (ret)
		return ret;
	table_shrink(table, 1 + count); /* an error leaves pages that are too many */
	some_sweep(table, count);
	return 0;
}

/* ---- all members of a set */

static void stale_tell(struct member_table *table)
{
	__atomic_store_n(&table->layout->stale, 1, __ATOMIC_SEQ_CST);
}

/* `changes` is seen by whoever caches answers, even if no page is written afterwards. */
static void epoch_flip(struct member_table *table, uint32_t set)
{
	struct rl_member_layout *layout = table->layout;

	__atomic_store_n(&layout->epochs, layout->epochs ^ 1ull << set, __ATOMIC_SEQ_CST);
	__atomic_store_n(&layout->swaps, layout->swaps + 1, __ATOMIC_SEQ_CST);
	__atomic_store_n(&layout->changes, layout->changes + 1, __ATOMIC_SEQ_CST);
}

int member_table_flush(struct member_table *table, uint32_t set)
{
	struct rl_set *counts = &table->sets[set];
	int ret = sweep_stale(table);

	if (ret)
		return ret;
	stale_tell(table);
	epoch_flip(table, set);
	counts->deleted += set_held(counts);
	counts->members[0] = counts->members[1] = 0;
	sweep_stale(table); /* if it fails, the next change of this kind does it */
	return 0;
}

/* Each member once, with the latest time that was given for it. */
static void entries_unite(struct member_batch *batch, size_t count)
{
	struct member_order *order = &batch->order;
	struct member_entry *first = NULL;
	size_t kept = 0;

	order->count[0] = order->count[1] = 0;
	for (size_t i = 0; i < count; i++) {
		struct member_place place = order->places[i];
		struct member_entry *entry = &batch->entries[place.index];

		if (first && !memcmp(&first->member, &entry->member, sizeof(entry->member))) {
			if (expires_later(entry->expires, first->expires))
				first->expires = entry->expires;
			entry->became = MEMBER_PRESENT;
			continue;
		}
		first = entry;
		first->became = MEMBER_ADDED;
		order->places[kept++] = place;
		order->count[place.ipv6]++;
	}
}

/* The moment, and what it means for the counts. */
static void incoming_settle(struct member_batch *batch)
{
	struct rl_set *set = &batch->table->sets[batch->set];
	struct member_result *result = batch->result;
	uint64_t held = set_held(set), stay = result->extended + result->present;

	epoch_flip(batch->table, batch->set);
	result->deleted = held > stay ? held - stay : 0;
	set->members[0] = batch->order.count[0];
	set->members[1] = batch->order.count[1];
	set->added += result->added;
	set->extended += result->extended;
	set->deleted += result->deleted;
}

int member_table_swap(struct member_table *table, uint32_t set, struct member_entry *entries,
		      size_t count, struct member_result *result)
{
	struct member_result sum = {0};
	struct member_batch batch = {.table = table,
				     .set = set,
				     .epoch = set_epoch(table, set) ^ RL_MEMBER_EPOCH,
				     .former = set_epoch(table, set),
				     .entries = entries,
				     .result = &sum};
	int ret =
		sweep_stale(table)
			?: member_order_make(table, entries, sizeof(*entries), count, &batch.order);

	if (ret)
		return ret;
	entries_unite(&batch, count);
	if (batch.order.count[0] + batch.order.count[1] > table->sets[set].max) {
		ret = -ENOSPC;
	} else {
		stale_tell(table);
		table->incoming = 1ull << set;
		ret = table_grow(table, batch.order.count) ?: batch_write(&batch);
		if (!ret)
			incoming_settle(&batch);
		table->incoming = 0;
		/* Whether it has happened or not, the members of the other epoch go; if that fails,
		 * the next change of this kind does it. */
		sweep_stale(table);
	}
	free(batch.order.places);
	if (!ret)
		*result = sum;
	return ret;
}
