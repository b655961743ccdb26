// SPDX-License-Identifier: GPL-2.0-only

#include "kernel/maps/slot_maps.h"

#include <unistd.h>

#include "kernel/maps/map_in_map.h"

static struct slot_maps maps_of(const struct instance *instance, int array, int chunks)
{
	return (struct slot_maps){.instance = instance, .array = array, .chunks = chunks, .fd = -1};
}

struct slot_maps slot_counters(const struct instance *instance)
{
	return maps_of(instance, instance->fd.rule_counters, instance->fd.counters_chunks);
}

struct slot_maps slot_states(const struct instance *instance)
{
	return maps_of(instance, instance->fd.shared, instance->fd.shared_chunks);
}

int slot_map_at(struct slot_maps *maps, uint32_t slot, uint32_t *index)
{
	uint32_t chunk = slot >> RL_CHUNK_SHIFT;

	*index = slot;
	if (slot < maps->instance->info.slots)
		return maps->array;
	*index = slot & (RL_CHUNK_SLOTS - 1);
	if (maps->fd >= 0 && maps->chunk == chunk)
		return maps->fd;
	slot_maps_close(maps);
	maps->chunk = chunk;
	maps->fd = inner_open(maps->instance, maps->chunks, chunk);
	return maps->fd;
}

void slot_maps_close(struct slot_maps *maps)
{
	if (maps->fd >= 0)
		close(maps->fd);
	maps->fd = -1;
}

size_t slots_together(const struct instance *instance, const uint32_t *slots, size_t count)
{
	bool in_array = slots[0] < instance->info.slots;
	size_t n = 0;

	for (; n < count; n++)
		if (in_array != (slots[n] < instance->info.slots) ||
		    (!in_array && slots[n] >> RL_CHUNK_SHIFT != slots[0] >> RL_CHUNK_SHIFT))
			break;
	return n;
}
