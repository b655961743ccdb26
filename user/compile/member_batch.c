// SPDX-License-Identifier: GPL-2.0-only
/* Writes members of one set, each page once. */

#include "compile/member_parts.h"

#include <errno.h>
#include <string.h>

#include "algorithm/member_hash.h"

uint32_t set_epoch(const struct member_table *table, uint32_t set)
{
	return table->layout->epochs >> set & 1 ? RL_MEMBER_EPOCH : 0;
}

size_t batch_page_end(const struct member_table *table, bool ipv6,
		      const struct member_place *places, size_t first, size_t count)
{
	uint32_t page = page_of(table, ipv6, place_hash(&places[first]));
	size_t end = first + 1;

	while (end < count && page_of(table, ipv6, place_hash(&places[end])) == page)
		end++;
	return end;
}

bool place_repeats(const struct member_batch *batch, const struct member_place *places, size_t i)
{
	const struct member *a, *b;

	if (!i || places[i].key != places[i - 1].key)
		return false;
	a = &batch->entries[places[i].index].member;
	b = &batch->entries[places[i - 1].index].member;
	return a->len == b->len && !memcmp(a->addr, b->addr, sizeof(a->addr));
}

bool expires_later(uint32_t a, uint32_t b)
{
	if (!a || !b)
		return b; /* never is later than any time */
	return (int32_t)(a - b) > 0;
}

/* ---- one entry */

struct written {
	struct member_slot slot;
	uint64_t hash;
	struct member_entry *entry;
};

/* The member as it is there already, with its present time. */
static void entry_meet(struct member_page *page, const struct written *written, int place)
{
	struct member_slot held;

	slot_read(&page->lines, page->ipv6, place, &held);
	if (!expires_later(written->slot.expires, held.expires)) {
		written->entry->became = MEMBER_PRESENT;
		return;
	}
	written->entry->became = MEMBER_EXTENDED;
	page_expires_set(page, place, written->slot.expires);
}

/* In a swap: its meaning for those who knew the former members. */
static void entry_compare(const struct member_batch *batch, const struct member_page *page,
			  const struct written *written)
{
	struct member_slot former = written->slot;
	int place;

	former.meta ^= RL_MEMBER_EPOCH;
	written->entry->became = MEMBER_ADDED;
	if (batch->former == batch->epoch)
		return;
	place = slot_find(&page->lines, page->ipv6, written->hash, &former);
	if (place < 0)
		return;
	slot_read(&page->lines, page->ipv6, place, &former);
	written->entry->became = expires_later(written->slot.expires, former.expires)
					 ? MEMBER_EXTENDED
					 : MEMBER_PRESENT;
}

/* False: the page has no room for it. */
static bool entry_put(struct member_batch *batch, struct member_page *page,
		      const struct member_place *at)
{
	struct rl_member_layout *layout = batch->table->layout;
	struct member_entry *entry = &batch->entries[at->index];
	struct written written = {.entry = entry, .hash = place_hash(at)};
	int place;

	slot_of_member(&entry->member, batch->set, batch->epoch, entry->expires, &written.slot);
	place = slot_find(&page->lines, page->ipv6, written.hash, &written.slot);
	if (place >= 0) {
		entry_meet(page, &written, place);
	} else {
		if (page_put(page, written.hash, &written.slot) < 0)
			return false;
		entry_compare(batch, page, &written);
		if (batch->former == batch->epoch)
			page->members[batch->set]++;
	}
	if (entry->became != MEMBER_PRESENT || batch->former != batch->epoch) {
		guide_add(layout, batch->table->seed, page->ipv6, &written.slot);
		expiry_note(layout, written.slot.expires);
	}
	return true;
}

/* ---- the entries of a page */

static void places_count(struct member_batch *batch, const struct member_place *places,
			 size_t count)
{
	struct member_result sum = {0};
	struct rl_set *set = &batch->table->sets[batch->set];

	for (size_t i = 0; i < count; i++) {
		uint8_t became = batch->entries[places[i].index].became;

		sum.added += became == MEMBER_ADDED;
		sum.extended += became == MEMBER_EXTENDED;
		sum.present += became == MEMBER_PRESENT;
		sum.refused += became == MEMBER_REFUSED;
	}
	batch->result->added += sum.added;
	batch->result->extended += sum.extended;
	batch->result->present += sum.present;
	batch->result->refused += sum.refused;
	set->refused += sum.refused;
	if (batch->former != batch->epoch)
		return; /* a swap counts when it has happened */
	set->added += sum.added;
	set->extended += sum.extended;
}

static void places_refuse(struct member_batch *batch, const struct member_place *places,
			  size_t count)
{
	for (size_t i = 0; i < count; i++)
		batch->entries[places[i].index].became = MEMBER_REFUSED;
}

/* Is there nothing to be written? `became` says what is known before. */
static bool all_present(const struct member_batch *batch, const struct member_place *places,
			size_t count)
{
	size_t i = 0;

	while (i < count && batch->entries[places[i].index].became == MEMBER_PRESENT)
		i++;
	return i == count;
}

/* Puts as many as fit into the page, and stores it; *end is the first that does not. */
static int page_fill(struct member_batch *batch, bool ipv6, const struct member_place *places,
		     size_t count, size_t *end)
{
	uint32_t number = page_of(batch->table, ipv6, place_hash(places));
	struct member_page page;
	size_t i = 0;
	int ret;

	if (all_present(batch, places, count)) {
		places_count(batch, places, count);
		*end = count;
		return 0;
	}
	ret = page_load(batch->table, ipv6, number, &page);
	if (ret)
		return ret;
	for (; i < count; i++) {
		const struct member_entry *entry = &batch->entries[places[i].index];

		if (entry->became != MEMBER_REFUSED && !entry_put(batch, &page, &places[i]))
			break;
	}
	ret = page_store(batch->table, &page);
	if (!ret)
		places_count(batch, places, i);
	*end = i;
	return ret;
}

/* The page in which there was no room is split, when its turn comes. Only members that are one
 * address in too many sets stand together even then. */
static int room_split(struct member_batch *batch, bool ipv6, struct member_place *place)
{
	struct member_table *table = batch->table;
	uint64_t held = members_held(table, ipv6) + batch->order.count[ipv6];

	if (pages_count(table, ipv6) < 4 * pages_needed(ipv6, held) + 64)
		return table_split(table, ipv6);
	if (batch->former != batch->epoch)
		return -E2BIG; /* a swap takes all or none */
	batch->entries[place->index].became = MEMBER_REFUSED;
	return 0;
}

static int family_write(struct member_batch *batch, bool ipv6)
{
	struct member_place *places = order_places(&batch->order, ipv6);
	size_t count = batch->order.count[ipv6], first = 0;
	int ret = 0;

	while (!ret && first < count) {
		size_t end = batch_page_end(batch->table, ipv6, places, first, count), done = 0;

		ret = page_fill(batch, ipv6, places + first, end - first, &done);
		if (ret)
			break;
		first += done;
		if (first < end)
			ret = room_split(batch, ipv6, &places[first]);
	}
	if (ret) {
		places_refuse(batch, places + first, count - first);
		places_count(batch, places + first, count - first);
	}
	return ret;
}

int batch_write(struct member_batch *batch)
{
	int ret = family_write(batch, false);

	if (!ret)
		return family_write(batch, true);
	places_refuse(batch, order_places(&batch->order, true), batch->order.count[1]);
	places_count(batch, order_places(&batch->order, true), batch->order.count[1]);
	return ret;
}
