// SPDX-License-Identifier: GPL-2.0-only
/* A page of a table of linear hashing holds what agrees in the last bits of the hash. In the order
 * of the reversed hashes these stand side by side, and still do when pages are split.
 */

#include "compile/member_parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define DIGIT_BITS  11
#define DIGITS      (1 << DIGIT_BITS)
#define RADIX_LEAST 4096 /* members from which on it pays */

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
		out->places[next[ipv6]++] = (struct member_place){
			.key = bits_reverse(slot_hash(table, ipv6, &slot)), .index = i};
	}
	ret = places_sort(out->places, out->count[0]);
	if (!ret)
		ret = places_sort(out->places + out->count[0], out->count[1]);
	if (ret)
		member_order_clear(out);
	return ret;
}

void member_order_clear(struct member_order *order)
{
	free(order->places);
	*order = (struct member_order){0};
}
