// SPDX-License-Identifier: GPL-2.0-only
/* Counters of rules lie in blocks, which bpf/limit/counters.h finds for a packet. They are read by
 * system calls, an element at a time, for a read-only descriptor cannot be mapped. Zeroing writes
 * single slots beside others that packets count in, so it maps them. */

#include "kernel/policy/rule_counters.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#include <bpf/bpf.h>

#include "kernel/maps/slot_maps.h"

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
	int fd = slot_map_at(maps, slot, &index);

	if (fd < 0)
		return fd;
	index >>= RL_COUNTERS_SHIFT;
	if (bpf_map_lookup_elem(fd, &index, copy))
		return -errno;
	for (uint32_t cpu = 0; cpu < maps->instance->info.possible_cpus; cpu++)
		for (uint32_t i = 0; i < SLOTS; i++) {
			amount_add(&sums[i].passed, &copy[cpu].passed[i]);
			amount_add(&sums[i].dropped, &copy[cpu].dropped[i]);
			amount_add(&sums[i].shadow, &copy[cpu].shadow[i]);
		}
	return 0;
}

/* Those of the policy's blocks, into sums by slot. */
static int blocks_read(const struct instance *instance, const struct policy *policy,
		       struct rule_counters *sums, bool *done)
{
	struct slot_maps maps = slot_counters(instance);
	struct rl_counters_block *copy = malloc(counters_value_size(&instance->info));
	int ret = copy ? 0 : -ENOMEM;

	for (size_t i = 0; !ret && i < policy->count; i++) {
		uint32_t block = policy->rules[i].counter_id / SLOTS;

		if (!done[block])
			ret = block_read(&maps, block * SLOTS, copy, &sums[(size_t)block * SLOTS]);
		done[block] = true;
	}
	slot_maps_close(&maps);
	free(copy);
	return ret;
}

int counters_read(const struct instance *instance, const struct policy *policy,
		  struct rule_counters *out)
{
	struct rule_counters *sums;
	uint32_t blocks = 1;
	bool *done;
	int ret = -ENOMEM;

	policy_for_each (policy, rule)
		if (rule->counter_id / SLOTS >= blocks)
			blocks = rule->counter_id / SLOTS + 1;
	sums = calloc((size_t)blocks * SLOTS, sizeof(*sums));
	done = calloc(blocks, sizeof(*done));
	if (sums && done)
		ret = blocks_read(instance, policy, sums, done);
	for (size_t i = 0; !ret && i < policy->count; i++)
		out[i] = sums[policy->rules[i].counter_id];
	free(sums);
	free(done);
	return ret;
}

/* ---- zeroing */

/* elements: of the map that holds the slot. */
static void slot_zero(const struct rl_instance *info, struct rl_counters_block *elements,
		      uint32_t slot)
{
	uint32_t index = slot < info->slots ? slot : slot & (RL_CHUNK_SLOTS - 1), at = slot % SLOTS;
	struct rl_counters_block *block = &elements[index / SLOTS * info->possible_cpus];

	for (uint32_t cpu = 0; cpu < info->possible_cpus; cpu++)
		block[cpu].passed[at] = block[cpu].dropped[at] = block[cpu].shadow[at] =
			(struct rl_amount){0};
}

/* All of them are in one map. */
static int together_zero(struct slot_maps *maps, const uint32_t *slots, size_t count)
{
	const struct rl_instance *info = &maps->instance->info;
	uint32_t map_slots = slots[0] < info->slots ? info->slots : RL_CHUNK_SLOTS, index;
	size_t size = (size_t)map_slots / SLOTS * counters_value_size(info);
	struct rl_counters_block *elements;
	int fd = slot_map_at(maps, slots[0], &index);

	if (fd < 0)
		return fd == -ENOENT ? 0 : fd;
	elements = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (elements == MAP_FAILED)
		return -errno;
	for (size_t i = 0; i < count; i++)
		slot_zero(info, elements, slots[i]);
	munmap(elements, size);
	return 0;
}

int counters_zero(const struct instance *instance, const uint32_t *slots, size_t count)
{
	struct slot_maps maps = slot_counters(instance);
	size_t n;
	int ret = 0;

	for (; !ret && count; slots += n, count -= n) {
		n = slots_together(instance, slots, count);
		ret = together_zero(&maps, slots, n);
	}
	slot_maps_close(&maps);
	return ret;
}
