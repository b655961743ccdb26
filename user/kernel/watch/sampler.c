// SPDX-License-Identifier: GPL-2.0-only
/* Slots are open from the first word of one of their packets until sampler_close. */

#include "kernel/watch/sampler.h"

#include <errno.h>
#include <stdlib.h>

#include "algorithm/sampling.h"
#include "base/array.h"
#include "base/units.h"

#define SLOTS_A_SECOND 10 /* where the rate allows for as many */
#define KEEP_MORE      8  /* so that the largest of the tags wanted is rarely unsure, */
#define KEEP_PART      4  /* and of those wanted a fourth */
#define TAKEN_MORE     4  /* packets handed over for each that is wanted, while the rate stays */
#define TAGS           (1ull << 32)

void sampler_init(struct sampler *sampler, uint32_t rate, uint64_t begin_ns, int cpus)
{
	uint32_t wanted = rate < SLOTS_A_SECOND ? 1 : rate / SLOTS_A_SECOND;

	*sampler = (struct sampler){
		.stream = {.begin_ns = begin_ns,
			   .slot_ns = NS_PER_SECOND * wanted / rate,
			   .keep = wanted + wanted / KEEP_PART + KEEP_MORE,
			   .ceiling = UINT32_MAX},
		.wanted = wanted,
		.ceiling_before = UINT32_MAX,
		.cpus = cpus,
	};
}

static void slot_clear(struct sampler_slot *slot)
{
	free(slot->packets);
	free(slot->taken);
	*slot = (struct sampler_slot){0};
}

void sampler_clear(struct sampler *sampler)
{
	for (int i = 0; i < SAMPLER_SLOTS; i++)
		slot_clear(&sampler->slots[i]);
}

uint32_t sampler_slot_of(const struct sampler *sampler, uint64_t ns)
{
	const struct rl_stream *stream = &sampler->stream;

	return ns < stream->begin_ns ? 0 : (uint32_t)((ns - stream->begin_ns) / stream->slot_ns);
}

/* ---- the list of samples */

static int sampled_compare(const void *a, const void *b)
{
	const struct sampled *x = a, *y = b;

	if (x->packet.time_ns != y->packet.time_ns)
		return x->packet.time_ns > y->packet.time_ns ? 1 : -1;
	return (x->packet.now > y->packet.now) - (x->packet.now < y->packet.now);
}

void sampled_sort(struct sampled_list *list)
{
	if (list->count)
		qsort(list->items, list->count, sizeof(*list->items), sampled_compare);
}

void sampled_clear(struct sampled_list *list)
{
	free(list->items);
	*list = (struct sampled_list){0};
}

/* ---- the end of a slot */

static int tag_compare(const void *a, const void *b)
{
	const struct rl_sample *x = a, *y = b;

	return (x->tag > y->tag) - (x->tag < y->tag);
}

/* Leaves the smallest tags that are wanted. */
static void taken_cut(const struct sampler *sampler, struct sampler_slot *slot)
{
	if (slot->count)
		qsort(slot->taken, slot->count, sizeof(*slot->taken), tag_compare);
	if (slot->count > sampler->wanted)
		slot->count = sampler->wanted;
}

/* Packets of the slot, and of the CPU that had most of them. */
static uint64_t slot_packets(const struct sampler *sampler, const struct sampler_slot *slot,
			     uint32_t *most)
{
	uint64_t sum = 0;

	*most = 0;
	for (int i = 0; slot->packets && i < sampler->cpus; i++) {
		sum += slot->packets[i];
		*most = slot->packets[i] > *most ? slot->packets[i] : *most;
	}
	return sum;
}

/* Where the packets cannot be divided evenly, the smallest tags stand for one more. */
static int slot_draw(struct sampler *sampler, struct sampler_slot *slot, struct sampled_list *out)
{
	uint32_t most, count = 0;
	uint64_t packets = slot_packets(sampler, slot, &most) + sampler->carried;

	taken_cut(sampler, slot);
	while (count < slot->count &&
	       sampling_is_sure(&sampler->stream, slot->ceiling, most, slot->taken[count].tag))
		count++;
	/* So few packets are under the ceiling that none may be. Others were lost, and the
	 * next slot does not stand for them. */
	sampler->carried = !count && packets * slot->ceiling / TAGS < KEEP_MORE ? packets : 0;
	for (uint32_t i = 0; i < count; i++) {
		void *items = array_room(out->items, out->count, &out->room, sizeof(*out->items));

		if (!items)
			return -ENOMEM;
		out->items = items;
		out->items[out->count++] = (struct sampled){
			.packet = slot->taken[i],
			.stands_for = packets / count + (i < packets % count ? 1 : 0)};
	}
	return 0;
}

