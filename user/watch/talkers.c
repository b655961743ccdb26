// SPDX-License-Identifier: GPL-2.0-only
/* An array of sources and a hash over it, made anew with each slice. */

#include "talkers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "units.h"

#define INDEX_LEAST 1024u

static uint32_t address_hash(const uint8_t addr[16])
{
	uint32_t hash = 2166136261u; /* FNV-1a */

	for (int i = 0; i < 16; i++)
		hash = (hash ^ addr[i]) * 16777619u;
	return hash;
}

/* The place of the address in the index: where it is, or where it would be. */
static uint32_t *index_find(const struct talkers *talkers, const uint8_t addr[16])
{
	size_t at = address_hash(addr) & (talkers->index_size - 1);

	while (talkers->index[at] &&
	       memcmp(talkers->items[talkers->index[at] - 1].addr, addr, 16) != 0)
		at = (at + 1) & (talkers->index_size - 1);
	return &talkers->index[at];
}

static void index_fill(struct talkers *talkers)
{
	memset(talkers->index, 0, talkers->index_size * sizeof(*talkers->index));
	for (size_t i = 0; i < talkers->count; i++)
		*index_find(talkers, talkers->items[i].addr) = (uint32_t)i + 1;
}

/* Room for twice as many, with an index twice as large as that. */
static int grow(struct talkers *talkers)
{
	size_t capacity = talkers->capacity ? 2 * talkers->capacity : INDEX_LEAST / 2;
	struct talker *items = reallocarray(talkers->items, capacity, sizeof(*items));
	uint32_t *index;

	if (!items)
		return -ENOMEM;
	talkers->items = items;
	index = reallocarray(talkers->index, 2 * capacity, sizeof(*index));
	if (!index)
		return -ENOMEM;
	talkers->index = index;
	talkers->index_size = 2 * capacity;
	talkers->capacity = capacity;
	index_fill(talkers);
	return 0;
}

static struct talker *talker_new(struct talkers *talkers, const uint8_t addr[16])
{
	struct talker *talker;

	if (talkers->count == talkers->capacity && grow(talkers))
		return NULL;
	talker = &talkers->items[talkers->count++];
	memset(talker, 0, sizeof(*talker));
	memcpy(talker->addr, addr, sizeof(talker->addr));
	*index_find(talkers, addr) = (uint32_t)talkers->count;
	return talker;
}

static struct talker *talker_of(struct talkers *talkers, const uint8_t source[16])
{
	uint8_t addr[16];
	uint32_t at;

	prefix_mask(addr, source, key_bits(source, 32, 64));
	at = talkers->index_size ? *index_find(talkers, addr) : 0;
	return at ? &talkers->items[at - 1] : talker_new(talkers, addr);
}

static void amount_add(struct rl_amount *amount, uint64_t packets, uint64_t bytes)
{
	amount->packets += packets;
	amount->bytes += bytes;
}

int talkers_add(struct talkers *talkers, const struct rl_sample *sample, bool has_addresses,
		bool passed)
{
	uint64_t packets = sample->stands_for, bytes = packets * sample->bytes;
	struct talker *talker;

	amount_add(&talkers->all[talkers->slice][passed], packets, bytes);
	if (!has_addresses)
		return 0;
	talker = talker_of(talkers, sample->src);
	if (!talker)
		return -ENOMEM;
	amount_add(&talker->slices[talkers->slice][passed], packets, bytes);
	if (!passed || !talker_sum(talker, TALKER_DROPPED).packets)
		talker->last = *sample;
	return 0;
}

struct rl_amount talker_sum(const struct talker *talker, enum talker_verdict verdict)
{
	struct rl_amount sum = {0};

	for (int i = 0; i < TALKER_SLICES; i++)
		amount_add(&sum, talker->slices[i][verdict].packets,
			   talker->slices[i][verdict].bytes);
	return sum;
}

struct rl_amount talkers_sum(const struct talkers *talkers, enum talker_verdict verdict)
{
	struct rl_amount sum = {0};

	for (int i = 0; i < TALKER_SLICES; i++)
		amount_add(&sum, talkers->all[i][verdict].packets, talkers->all[i][verdict].bytes);
	return sum;
}

void talkers_turn(struct talkers *talkers)
{
	size_t kept = 0;

	talkers->slice = (talkers->slice + 1) % TALKER_SLICES;
	memset(talkers->all[talkers->slice], 0, sizeof(talkers->all[0]));
	for (size_t i = 0; i < talkers->count; i++) {
		struct talker *talker = &talkers->items[i];

		memset(talker->slices[talkers->slice], 0, sizeof(talker->slices[0]));
		if (talker_sum(talker, TALKER_DROPPED).packets ||
		    talker_sum(talker, TALKER_PASSED).packets)
			talkers->items[kept++] = *talker;
	}
	talkers->count = kept;
	if (talkers->index)
		index_fill(talkers);
}

void talkers_clear(struct talkers *talkers)
{
	free(talkers->items);
	free(talkers->index);
	memset(talkers, 0, sizeof(*talkers));
}
