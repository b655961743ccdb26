/* SPDX-License-Identifier: GPL-2.0-only */
/* May a packet be established? Only one from a peer may (algorithm/peers.h): no socket has to be
 * looked up for any other. The filter is fed by the programs of peers.bpf.c, which note sockets,
 * and at egress by what this machine asks. Where it is missing or not fed, any packet may.
 */
#pragma once

#include "algorithm/peers.h"
#include "clock.h"
#include "common.h"
#include "packet/packet.h"

/* NULL where there is none. */
static __always_inline struct rl_peers *peers_table(void)
{
	return config.has_peers ? only(map_there(&peers)) : NULL;
}

static __always_inline struct peers_key peers_key_in(const struct rl_peers *table,
						     const struct packet *p, const __u8 addr[16])
{
	return peers_key_of(table->seed, p->flags & PACKET_IPV4, (const __u64 *)addr);
}

static __noinline int peers_may_apart(struct rl_peers *table, __u32 set, __u32 tag)
{
	return peers_may(table, (struct peers_key){set, tag}, peers_time(clock_tick()));
}

static __always_inline bool peer_may(const struct packet *p)
{
	struct rl_peers *table = peers_table();
	struct rl_peer_set *set;
	struct peers_key key;

	if (!table || !READ_ONCE(table->fed))
		return true;
	key = peers_key_in(table, p, config.frames_leave ? p->dst : p->src);
	set = peers_first(table, key);
	barrier_var(set); /* or the compiler computes it for each way anew */
	return !peers_is_nobody(set, key.tag) && peers_may_apart(table, key.set, key.tag);
}

/* This machine sends it, and that is a question. */
static __always_inline void peer_ask(const struct packet *p)
{
	struct rl_peers *table = peers_table();

	if (table)
		peers_note(table, peers_key_in(table, p, p->dst), peers_time(clock_tick()),
			   PEERS_ASK);
}
