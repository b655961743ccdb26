// SPDX-License-Identifier: GPL-2.0-only
/* Writes members of one set, each page once. A page of a table of linear hashing holds what agrees
 * in the last bits of the hash: in the order of the reversed hashes these stand side by side, and
 * still do when pages are split.
 */
#include "compile/member_parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define DIGIT_BITS  11
#define DIGITS      (1 << DIGIT_BITS)
#define RADIX_LEAST 4096 /* members from which on it pays */

/* ---- the order */

static uint64_t bits_reverse(uint64_t word)
{
	word = (word >> 1 & 0x5555555555555555ull) | (word & 0x5555555555555555ull) << 1;
	word = (word >> 2 & 0x3333333333333333ull) | (word & 0x3333333333333333ull) << 2;
	word = (word >> 4 & 0x0f0f0f0f0f0f0f0full) | (word & 0x0f0f0f0f0f0f0f0full) << 4;
	return __builtin_bswap64(word);
}

uint64_t place_hash(const struct member_place *place)
{
	return bits_reverse(place->key);
}

static int place_compare(const void *a, const void *b)
{
	const struct member_place *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return x->index < y->index ? -1 : x->index > y->index;
}

/* Stable. */
static void digit_sort(const struct member_place *from, struct member_place *to, size_t count,
		       int shift)
{
	uint32_t start[DIGITS] = {0}, sum = 0;

	for (size_t i = 0; i < count; i++)
		start[from[i].key >> shift & (DIGITS - 1)]++;
	for (int i = 0; i < DIGITS; i++) {
		uint32_t some = start[i];

		start[i] = sum;
		sum += some;
	}
	for (size_t i = 0; i < count; i++)
		to[start[from[i].key >> shift & (DIGITS - 1)]++] = from[i];
}

/* They come by index, and stay so where the keys are the same. */
static int places_sort(struct member_place *places, size_t count)
{
	struct member_place *other, *from = places, *to, *next;

	if (count < RADIX_LEAST) {
		qsort(places, count, sizeof(*places), place_compare);
		return 0;
	}
	other = malloc(count * sizeof(*other));
	if (!other)
		return -ENOMEM;
	to = other;
	for (int shift = 0; shift < 64; shift += DIGIT_BITS) {
		digit_sort(from, to, count, shift);
		next = from;
		from = to;
		to = next;
	}
	if (from != places)
		memcpy(places, from, count * sizeof(*places));
	free(other);
	return 0;
}

static const struct member *member_at(const void *members, size_t stride, size_t index)
{
	return (const void *)((const char *)members + index * stride);
}

int member_order_make(const struct member_table *table, const void *members, size_t stride,
		      size_t count, struct member_order *out)
{
	size_t next[2] = {0};
	int ret;

	*out = (struct member_order){.places = calloc(count + 1, sizeof(*out->places))};
	if (!out->places)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		out->count[!member_is_ipv4(member_at(members, stride, i))]++;
	next[1] = out->count[0];
	for (size_t i = 0; i < count; i++) {
		const struct member *member = member_at(members, stride, i);
		bool ipv6 = !member_is_ipv4(member);
		struct member_slot slot;

		slot_of_member(member, 0, 0, 0, &slot);
		out->places[next[ipv6]++] =
			(struct member_place){.key = bits_reverse(slot_hash(table, ipv6, &slot)),
					      .index = i,
					      .ipv6 = ipv6};
	}
	ret = places_sort(out->places, out->count[0])
		      ?: places_sort(out->places + out->count[0], out->count[1]);
	if (ret) {
		free(out->places);
		out->places = NULL;
	}
	return ret;
}

size_t places_of_page(const struct member_table *table, const struct member_place *places,
		      size_t count)
{
	bool ipv6 = places[0].ipv6;
	uint32_t page = page_of(table, ipv6, place_hash(places));
	size_t end = 1;

	while (end < count && places[end].ipv6 == ipv6 &&
	       page_of(table, ipv6, place_hash(&places[end])) == page)
		end++;
	return end;
}

bool place_repeats(const struct member_batch *batch, size_t place)
{
	const struct member_place *at = &batch->order.places[place];
	const struct member *a, *b;

	if (!place || at->key != at[-1].key)
		return false;
	a = &batch->entries[at->index].member;
	b = &batch->entries[at[-1].index].member;
	return a->len == b->len && !memcmp(a->addr, b->addr, sizeof(a->addr));
}

/* ---- one entry */

uint32_t set_epoch(const struct member_table *table, uint32_t set)
{
	return table->layout->epochs >> set & 1 ? RL_MEMBER_EPOCH : 0;
}

bool expires_later(uint32_t a, uint32_t b)
{
	if (!a || !b)
		return b; /* never is later than any time */
	return (int32_t)(a - b) > 0;
}

