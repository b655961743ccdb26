// SPDX-License-Identifier: GPL-2.0-only
#include "watch/traffic/shares.h"

#include <string.h>

/* The place of the value, else a free one, else that with the least weight. */
static struct shares_place *place_of(struct shares *shares, const uint8_t value[SHARES_VALUE])
{
	struct shares_place *least = &shares->places[0];

	for (size_t i = 0; i < SHARES_PLACES; i++) {
		struct shares_place *place = &shares->places[i];

		if (place->weight && !memcmp(place->value, value, SHARES_VALUE))
			return place;
		if (place->weight < least->weight)
			least = place;
	}
	least->unsure = least->weight;
	least->samples = 0;
	memcpy(least->value, value, SHARES_VALUE);
	return least;
}

void shares_add(struct shares *shares, const void *value, size_t size, uint64_t weight)
{
	uint8_t padded[SHARES_VALUE] = {0};
	struct shares_place *place;

	memcpy(padded, value, size < SHARES_VALUE ? size : SHARES_VALUE);
	place = place_of(shares, padded);
	place->weight += weight;
	place->samples++;
	shares->total += weight;
}

static uint64_t sure_of(const struct shares_place *place)
{
	return place->weight - place->unsure;
}

static int is_told(const struct shares_place *place, uint64_t all, double least)
{
	double share = (double)sure_of(place) / (double)all;

	return place->weight && share >= least && (place->samples > 1 || share >= 0.5);
}

size_t shares_list(const struct shares *shares, uint64_t all, double least, struct shares_part *out,
		   size_t max)
{
	uint64_t taken = 0; /* bits */
	size_t count = 0;

	for (; all && count < max; count++) {
		const struct shares_place *best = NULL;

		for (size_t i = 0; i < SHARES_PLACES; i++) {
			const struct shares_place *place = &shares->places[i];

			if (!(taken & 1ull << i) && is_told(place, all, least) &&
			    (!best || sure_of(place) > sure_of(best)))
				best = place;
		}
		if (!best)
			break;
		taken |= 1ull << (best - shares->places);
		memcpy(out[count].value, best->value, SHARES_VALUE);
		out[count].share = (double)sure_of(best) / (double)all;
	}
	return count;
}
