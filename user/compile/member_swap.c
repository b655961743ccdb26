// SPDX-License-Identifier: GPL-2.0-only
/* Replaces all members of a set at once. Members are written with an epoch, a bit; the set has
 * those with the epoch that the layout names, so one word that changes is the moment. Those of the
 * former epoch are removed afterwards, and must be before the next such moment.
 */

#include <errno.h>
#include <string.h>

#include "compile/member_parts.h"

static void stale_tell(struct member_table *table)
{
	__atomic_store_n(&table->layout->stale, 1, __ATOMIC_SEQ_CST);
}

/* `changes` voids what others have cached, even if no page is written afterwards. */
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
	counts->deleted += (uint64_t)counts->members[0] + counts->members[1];
	counts->members[0] = counts->members[1] = 0;
	sweep_stale(table); /* if it fails, the next change of this kind does it */
	return 0;
}

/* ---- swap */

/* Each member once, with the latest time that was given for it. */
static size_t family_unite(struct member_batch *batch, bool ipv6)
{
	struct member_place *places = order_places(&batch->order, ipv6);
	struct member_entry *entries = batch->entries;
	size_t kept = 0;

	for (size_t i = 0; i < batch->order.count[ipv6]; i++) {
		if (place_repeats(batch, places, i)) {
			struct member_entry *first = &entries[places[kept - 1].index];
			struct member_entry *again = &entries[places[i].index];

			if (expires_later(again->expires, first->expires))
				first->expires = again->expires;
			again->became = MEMBER_PRESENT;
			continue;
		}
		entries[places[i].index].became = MEMBER_ADDED;
		places[kept++] = places[i];
	}
	return kept;
}

static void entries_unite(struct member_batch *batch)
{
	struct member_place *former6 = order_places(&batch->order, true);
	size_t count4 = family_unite(batch, false), count6 = family_unite(batch, true);

	batch->order.count[0] = count4;
	batch->order.count[1] = count6;
	memmove(order_places(&batch->order, true), former6, count6 * sizeof(*former6));
}

/* The moment, and what it means for the counts. */
static void incoming_settle(struct member_batch *batch)
{
	struct rl_set *set = &batch->table->sets[batch->set];
	struct member_result *result = batch->result;
	uint64_t held = (uint64_t)set->members[0] + set->members[1];
	uint64_t stay = result->extended + result->present;

	epoch_flip(batch->table, batch->set);
	result->deleted = held > stay ? held - stay : 0;
	set->members[0] = batch->order.count[0];
	set->members[1] = batch->order.count[1];
	set->added += result->added;
	set->extended += result->extended;
	set->deleted += result->deleted;
}

/* Whether it has happened or not, the members of the other epoch go. */
static int batch_swap(struct member_batch *batch)
{
	struct member_table *table = batch->table;
	int ret = 0;

	stale_tell(table);
	table->incoming = 1ull << batch->set;
	for (int ipv6 = 0; !ret && ipv6 < 2; ipv6++)
		ret = table_grow(table, ipv6, members_held(table, ipv6) + batch->order.count[ipv6]);
	if (!ret)
		ret = batch_write(batch);
	if (!ret)
		incoming_settle(batch);
	table->incoming = 0;
	sweep_stale(table); /* if it fails, the next change of this kind does it */
	return ret;
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
	int ret = sweep_stale(table);

	if (!ret)
		ret = member_order_make(table, entries, sizeof(*entries), count, &batch.order);
	if (ret)
		return ret;
	entries_unite(&batch);
	if (batch.order.count[0] + batch.order.count[1] > table->sets[set].max)
		ret = -ENOSPC;
	else
		ret = batch_swap(&batch);
	member_order_clear(&batch.order);
	if (!ret)
		*result = sum;
	return ret;
}
