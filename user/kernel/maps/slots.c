// SPDX-License-Identifier: GPL-2.0-only
/* Counters, and states of limits per rule, by slot. The first slots are in arrays created at
 * attach; the others are in chunks that are created when a policy needs them and dropped when none
 * does, so that a large --prefixes costs nothing by itself. */

#include "kernel/maps/slot_maps.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "compile/compile.h"
#include "kernel/instance/instance.h"
#include "kernel/maps/chunks.h"
#include "kernel/maps/map_in_map.h"
#include "kernel/policy/rule_counters.h"

#define BATCH 4096u

_Static_assert(BATCH >= RL_CHUNK_SLOTS, "a chunk's slots are one batch");

/* ---- chunks */

/* One past the last chunk that slots below `end` need. */
static uint32_t chunks_end(const struct instance *instance, uint32_t end)
{
	if (end <= instance->info.slots)
		return instance->info.slots >> RL_CHUNK_SHIFT;
	return (end + RL_CHUNK_SLOTS - 1) >> RL_CHUNK_SHIFT;
}

static int counters_chunk_create(const struct instance *instance)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_MMAPABLE);

	return bpf_map_create(BPF_MAP_TYPE_ARRAY, "rlctl_counters", sizeof(uint32_t),
			      counters_value_size(&instance->info),
			      RL_CHUNK_SLOTS >> RL_COUNTERS_SHIFT, &opts);
}

static int states_chunk_create(const struct instance *instance)
{
	(void)instance;
	return bpf_map_create(BPF_MAP_TYPE_ARRAY, "rlctl_shared", sizeof(uint32_t),
			      sizeof(struct rl_shared_state), RL_CHUNK_SLOTS, NULL);
}

/* Adds up to INNER_ADD_MAX chunks below `end`, starting at the first missing one. Returns how many,
 * or an error. */
static int chunks_add(const struct instance *instance, int chunks,
		      int (*create)(const struct instance *instance), uint32_t end)
{
	uint32_t first, chunk = chunks_count(instance, chunks, &first) + first, n = 0;
	int fds[INNER_ADD_MAX], ret = 0;

	for (; ret >= 0 && n < INNER_ADD_MAX && chunk + n < end; n += ret >= 0)
		ret = fds[n] = create(instance);
	if (ret >= 0 && n)
		ret = inner_add(instance, chunks, chunk, fds, n);
	for (uint32_t i = 0; i < n; i++)
		close(fds[i]);
	return ret < 0 ? ret : (int)n;
}

static int chunks_make(const struct instance *instance, int chunks,
		       int (*create)(const struct instance *instance), uint32_t end)
{
	int ret;

	if (end <= instance->info.slots || has_chunk(chunks, (end - 1) >> RL_CHUNK_SHIFT))
		return 0;
	do
		ret = chunks_add(instance, chunks, create, chunks_end(instance, end));
	while (ret > 0);
	return ret;
}

/* Drops the last chunk first, so that a kill leaves no gap. */
static void chunks_drop(const struct instance *instance, int chunks, uint32_t end)
{
	uint32_t first, chunk = chunks_count(instance, chunks, &first) + first;

	while (chunk-- > chunks_end(instance, end))
		inner_drop(instance, chunks, chunk);
}

/* ---- the slots of a policy */

/* How many slots, from the first one on, are in the same map as the first; fills in their indexes.
 */
static uint32_t indexes_fill(const struct instance *instance, const uint32_t *slots, size_t count,
			     uint32_t indexes[BATCH])
{
	bool in_array = slots[0] < instance->info.slots;
	uint32_t n = slots_together(instance, slots, count < BATCH ? count : BATCH);

	for (uint32_t i = 0; i < n; i++)
		indexes[i] = in_array ? slots[i] : slots[i] & (RL_CHUNK_SLOTS - 1);
	return n;
}

/* States alone. A missing chunk has nothing to zero. */
static int states_zero(struct slot_maps *maps, const struct compiled *compiled, const void *zeros)
{
	uint32_t indexes[BATCH], n;
	int ret = 0;

	for (size_t done = 0; !ret && done < compiled->fresh_count; done += n) {
		const uint32_t *slots = compiled->fresh + done;
		LIBBPF_OPTS(bpf_map_batch_opts, opts);
		uint32_t index, written;
		int fd = slot_map_at(maps, slots[0], &index);

		n = indexes_fill(maps->instance, slots, compiled->fresh_count - done, indexes);
		written = n;
		if (fd < 0)
			ret = fd == -ENOENT ? 0 : fd;
		else if (bpf_map_update_batch(fd, indexes, zeros, &written, &opts))
			ret = -errno;
	}
	slot_maps_close(maps);
	return ret;
}

/* Zeroes new slots, which other rules may have used before. */
static int slots_reset(const struct instance *instance, const struct compiled *compiled)
{
	struct slot_maps states = slot_states(instance);
	void *zeros = calloc(BATCH, sizeof(struct rl_shared_state));
	int ret = zeros ? counters_zero(instance, compiled->fresh, compiled->fresh_count) : -ENOMEM;

	if (!ret)
		ret = states_zero(&states, compiled, zeros);
	free(zeros);
	return ret;
}

int slots_prepare(const struct instance *instance, const struct compiled *compiled)
{
	int ret = chunks_make(instance, instance->fd.counters_chunks, counters_chunk_create,
			      compiled->header.next_counter_id);

	if (!ret)
		ret = chunks_make(instance, instance->fd.shared_chunks, states_chunk_create,
				  compiled->shared_end);
	return ret ? ret : slots_reset(instance, compiled);
}

void slots_trim(const struct instance *instance, const struct compiled *compiled)
{
	chunks_drop(instance, instance->fd.counters_chunks, compiled->header.next_counter_id);
	chunks_drop(instance, instance->fd.shared_chunks, compiled->shared_end);
}
