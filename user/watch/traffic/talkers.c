// SPDX-License-Identifier: GPL-2.0-only
/* Sources and destinations by their address, and patterns. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "watch/traffic/pattern.h"
#include "watch/traffic/talkers.h"

static void talker_remove(struct talkers *talkers, struct talker *talker)
{
	hash_remove(talkers->list, talker);
	free(talker);
}

uint8_t talker_bits(bool by_dest, const uint8_t addr[16])
{
	return key_bits(addr, 32, by_dest ? 128 : 64);
}

/* NULL: out of memory. */
static struct talker *talker_of(struct talkers *talkers, const uint8_t addr[16])
{
	struct talker *talker;

	HASH_FIND(hh, talkers->list, addr, sizeof(talker->addr), talker);
	if (talker)
		return talker;
	talker = calloc(1, sizeof(*talker));
	if (!talker)
		return NULL;
	memcpy(talker->addr, addr, sizeof(talker->addr));
	HASH_ADD(hh, talkers->list, addr, sizeof(talker->addr), talker);
	if (talker->hh.tbl)
		return talker;
	free(talker);
	return NULL;
}

static struct talker_packet packet_of(const struct rl_sample *sample)
{
	struct talker_packet packet = {
		.counter_id = sample->counter_id,
		.sport = sample->sport,
		.dport = sample->dport,
		.vlan = sample->vlan,
		.proto = sample->proto,
	};

	memcpy(packet.src, sample->src, sizeof(packet.src));
	memcpy(packet.dst, sample->dst, sizeof(packet.dst));
	return packet;
}

struct rl_sample talker_sample(const struct talker_packet *packet)
{
	struct rl_sample sample = {
		.counter_id = packet->counter_id,
		.sport = packet->sport,
		.dport = packet->dport,
		.vlan = packet->vlan,
		.proto = packet->proto,
	};

	memcpy(sample.src, packet->src, sizeof(sample.src));
	memcpy(sample.dst, packet->dst, sizeof(sample.dst));
	return sample;
}

static void talk_add(struct talk *talk, const struct sampled *sample)
{
	estimate_add(&talk->packets, sample->stands_for, sample->packet.packets);
	estimate_add(&talk->bytes, sample->stands_for, sample->packet.bytes);
}

/* A value that has no place takes one of each that have. */
static void value_add(struct talker_values *values, uint32_t value)
{
	int free_place = -1;

	values->samples++;
	for (int i = 0; i < TALKER_VALUES; i++) {
		if (values->count[i] && values->value[i] == value) {
			values->count[i]++;
			return;
		}
		if (!values->count[i])
			free_place = i;
	}
	if (free_place >= 0) {
		values->value[free_place] = value;
		values->count[free_place] = 1;
		return;
	}
	for (int i = 0; i < TALKER_VALUES; i++)
		values->count[i]--;
}

/* A count is too small by a fifth of the samples at most. */
struct talker_value talker_value(const struct talker *talker)
{
	const struct talker_values *values = &talker->values;
	struct talker_value out = {.any = values->samples};
	int best = 0;

	for (int i = 1; i < TALKER_VALUES; i++)
		if (values->count[i] > values->count[best])
			best = i;
	if (!values->count[best] || values->count[best] * 5ull <= values->samples)
		return out;
	out.known = true;
	out.value = values->value[best];
	out.share = (unsigned int)(100ull * values->count[best] / values->samples);
	return out;
}

int talkers_add(struct talkers *talkers, const struct sampled *sample, bool has_addresses,
		bool passed)
{
	const struct rl_sample *packet = &sample->packet;
	const uint8_t *whole = talkers->by_dest ? packet->dst : packet->src;
	struct pattern pattern = {0}, anywhere;
	struct talker *talker;
	uint8_t key[16];

	talk_add(&talkers->all[talkers->slice][passed], sample);
	if (!has_addresses)
		return 0;
	if (talkers->by_pattern) {
		pattern = pattern_of(packet, talkers->raw_ip);
		anywhere = pattern_anywhere(&pattern);
		memcpy(key, &anywhere, sizeof(anywhere));
	} else {
		prefix_mask(key, whole, talker_bits(talkers->by_dest, whole));
	}
	talker = talker_of(talkers, key);
	if (!talker)
		return -ENOMEM;
	talk_add(&talker->slices[talkers->slice][passed], sample);
	if (talkers->by_pattern)
		value_add(&talker->values, pattern.network);
	else if (packet->has_ports)
		value_add(&talker->values, packet->dport);
	if (!passed || !talker_sum(talker, TALKER_DROPPED).packets.sum)
		talker->last = packet_of(packet);
	return 0;
}

void talk_merge(struct talk *to, const struct talk *from)
{
	estimate_merge(&to->packets, &from->packets);
	estimate_merge(&to->bytes, &from->bytes);
}

struct talk talker_sum(const struct talker *talker, enum talker_verdict verdict)
{
	struct talk sum = {0};

	for (int i = 0; i < TALKER_SLICES; i++)
		talk_merge(&sum, &talker->slices[i][verdict]);
	return sum;
}

struct talk talkers_sum(const struct talkers *talkers, enum talker_verdict verdict)
{
	struct talk sum = {0};

	for (int i = 0; i < TALKER_SLICES; i++)
		talk_merge(&sum, &talkers->all[i][verdict]);
	return sum;
}

void talkers_next_slice(struct talkers *talkers)
{
	talkers->slice = (talkers->slice + 1) % TALKER_SLICES;
	memset(talkers->all[talkers->slice], 0, sizeof(talkers->all[0]));
	for (struct talker *talker = talkers->list, *next; talker; talker = next) {
		next = talker->hh.next;
		memset(talker->slices[talkers->slice], 0, sizeof(talker->slices[0]));
		talker->values.samples /= 2;
		for (int i = 0; i < TALKER_VALUES; i++)
			talker->values.count[i] /= 2;
		if (!talker_sum(talker, TALKER_DROPPED).packets.sum &&
		    !talker_sum(talker, TALKER_PASSED).packets.sum)
			talker_remove(talkers, talker);
	}
}

void talkers_clear(struct talkers *talkers)
{
	for (struct talker *talker = talkers->list, *next; talker; talker = next) {
		next = talker->hh.next;
		talker_remove(talkers, talker);
	}
	*talkers = (struct talkers){.by_dest = talkers->by_dest,
				    .by_pattern = talkers->by_pattern,
				    .raw_ip = talkers->raw_ip};
}

/* ---- the prefix that most of them are in */

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
