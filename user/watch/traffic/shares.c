// SPDX-License-Identifier: GPL-2.0-only
#include "watch/traffic/shares.h"

#include <string.h>

void shares_add(struct shares *shares, const void *value, size_t size, uint64_t weight)
{
	struct shares_place *place = &shares->places[0];
	uint8_t padded[SHARES_VALUE] = {0};

	memcpy(padded, value, size < SHARES_VALUE ? size : SHARES_VALUE);
	shares->total += weight;
	/* The place of the value, else a free one, else that with the least weight. */
	for (size_t i = 0; i < SHARES_PLACES; i++) {
		struct shares_place *at = &shares->places[i];

		if (at->weight && !memcmp(at->value, padded, SHARES_VALUE)) {
			at->weight += weight;
			at->samples++;
			return;
		}
		if (at->weight < place->weight)
			place = at;
	}
	place->unsure = place->weight;
	place->weight += weight;
	place->samples = 1;
	memcpy(place->value, padded, SHARES_VALUE);
}

static uint64_t sure_of(const struct shares_place *place)
{
	return place->weight - place->unsure;
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
			double share = (double)sure_of(place) / (double)all;

			if (!(taken & 1ull << i) && place->weight && share >= least &&
			    (place->samples > 1 || share >= 0.5) &&
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
