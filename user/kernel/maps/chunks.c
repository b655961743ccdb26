// SPDX-License-Identifier: GPL-2.0-only
/* Chunks: inner maps of an array of maps, without gaps, for slots beyond the arrays. */

#include "kernel/maps/chunks.h"

#include <bpf/bpf.h>

#include "kernel/instance/instance.h"

bool has_chunk(int chunks, uint32_t chunk)
{
	uint32_t id;

	return !bpf_map_lookup_elem(chunks, &chunk, &id);
}

uint32_t chunks_count(const struct instance *instance, int chunks, uint32_t *first)
{
	uint32_t count = 0;

	*first = instance->info.slots >> RL_CHUNK_SHIFT;
	while (*first + count < RL_CHUNKS && has_chunk(chunks, *first + count))
		count++;
	return count;
}
