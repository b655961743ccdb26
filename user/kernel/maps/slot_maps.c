// SPDX-License-Identifier: GPL-2.0-only
#include "kernel/maps/slot_maps.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "kernel/maps/map.h"
#include "kernel/maps/map_in_map.h"
#include "kernel/scope.h"

static struct slot_maps slot_counters(const struct instance *instance)
{
	return (struct slot_maps){instance, instance->fd.rule_counters,
				  instance->fd.counters_chunks, .fd = -1};
}

struct slot_maps slot_states(const struct instance *instance)
{
	return (struct slot_maps){instance, instance->fd.shared, instance->fd.shared_chunks,
				  .fd = -1};
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
	scope_fd(&maps->fd);
	maps->fd = -1;
}

/* How many slots, from the first one on, are in the same map as the first. */
static size_t slots_together(const struct instance *instance, const uint32_t *slots, size_t count)
{
	bool in_array = slots[0] < instance->info.slots;
	size_t n = 0;

	for (; n < count; n++)
		if (in_array != (slots[n] < instance->info.slots) ||
		    (!in_array && slots[n] >> RL_CHUNK_SHIFT != slots[0] >> RL_CHUNK_SHIFT))
			break;
	return n;
}

/* ---- counters of rules
 *
 * They lie in blocks, which bpf/limit/counters.h finds for a packet. They are read by
 * system calls, an element at a time, for a read-only descriptor cannot be mapped. Zeroing writes
 * single slots beside others that packets count in, so it maps them. */

#define SLOTS RL_COUNTERS_SLOTS

uint32_t counters_value_size(const struct rl_instance *info)
{
	return info->possible_cpus * sizeof(struct rl_counters_block);
}

/* ---- reading */

/* Those of SLOTS slots, the first of which is this one. */
static int block_read(struct slot_maps *maps, uint32_t slot, struct rl_counters_block *copy,
		      struct rule_counters sums[SLOTS])
{
	uint32_t index;
	int ret, fd = slot_map_at(maps, slot, &index);

	index >>= RL_COUNTERS_SHIFT;
	ret = fd < 0 ? fd : bpf_map_lookup_elem(fd, &index, copy);
	for (uint32_t cpu = 0; !ret && cpu < maps->instance->info.possible_cpus; cpu++)
		for (uint32_t i = 0; i < SLOTS; i++) {
			amount_add(&sums[i].passed, &copy[cpu].passed[i]);
			amount_add(&sums[i].dropped, &copy[cpu].dropped[i]);
			amount_add(&sums[i].shadow, &copy[cpu].shadow[i]);
		}
	return ret;
}

/* A block at a time, into sums by slot. */
int counters_read(const struct instance *instance, const struct policy *policy,
		  struct rule_counters *out)
{
	struct slot_maps maps = slot_counters(instance);
	uint32_t blocks = 1;
	int ret;

	policy_for_each (policy, rule)
		if (rule->counter_id / SLOTS >= blocks)
			blocks = rule->counter_id / SLOTS + 1;
	FREED struct rule_counters *sums = calloc((size_t)blocks * SLOTS, sizeof(*sums));
	FREED struct rl_counters_block *copy = malloc(counters_value_size(&instance->info));
	FREED bool *done = calloc(blocks, sizeof(*done));
	ret = sums && copy && done ? 0 : -ENOMEM;
	for (size_t i = 0; !ret && i < policy->count; i++) {
		uint32_t block = policy->rules[i].counter_id / SLOTS;

		if (!done[block])
			ret = block_read(&maps, block * SLOTS, copy, &sums[(size_t)block * SLOTS]);
		done[block] = true;
	}
	slot_maps_close(&maps);
	for (size_t i = 0; !ret && i < policy->count; i++)
		out[i] = sums[policy->rules[i].counter_id];
	return ret;
}

/* ---- zeroing */

/* Zeroes the counters of slots that are all in one map. */
static int counters_zero(struct slot_maps *maps, const uint32_t *slots, size_t count)
{
	const struct rl_instance *info = &maps->instance->info;
	bool in_array = slots[0] < info->slots;
	uint32_t map_slots = in_array ? info->slots : RL_CHUNK_SLOTS, index;
	size_t size = (size_t)map_slots / SLOTS * counters_value_size(info);
	struct rl_counters_block *elements, *block;
	int fd = slot_map_at(maps, slots[0], &index);

	if (fd < 0)
		return fd == -ENOENT ? 0 : fd;
	elements = map_whole(fd, size, PROT_READ | PROT_WRITE);
	if (!elements)
		return -errno;
	for (size_t i = 0; i < count; i++) {
		index = in_array ? slots[i] : slots[i] & (RL_CHUNK_SLOTS - 1);
		block = &elements[index / SLOTS * info->possible_cpus];
		index %= SLOTS;
		for (uint32_t cpu = 0; cpu < info->possible_cpus; cpu++)
			block[cpu].passed[index] = block[cpu].dropped[index] =
				block[cpu].shadow[index] = (struct rl_amount){0};
	}
	munmap(elements, size);
	return 0;
}

