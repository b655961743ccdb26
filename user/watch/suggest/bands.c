// SPDX-License-Identifier: GPL-2.0-only
#include "watch/suggest/suggest.h"

#include <string.h>

#define PART_LEAST  0.2
#define QUIET_LEAST (1.0 / SHARES_PLACES) /* of a pattern that is surely among the kept ones */

static void shares_merge(struct shares *to, const struct shares *from)
{
	for (size_t i = 0; i < SHARES_PLACES; i++) {
		const struct shares_place *place = &from->places[i];

		if (place->weight > place->unsure)
			shares_add(to, place->value, SHARES_VALUE, place->weight - place->unsure);
	}
}

static void band_merge(struct pattern_band *to, const struct pattern_band *from)
{
	shares_merge(&to->patterns.all, &from->patterns.all);
	shares_merge(&to->patterns.networks, &from->patterns.networks);
	to->packets += from->packets;
}

static void second_settle(struct pattern_bands *bands)
{
	unsigned int band = 0;

	while (band + 1 < PATTERN_BANDS && bands->now.packets >> (band + 1))
		band++;
	band_merge(&bands->bands[band], &bands->now);
	memset(&bands->now, 0, sizeof(bands->now));
}

void pattern_bands_add(struct pattern_bands *bands, uint64_t second, const struct pattern *pattern,
		       uint64_t weight)
{
	if (second > bands->second) {
		second_settle(bands);
		bands->second = second;
	}
	bands->now.packets += weight;
	patterns_add(&bands->now.patterns, pattern, weight);
}

struct pattern_busy pattern_bands_find(struct pattern_bands *bands, uint64_t border)
{
	struct pattern_band busy = {0}, quiet = {0};
	struct pattern_busy out = {0};

	second_settle(bands);
	for (unsigned int i = 0; border && i < PATTERN_BANDS; i++) {
		if (1ull << i > border)
			band_merge(&busy, &bands->bands[i]);
		else if (2ull << i <= border)
			band_merge(&quiet, &bands->bands[i]);
	}
	if (!quiet.packets ||
	    !patterns_list(&busy.patterns, busy.packets, PART_LEAST, &out.part, 1))
		return (struct pattern_busy){0};
	out.quiet = patterns_share(&quiet.patterns, quiet.packets, &out.part.pattern);
	out.is_usual = out.quiet >= QUIET_LEAST;
	return out;
}
