/* SPDX-License-Identifier: GPL-2.0-only */
/* The counters of rules, by counter_id: in blocks (struct rl_counters_block), each CPU's its
 * own; the first slots' in an array and further ones' in chunks.
 */
#pragma once

#include "algorithm/once.h"
#include "maps.h"

/* Which of the blocks is this CPU's. Where the numbers of possible CPUs have gaps, the last ones
 * share the first block, and two at once may lose a count. */
static __always_inline __u32 counters_cpu(void)
{
	__u32 cpu = config.counters_cpus > 1 ? bpf_get_smp_processor_id() : 0;

	return cpu < config.counters_cpus ? cpu : 0;
}

/* cpu: counters_cpu(). NULL where the slot is in a chunk. */
static __always_inline struct rl_counters_block *counters_find(__u32 counter_id, __u32 cpu)
{
	__u32 index = counter_id >> RL_COUNTERS_SHIFT;
	struct rl_counters_block *blocks = bpf_map_lookup_elem(&rule_counters, &index);

	return blocks ? blocks + cpu : NULL;
}

static __always_inline struct rl_counters_block *counters_find_chunk(__u32 counter_id)
{
	__u32 chunk = counter_id >> RL_CHUNK_SHIFT;
	__u32 index = (counter_id & (RL_CHUNK_SLOTS - 1)) >> RL_COUNTERS_SHIFT;
	void *map = bpf_map_lookup_elem(&counters_chunks, &chunk);
	struct rl_counters_block *blocks = map ? bpf_map_lookup_elem(map, &index) : NULL;

	return blocks ? blocks + counters_cpu() : NULL;
}

/* Where the slot is in its block. */
static __always_inline __u32 counters_at(__u32 counter_id)
{
	return counter_id & (RL_COUNTERS_SLOTS - 1);
}

/* So that the counters of the rule that may decide come from memory together with the rule. */
static __always_inline void counters_expect(__u32 counter_id)
{
	struct rl_counters_block *b = counters_find(counter_id, counters_cpu());

	if (b)
		READ_ONCE(b->dropped[counters_at(counter_id)].packets);
}
