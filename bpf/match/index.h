/* SPDX-License-Identifier: GPL-2.0-only */
/* The index of a prefix with more rules than are asked one by one: finds those that packets of this
 * protocol and port may match (rl_index_entry). Only with EXTENDED.
 */
#pragma once

#include "algorithm/once.h"
#include "maps.h"
#include "packet/packet.h"

/* The rules of one interval. */
struct index_run {
	void *entries; /* the index of the policy */
	__u32 first, count;
};

static __always_inline struct rl_index_entry *index_at(void *entries, __u32 position)
{
	return bpf_map_lookup_elem(entries, &position);
}

static __always_inline __u32 index_table(const struct packet *p)
{
	if (!(p->flags & PACKET_PORTS))
		return RL_INDEX_NO_PORTS;
	if (p->proto == IPPROTO_TCP)
		return RL_INDEX_TCP;
	return p->proto == IPPROTO_UDP ? RL_INDEX_UDP : RL_INDEX_PORTS;
}

static __always_inline __u32 index_number(const struct packet *p, __u32 axis)
{
	if (axis == RL_INDEX_DPORT)
		return p->dport;
	return axis == RL_INDEX_SPORT ? p->sport : p->proto;
}

/* 1 if the interval begins at the number or before, else 0; without a branch, which could not be
 * predicted. */
static __always_inline __u32 begins_before(const struct rl_index_entry *interval, __u32 number)
{
	__u32 differs = interval->start - number - 1;

	barrier_var(differs);
	return differs >> 31;
}

/* The interval of the table that holds the number; NULL: there is none, which cannot be. */
static __always_inline struct rl_index_entry *
index_search(void *entries, const struct rl_index_entry *table, __u32 number)
{
	__u32 first = table->first, count = table->count;

	for (int i = 0; i < RL_INDEX_STEPS && count > 1; i++) {
		__u32 half = count / 2;
		struct rl_index_entry *interval = index_at(entries, first + half);

		if (!interval)
			return NULL;
		first += half & -begins_before(interval, number);
		count -= half;
	}
	return index_at(entries, first);
}

/* The rules that the packet may match; none where the policy has no index. */
static __always_inline void index_find(struct index_run *run, __u32 half, __u32 root,
				       const struct packet *p)
{
	struct rl_index_entry *table, *interval;

	run->count = 0;
	run->entries = bpf_map_lookup_elem(&rule_index, &half);
	if (!run->entries)
		return;
	table = index_at(run->entries, root + 1 + index_table(p));
	if (!table)
		return;
	interval = index_search(run->entries, table, index_number(p, table->start));
	if (!interval)
		return;
	run->first = interval->first;
	run->count = interval->count;
}

/* The index into the rules array of one of the run. */
static __always_inline __u32 index_rule(const struct index_run *run, __u32 i)
{
	struct rl_index_entry *reference;

	if (run->count == 1)
		return run->first;
	reference = index_at(run->entries, run->first + i);
	return reference ? reference->first : (__u32)-1;
}
