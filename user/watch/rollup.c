// SPDX-License-Identifier: GPL-2.0-only
#include "watch/rollup.h"

#include <stdlib.h>
#include <string.h>

#include "base/units.h"

#define BITS 128

static int item_compare(const void *a, const void *b)
{
	const struct rollup_item *x = a, *y = b;

	return memcmp(x->addr, y->addr, sizeof(x->addr));
}

/* Each item has the sum up to itself. */
static uint64_t weight_before(const struct rollup_item *items, size_t i)
{
	return i ? items[i - 1].weight : 0;
}

/* The first of these items, which have the same bits before it, that has the bit. */
static size_t bit_first(const struct rollup_item *items, size_t first, size_t end, unsigned int bit)
{
	while (first < end) {
		size_t middle = first + (end - first) / 2;

		if (items[middle].addr[bit / 8] & 0x80 >> bit % 8)
			end = middle;
		else
			first = middle + 1;
	}
	return first;
}

struct rollup rollup_make(struct rollup_item *items, size_t count)
{
	uint64_t weight[BITS + 1] = {0};
	size_t first = 0, end = count;
	struct rollup out = {0};

	if (!count)
		return out;
	qsort(items, count, sizeof(*items), item_compare);
	for (size_t i = 1; i < count; i++)
		items[i].weight += items[i - 1].weight;
	weight[0] = items[count - 1].weight;
	for (; out.len < BITS; out.len++) {
		size_t middle = bit_first(items, first, end, out.len);
		uint64_t low = weight_before(items, middle) - weight_before(items, first);
		uint64_t high = weight[out.len] - low, most = low >= high ? low : high;

		if (2 * most < weight[0])
			break;
		*(low >= high ? &end : &first) = middle;
		weight[out.len + 1] = most;
	}
	while (out.len && 2 * weight[out.len - 1] >= 3 * weight[out.len])
		out.len--;
	prefix_mask(out.addr, items[first].addr, out.len);
	return out;
}
