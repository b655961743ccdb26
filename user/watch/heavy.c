// SPDX-License-Identifier: GPL-2.0-only
#include "heavy.h"

#include <string.h>

/* The place of the value, else a free one, else that with the least weight. */
static struct heavy_place *place_of(struct heavy *heavy, const uint8_t value[HEAVY_VALUE])
{
	struct heavy_place *least = &heavy->places[0];

	for (size_t i = 0; i < HEAVY_PLACES; i++) {
		struct heavy_place *place = &heavy->places[i];

		if (place->weight && !memcmp(place->value, value, HEAVY_VALUE))
			return place;
		if (place->weight < least->weight)
			least = place;
	}
	least->unsure = least->weight;
	least->samples = 0;
	memcpy(least->value, value, HEAVY_VALUE);
	return least;
}

void heavy_add(struct heavy *heavy, const void *value, size_t size, uint64_t weight)
{
	uint8_t padded[HEAVY_VALUE] = {0};
	struct heavy_place *place;

	memcpy(padded, value, size < HEAVY_VALUE ? size : HEAVY_VALUE);
	place = place_of(heavy, padded);
	place->weight += weight;
	place->samples++;
	heavy->total += weight;
}

static uint64_t sure_of(const struct heavy_place *place)
{
	return place->weight - place->unsure;
}

static int is_told(const struct heavy_place *place, uint64_t all, double least)
{
	double share = (double)sure_of(place) / (double)all;

	return place->weight && share >= least && (place->samples > 1 || share >= 0.5);
}

size_t heavy_list(const struct heavy *heavy, uint64_t all, double least, struct heavy_part *out,
		  size_t max)
{
	uint64_t taken = 0; /* bits */
	size_t count = 0;

	for (; all && count < max; count++) {
		const struct heavy_place *best = NULL;

		for (size_t i = 0; i < HEAVY_PLACES; i++) {
			const struct heavy_place *place = &heavy->places[i];

			if (!(taken & 1ull << i) && is_told(place, all, least) &&
			    (!best || sure_of(place) > sure_of(best)))
				best = place;
		}
		if (!best)
			break;
		taken |= 1ull << (best - heavy->places);
		memcpy(out[count].value, best->value, HEAVY_VALUE);
		out[count].share = (double)sure_of(best) / (double)all;
	}
	return count;
}
