// SPDX-License-Identifier: GPL-2.0-only
/* Adds members to a set, and deletes them. */

#include "compile/member_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "algorithm/member_hash.h"
#include "compile/member_parts.h"

#define SWEEP_PAGES 4 /* that every change looks through besides, and … */
#define SWEEP_SHARE 4 /* … one for so many pages that it may have written */

/* ---- what is new */

/* The future of the entry, as far as the page says. A repeated one may extend the one before. */
static enum member_became entry_look(const struct member_batch *batch,
				     const union rl_member_page *lines, bool ipv6,
				     const struct member_place *places, size_t i)
{
	const struct member_entry *entry = &batch->entries[places[i].index];
	struct member_slot slot;
	int place = -1;

	slot_of_member(&entry->member, batch->set, batch->epoch, 0, &slot);
	if (lines)
		place = slot_find(lines, ipv6, place_hash(&places[i]), &slot);
	if (place >= 0)
		slot_read(lines, ipv6, place, &slot);
	if (place >= 0 && !member_expired(slot.expires, batch->table->now))
		return expires_later(entry->expires, slot.expires) ? MEMBER_EXTENDED
								   : MEMBER_PRESENT;
	return place_repeats(batch, places, i) ? MEMBER_EXTENDED : MEMBER_ADDED;
}

/* Marks the entries of one page. */
static int page_look(struct member_batch *batch, bool ipv6, const struct member_place *places,
		     size_t first, size_t end, uint64_t *fresh)
{
	struct member_table *table = batch->table;
	struct rl_member_key key = page_key(ipv6, page_of(table, ipv6, place_hash(&places[first])));
	union rl_member_page lines;
	int ret = table->store.read(table->store.arg, &key, &lines);

	if (ret && ret != -ENOENT)
		return ret;
	for (size_t i = first; i < end; i++) {
		enum member_became became = entry_look(batch, ret ? NULL : &lines, ipv6, places, i);

		batch->entries[places[i].index].became = became;
		*fresh += became == MEMBER_ADDED;
	}
	return 0;
}

static int family_look(struct member_batch *batch, bool ipv6, uint64_t *fresh)
{
	const struct member_place *places = order_places(&batch->order, ipv6);
	size_t count = batch->order.count[ipv6];
	int ret = 0;

	if (count && !pages_count(batch->table, ipv6))
		ret = table_split(batch->table, ipv6);
	for (size_t first = 0, end; !ret && first < count; first = end) {
		end = batch_page_end(batch->table, ipv6, places, first, count);
		ret = page_look(batch, ipv6, places, first, end, fresh);
	}
	return ret;
}

/* ---- room in the set */

/* The first new ones in the order in which they were given are taken. */
static void surplus_refuse(struct member_batch *batch, size_t count, uint64_t room,
			   uint64_t fresh[2])
{
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
}

/* If a member is refused, it is so each time that it was given. */
static void repeats_refuse(struct member_batch *batch, bool ipv6)
{
	const struct member_place *places = order_places(&batch->order, ipv6);

	for (size_t i = 1; i < batch->order.count[ipv6]; i++)
		if (place_repeats(batch, places, i))
			batch->entries[places[i].index].became =
				batch->entries[places[i - 1].index].became == MEMBER_REFUSED
					? MEMBER_REFUSED
					: MEMBER_EXTENDED;
}

static int room_make(struct member_batch *batch, size_t count, uint64_t fresh[2])
{
	const struct rl_set *set = &batch->table->sets[batch->set];
	uint64_t wanted = fresh[0] + fresh[1], held;
	int ret =
		sweep_for_room(batch->table, batch->set, wanted < set->max ? set->max - wanted : 0);

	if (ret)
		return ret;
	held = (uint64_t)set->members[0] + set->members[1];
	if (held + wanted <= set->max)
		return 0;
	surplus_refuse(batch, count, held < set->max ? set->max - held : 0, fresh);
	repeats_refuse(batch, false);
	repeats_refuse(batch, true);
	return 0;
}

/* ---- adding */

static int table_prepare(struct member_batch *batch, size_t count)
{
	uint64_t fresh[2] = {0};
	int ret = family_look(batch, false, &fresh[0]);

	if (!ret)
		ret = family_look(batch, true, &fresh[1]);
	if (!ret)
		ret = room_make(batch, count, fresh);
	for (int ipv6 = 0; !ret && ipv6 < 2; ipv6++)
		ret = table_grow(batch->table, ipv6,
				 members_held(batch->table, ipv6) + fresh[ipv6]);
	return ret;
}

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
				     .entries = entries,
				     .result = result};
	int ret;

	batch.former = batch.epoch;
	ret = member_order_make(table, entries, sizeof(*entries), count, &batch.order);
	if (!ret)
		ret = table_prepare(&batch, count);
	if (!ret) {
		ret = batch_write(&batch);
	} else {
		for (size_t i = 0; i < count; i++)
			entries[i].became = MEMBER_REFUSED;
		result->refused += count;
		table->sets[set].refused += count;
	}
	member_order_clear(&batch.order);
	if (!ret)
		some_sweep(table, count);
	return ret;
}

/* ---- deleting */

static int page_delete(struct member_table *table, uint32_t set, const struct member *members,
		       bool ipv6, const struct member_place *places, size_t count,
		       struct member_result *result)
{
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

static int family_delete(struct member_table *table, uint32_t set, const struct member *members,
			 bool ipv6, const struct member_order *order, struct member_result *result)
{
	const struct member_place *places = order_places(order, ipv6);
	size_t count = order->count[ipv6];
	int ret = 0;

	if (!pages_count(table, ipv6)) {
		result->missing += count;
		return 0;
	}
	for (size_t first = 0, end; !ret && first < count; first = end) {
		end = batch_page_end(table, ipv6, places, first, count);
		ret = page_delete(table, set, members, ipv6, places + first, end - first, result);
	}
	return ret;
}

int member_table_delete(struct member_table *table, uint32_t set, const struct member *members,
			size_t count, struct member_result *result)
{
	struct member_order order;
	int ret = member_order_make(table, members, sizeof(*members), count, &order);

	if (!ret)
		ret = family_delete(table, set, members, false, &order, result);
	if (!ret)
		ret = family_delete(table, set, members, true, &order, result);
	for (int ipv6 = 0; !ret && ipv6 < 2; ipv6++)
		table_shrink(table, ipv6, 1 + count); /* an error leaves pages that are too many */
	member_order_clear(&order);
	if (!ret)
		some_sweep(table, count);
	return ret;
}