/* ---- as many slots as the policy needs
 *
 * The first slots are in arrays created at
 * attach; the others are in chunks that are created when a policy needs them and dropped when none
 * does, so that a large --prefixes costs nothing by itself. */

/* ---- chunks */

/* One past the last chunk that slots below `end` need. */
static uint32_t chunks_end(const struct instance *instance, uint32_t end)
{
	if (end <= instance->info.slots)
		return instance->info.slots >> RL_CHUNK_SHIFT;
	return (end + RL_CHUNK_SLOTS - 1) >> RL_CHUNK_SHIFT;
}

/* Adds up to INNER_ADD_MAX chunks below `end`, starting at the first missing one. Returns how many,
 * or an error. */
static int chunks_add(const struct instance *instance, int chunks, uint32_t end)
{
	bool counters = chunks == instance->fd.counters_chunks;
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = counters ? BPF_F_MMAPABLE : 0);
	uint32_t first, chunk = chunks_count(instance, chunks, &first) + first, n = 0;
	uint32_t size =
		counters ? counters_value_size(&instance->info) : sizeof(struct rl_shared_state);
	int fds[INNER_ADD_MAX], ret = 0;

	for (; ret >= 0 && n < INNER_ADD_MAX && chunk + n < end; n += ret >= 0)
		ret = fds[n] = bpf_map_create(
			BPF_MAP_TYPE_ARRAY, counters ? "rlctl_counters" : "rlctl_shared",
			sizeof(uint32_t), size,
			counters ? RL_CHUNK_SLOTS >> RL_COUNTERS_SHIFT : RL_CHUNK_SLOTS, &opts);
	if (ret >= 0 && n)
		ret = inner_add(instance, chunks, chunk, fds, n);
	for (uint32_t i = 0; i < n; i++)
		close(fds[i]);
	return ret < 0 ? ret : (int)n;
}

static int chunks_make(const struct instance *instance, int chunks, uint32_t end)
{
	int ret;

	if (end <= instance->info.slots || has_chunk(chunks, (end - 1) >> RL_CHUNK_SHIFT))
		return 0;
	do
		ret = chunks_add(instance, chunks, chunks_end(instance, end));
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

/* Zeroes the states of slots that are all in one map. */
static int states_zero(struct slot_maps *maps, const uint32_t *slots, size_t count)
{
	LIBBPF_OPTS(bpf_map_batch_opts, opts);
	FREED void *zeros = calloc(count, sizeof(struct rl_shared_state));
	FREED uint32_t *indexes = calloc(count, sizeof(*indexes));
	uint32_t first, written = count;
	int fd = slot_map_at(maps, slots[0], &first);

	if (fd < 0 || !zeros || !indexes)
		return fd == -ENOENT ? 0 : fd < 0 ? fd : -ENOMEM;
	for (size_t i = 0; i < count; i++)
		indexes[i] = first == slots[0] ? slots[i] : slots[i] & (RL_CHUNK_SLOTS - 1);
	return bpf_map_update_batch(fd, indexes, zeros, &written, &opts);
}

/* The slots of one map after the other. Slots in missing chunks have nothing to zero. */
static int slots_zero(struct slot_maps maps, const struct compiled *compiled,
		      int (*zero)(struct slot_maps *maps, const uint32_t *slots, size_t count))
{
	size_t count = compiled->fresh_count, n;
	int ret = 0;

	for (const uint32_t *slots = compiled->fresh; !ret && count; slots += n, count -= n) {
		n = slots_together(maps.instance, slots, count);
		ret = zero(&maps, slots, n);
	}
	slot_maps_close(&maps);
	return ret;
}

int slots_prepare(const struct instance *instance, const struct compiled *compiled)
{
	int ret = chunks_make(instance, instance->fd.counters_chunks,
			      compiled->header.next_counter_id);

	if (!ret)
		ret = chunks_make(instance, instance->fd.shared_chunks, compiled->shared_end);
	/* New slots may have been those of other rules. */
	if (!ret)
		ret = slots_zero(slot_counters(instance), compiled, counters_zero);
	return ret ? ret : slots_zero(slot_states(instance), compiled, states_zero);
}

void slots_trim(const struct instance *instance, const struct compiled *compiled)
{
	chunks_drop(instance, instance->fd.counters_chunks, compiled->header.next_counter_id);
	chunks_drop(instance, instance->fd.shared_chunks, compiled->shared_end);
}
