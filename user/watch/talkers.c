// SPDX-License-Identifier: GPL-2.0-only
/* Sources by their address. */

#include "talkers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "units.h"

static struct talker *talker_new(struct talkers *talkers, const uint8_t addr[16])
{
	struct talker *talker = calloc(1, sizeof(*talker));

	if (!talker)
		return NULL;
	memcpy(talker->addr, addr, sizeof(talker->addr));
	HASH_ADD(hh, talkers->list, addr, sizeof(talker->addr), talker);
	if (talker->hh.tbl)
		return talker;
	free(talker);
	return NULL;
}

static void talker_remove(struct talkers *talkers, struct talker *talker)
{
	hash_remove(talkers->list, talker);
	free(talker);
}

static struct talker *talker_of(struct talkers *talkers, const uint8_t source[16])
{
	struct talker *talker;
	uint8_t addr[16];

	prefix_mask(addr, source, key_bits(source, 32, 64));
	HASH_FIND(hh, talkers->list, addr, sizeof(addr), talker);
	return talker ? talker : talker_new(talkers, addr);
}

int talkers_add(struct talkers *talkers, const struct rl_sample *sample, bool has_addresses,
		bool passed)
{
	const struct rl_amount amount = {.packets = sample->stands_for,
					 .bytes = (uint64_t)sample->stands_for * sample->bytes};
	struct talker *talker;

	amount_add(&talkers->all[talkers->slice][passed], &amount);
	if (!has_addresses)
		return 0;
	talker = talker_of(talkers, sample->src);
	if (!talker)
		return -ENOMEM;
	amount_add(&talker->slices[talkers->slice][passed], &amount);
	if (!passed || !talker_sum(talker, TALKER_DROPPED).packets)
		talker->last = *sample;
	return 0;
}

struct rl_amount talker_sum(const struct talker *talker, enum talker_verdict verdict)
{
	struct rl_amount sum = {0};

	for (int i = 0; i < TALKER_SLICES; i++)
		amount_add(&sum, &talker->slices[i][verdict]);
	return sum;
}

struct rl_amount talkers_sum(const struct talkers *talkers, enum talker_verdict verdict)
{
	struct rl_amount sum = {0};

	for (int i = 0; i < TALKER_SLICES; i++)
		amount_add(&sum, &talkers->all[i][verdict]);
	return sum;
}

void talkers_next_slice(struct talkers *talkers)
{
	talkers->slice = (talkers->slice + 1) % TALKER_SLICES;
	memset(talkers->all[talkers->slice], 0, sizeof(talkers->all[0]));
	for (struct talker *talker = talkers->list, *next; talker; talker = next) {
		next = talker->hh.next;
		memset(talker->slices[talkers->slice], 0, sizeof(talker->slices[0]));
		if (!talker_sum(talker, TALKER_DROPPED).packets &&
		    !talker_sum(talker, TALKER_PASSED).packets)
			talker_remove(talkers, talker);
	}
}

size_t talkers_count(const struct talkers *talkers)
{
	return HASH_COUNT(talkers->list);
}

void talkers_clear(struct talkers *talkers)
{
	for (struct talker *talker = talkers->list, *next; talker; talker = next) {
		next = talker->hh.next;
		talker_remove(talkers, talker);
	}
	memset(talkers, 0, sizeof(*talkers));
}
