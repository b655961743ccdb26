/* SPDX-License-Identifier: GPL-2.0-only */
/* All programs of an instance have this: those that decide (rlctl.bpf.c) and the one that notes
 * what is sent (sent.bpf.c).
 */
#pragma once

#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#include "config.h"
#include "rlctl_abi.h"

/* The buckets of accounts (`per account N`), by the id of their limits; of all instances of the
 * network namespace, and there while the policy needs it. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, RL_ACCOUNTS_MAX);
	__type(key, __u32);
	__type(value, struct rl_state);
} accounts SEC(".maps");

/* Conversations, by who began them: asked.h. There while the policy needs it (maps.h says how). All
 * sets are one element, which all instances of the network namespace share. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE); /* as hot: no set lies in two cache lines */
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct rl_asked);
} asked SEC(".maps");

/* The filter of peers: peers.h. There and shared as asked is. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE); /* no set lies in two cache lines */
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct rl_peers);
} peers SEC(".maps");

/* A copy of headers that cannot be read where they lie: xdp.h, skb_parse.h. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, RL_HEADERS_SIZE(RL_HEADERS_REACH)); /* at attach */
} headers SEC(".maps");

/* A key, ready in memory: one on the stack would be written for each look-up. */
const volatile __u32 only_key = 0;

/* A map that is there only while the policy uses it, behind the constant that says so. The compiler
 * may not load its address before that: without the map no program with such an instruction loads.
 */
static __always_inline void *map_there(void *map)
{
	asm volatile("" : "+r"(map));
	return map;
}

/* The one element of an array, or the one map of an array of maps. */
static __always_inline void *only(void *array)
{
	return bpf_map_lookup_elem(array, (const void *)&only_key);
}