/* False: the page has no room for it. */
static bool entry_put(struct member_batch *batch, struct member_page *page,
		      const struct member_place *at)
{
	struct rl_member_layout *layout = batch->table->layout;
	struct member_entry *entry = &batch->entries[at->index];
	bool swaps = batch->former != batch->epoch;
	uint64_t hash = place_hash(at);
	struct member_slot slot, held;
	int there, former;

	slot_of_member(&entry->member, batch->set, batch->epoch, entry->expires, &slot);
	there = former = slot_find(&page->lines, page->ipv6, hash, &slot);
	if (there < 0 && !page_put(page, hash, &slot))
		return false;
	if (there < 0 && !swaps)
		page->members[batch->set]++;
	if (there < 0 && swaps) { /* its meaning for those who knew the former members */
		held = slot;
		held.meta ^= RL_MEMBER_EPOCH;
		former = slot_find(&page->lines, page->ipv6, hash, &held);
	}
	entry->became = MEMBER_ADDED;
	if (former >= 0) {
		slot_read(&page->lines, page->ipv6, former, &held);
		entry->became = expires_later(slot.expires, held.expires) ? MEMBER_EXTENDED
									  : MEMBER_PRESENT;
	}
	if (there >= 0 && entry->became == MEMBER_EXTENDED)
		slot_write(page, there, &slot);
	if (entry->became != MEMBER_PRESENT || swaps) {
		guide_add(layout, batch->table->seed, page->ipv6, &slot);
		expiry_note(layout, slot.expires);
	}
	return true;
}

/* ---- the entries of a page */

static void places_count(struct member_batch *batch, const struct member_place *places,
			 size_t count)
{
	struct rl_set *set = &batch->table->sets[batch->set];
	size_t sum[MEMBER_REFUSED + 1] = {0};

	for (size_t i = 0; i < count; i++)
		sum[batch->entries[places[i].index].became]++;
	batch->result->added += sum[MEMBER_ADDED];
	batch->result->extended += sum[MEMBER_EXTENDED];
	batch->result->present += sum[MEMBER_PRESENT];
	batch->result->refused += sum[MEMBER_REFUSED];
	set->refused += sum[MEMBER_REFUSED];
	if (batch->former != batch->epoch)
		return; /* a swap counts when it has happened */
	set->added += sum[MEMBER_ADDED];
	set->extended += sum[MEMBER_EXTENDED];
}

/* Puts as many as fit into the page, and stores it; *end is the first that does not. Where all are
 * there, as `became` says, nothing is to be written. */
static int page_fill(struct member_batch *batch, const struct member_place *places, size_t count,
		     size_t *end)
{
	uint32_t number = page_of(batch->table, places->ipv6, place_hash(places));
	struct member_page page;
	size_t i = 0;
	int ret = 0;

	while (i < count && batch->entries[places[i].index].became == MEMBER_PRESENT)
		i++;
	if (i < count) {
		ret = page_load(batch->table, places->ipv6, number, &page);
		if (ret)
			return ret;
		for (i = 0; i < count; i++) {
			const struct member_entry *entry = &batch->entries[places[i].index];

			if (entry->became != MEMBER_REFUSED && !entry_put(batch, &page, &places[i]))
				break;
		}
		ret = page_store(batch->table, &page);
	}
	if (!ret)
		places_count(batch, places, i);
	*end = i;
	return ret;
}

/* The page in which there was no room is split, when its turn comes. Only members that are one
 * address in too many sets stand together even then. */
static int room_split(struct member_batch *batch, const struct member_place *place)
{
	struct member_table *table = batch->table;
	bool ipv6 = place->ipv6;
	uint64_t held = members_held(table, ipv6) + batch->order.count[ipv6];

	if (pages_count(table, ipv6) < 4 * pages_needed(ipv6, held) + 64)
		return table_split(table, ipv6);
	if (batch->former != batch->epoch)
		return -E2BIG; /* a swap takes all or none */
	batch->entries[place->index].became = MEMBER_REFUSED;
	return 0;
}

int batch_write(struct member_batch *batch)
{
	const struct member_place *places = batch->order.places;
	size_t left = batch->order.count[0] + batch->order.count[1];
	int ret = 0;

	while (!ret && left) {
		size_t count = places_of_page(batch->table, places, left), done = 0;

		ret = page_fill(batch, places, count, &done);
		if (ret)
			break;
		places += done;
		left -= done;
		if (done < count)
			ret = room_split(batch, places);
	}
	for (size_t i = 0; ret && i < left; i++)
		batch->entries[places[i].index].became = MEMBER_REFUSED;
	if (ret)
		places_count(batch, places, left);
	return ret;
}
