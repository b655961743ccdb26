/* SPDX-License-Identifier: GPL-2.0-only */
/* The counters of rules, by counter_id: in blocks (struct rl_counters_block), each CPU's its
 * own; the first slots' in an array and further ones' in chunks.
 */
#ifndef RLCTL_BPF_COUNTERS_H
#define RLCTL_BPF_COUNTERS_H

#include "algorithm/once.h"
#include "maps.h"

const volatile __u32 counters_cpus = 1; /* possible; 1: all share a block. At attach */

/* This CPU's of the blocks; NULL where there are none. */
static __always_inline struct rl_counters_block *counters_mine(struct rl_counters_block *blocks)
{
	__u32 cpu = counters_cpus > 1 ? bpf_get_smp_processor_id() : 0;

	return blocks && cpu < counters_cpus ? blocks + cpu : NULL;
}

/* NULL where the slot is in a chunk. */
static __always_inline struct rl_counters_block *counters_find(__u32 counter_id)
{
	__u32 index = counter_id >> RL_COUNTERS_SHIFT;

	return counters_mine(bpf_map_lookup_elem(&rule_counters, &index));
}

static __always_inline struct rl_counters_block *counters_find_chunk(__u32 counter_id)
{
	__u32 chunk = counter_id >> RL_CHUNK_SHIFT;
	__u32 index = (counter_id & (RL_CHUNK_SLOTS - 1)) >> RL_COUNTERS_SHIFT;
	void *map = bpf_map_lookup_elem(&counters_chunks, &chunk);

	return map ? counters_mine(bpf_map_lookup_elem(map, &index)) : NULL;
}

/* Where the slot is in its block. */
static __always_inline __u32 counters_at(__u32 counter_id)
{
	return counter_id & (RL_COUNTERS_SLOTS - 1);
}

/* So that the counters of the rule that may decide come from memory together with the rule. */
static __always_inline void counters_expect(__u32 counter_id)
{
	struct rl_counters_block *b = counters_find(counter_id);

	if (b)
		READ_ONCE(b->dropped[counters_at(counter_id)].packets);
}

#endif
