/* SPDX-License-Identifier: GPL-2.0-only */
/* All programs of an instance have this: those that decide (rlctl.bpf.c) and the one that notes
 * what is sent (sent.bpf.c).
 */
#pragma once

#include "config.h"
#include "map.h"
#include "rlctl_abi.h"

/* The buckets of accounts (`per account N`), by the id of their limits; of all instances of the
 * network namespace, and there while the policy needs it. */
MAP(accounts, HASH, BPF_F_NO_PREALLOC, RL_ACCOUNTS_MAX, __u32, struct rl_state);

/* Conversations, by who began them: asked.h. There while the policy needs it (maps.h says how). All
 * sets are one element, which all instances of the network namespace share. Mappable as hot is: no
 * set lies in two cache lines. */
MAP(asked, ARRAY, BPF_F_MMAPABLE, 1, __u32, struct rl_asked);

/* The filter of peers: peers.h. There and shared as asked is. */
MAP(peers, ARRAY, BPF_F_MMAPABLE, 1, __u32, struct rl_peers);

/* A copy of headers that cannot be read where they lie: xdp.h, skb_parse.h. */
SIZED_MAP(headers, PERCPU_ARRAY, 0, 1, __u32, AT_ATTACH(RL_HEADERS_SIZE(RL_HEADERS_REACH)));

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