/* As many as the packets of the last slot would have needed, and more, as the next may have fewer.
 * The slots that are open had both ceilings. */
static void ceiling_fit(struct sampler *sampler, uint64_t packets)
{
	uint64_t enough = (uint64_t)sampler->stream.keep * TAKEN_MORE, ceiling = UINT32_MAX;

	if (packets > enough)
		ceiling = TAGS * enough / packets;
	sampler->ceiling_before = sampler->stream.ceiling;
	sampler->stream.ceiling = (uint32_t)ceiling;
	for (int i = 0; i < SAMPLER_SLOTS; i++)
		if (sampler->slots[i].ceiling > ceiling)
			sampler->slots[i].ceiling = (uint32_t)ceiling;
}

int sampler_close(struct sampler *sampler, uint32_t end, struct sampled_list *out)
{
	uint64_t packets = 0;
	int ret = 0;

	if (end <= sampler->next)
		return 0;
	for (int i = 0; !ret && i < SAMPLER_SLOTS && sampler->next < end; i++, sampler->next++) {
		struct sampler_slot *slot = &sampler->slots[sampler->next % SAMPLER_SLOTS];
		uint32_t most;

		packets = slot_packets(sampler, slot, &most);
		ret = slot_draw(sampler, slot, out);
		slot_clear(slot);
	}
	if (sampler->next < end) /* no other is open */
		packets = 0;
	sampler->next = end;
	ceiling_fit(sampler, packets);
	return ret;
}

/* ---- what comes from the packets */

static struct sampler_slot *slot_open(struct sampler *sampler, uint32_t number)
{
	struct sampler_slot *slot = &sampler->slots[number % SAMPLER_SLOTS];
	uint32_t now = sampler->stream.ceiling, before = sampler->ceiling_before;

	if (slot->packets)
		return slot;
	slot->packets = calloc((size_t)sampler->cpus, sizeof(*slot->packets));
	slot->ceiling = now < before ? now : before;
	return slot->packets ? slot : NULL;
}

int sampler_learn(struct sampler *sampler, uint32_t cpu, uint64_t word, struct sampled_list *out)
{
	uint32_t number = word >> 32, packets = (uint32_t)word;
	struct sampler_slot *slot;
	int ret = 0;

	if (!packets || number < sampler->next || cpu >= (uint32_t)sampler->cpus)
		return 0;
	if (number - sampler->next >= SAMPLER_SLOTS)
		ret = sampler_close(sampler, number - SAMPLER_SLOTS + 1, out);
	slot = ret ? NULL : slot_open(sampler, number);
	if (!slot)
		return -ENOMEM;
	if (slot->packets[cpu] < packets)
		slot->packets[cpu] = packets;
	return 0;
}

int sampler_add(struct sampler *sampler, const struct rl_sample *sample, struct sampled_list *out)
{
	uint32_t number = sample->now >> 32;
	int ret = sampler_learn(sampler, sample->cpu, sample->before, out);
	struct sampler_slot *slot;
	void *taken;

	if (!ret && number < sampler->next) {
		sampler->late++;
		return 0;
	}
	if (!ret)
		ret = sampler_learn(sampler, sample->cpu, sample->now, out);
	slot = ret ? NULL : slot_open(sampler, number);
	if (!slot)
		return -ENOMEM;
	if (slot->count >= (size_t)TAKEN_MORE * sampler->stream.keep)
		taken_cut(sampler, slot);
	taken = array_room(slot->taken, slot->count, &slot->room, sizeof(*slot->taken));
	if (!taken)
		return -ENOMEM;
	slot->taken = taken;
	slot->taken[slot->count++] = *sample;
	return 0;
}
