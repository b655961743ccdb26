/* SPDX-License-Identifier: GPL-2.0-only */
/* How many connections each key of a limit has open. Pure; compiles for BPF and for the host.
 *
 * A way of a set is a word: a tag of 44 bits, and below it a count of 20. A way with the count 0 is
 * free, so that nothing is ever deleted. A key has two sets, and a new one goes into the emptier:
 * all find room until seven of ten ways are taken. Two keys that have one
 * tag in one set are taken for one key: a new one, once in 2^40 times.
 *
 * Races: a way is changed by compare-and-swap alone. Two CPUs that add one key at once may give it
 * two ways: their sum is right, and what is taken away may be taken from either. A CPU that loses
 * CONNECTION_TRIES of these in a row does not count the connection, or leaves it counted until the
 * next recount; that takes as many changes of one set by others within a microsecond.
 */
#pragma once

#include <stdbool.h>

#include "algorithm/hot_hash.h"
#include "algorithm/key_parts.h"
#include "algorithm/once.h"
#include "rlctl_abi.h"

/* Where the kernel's verifier follows it once, and not for each of its calls. */
#ifdef __bpf__
#define CONNECTION_APART __noinline
#else
#define CONNECTION_APART static inline
#endif

#define CONNECTION_COUNT_BITS 20
#define CONNECTION_COUNT      ((1ull << CONNECTION_COUNT_BITS) - 1)
#define CONNECTION_TRIES      64
_Static_assert(RL_CONNECTIONS_MAX < CONNECTION_COUNT, "a count reaches every limit");

/* A key is made of these, as in packets that arrive: the source is the peer. */
struct connection {
	__u64 src[2], dst[2]; /* mapped */
	__u16 sport, dport;
};

/* ---- which connections a limit counts */

static __always_inline bool connection_address_is(const __u64 addr[2], const __u8 prefix[16],
						  __u8 len, __u8 family)
{
	const __u64 *of = (const __u64 *)prefix;

	if (!family)
		return true;
	if ((family == 4) != address_is_mapped(addr))
		return false;
	return !((addr[0] ^ of[0]) & mask_be64(len)) &&
	       !((addr[1] ^ of[1]) & mask_be64(len > 64 ? len - 64 : 0));
}

static __always_inline bool connection_port_is(__u16 port, const struct rl_port_range *ranges,
					       __u8 count)
{
	if (!count)
		return true;
	for (int i = 0; i < RL_PORT_RANGES_MAX; i++)
		if (i < count && port >= ranges[i].first && port <= ranges[i].last)
			return true;
	return false;
}

static __always_inline bool connection_is_of(const struct rl_connection_limit *limit,
					     const struct connection *c)
{
	return connection_address_is(limit->by_dest ? c->dst : c->src, limit->prefix,
				     limit->prefix_len, limit->prefix_family) &&
	       connection_address_is(c->src, limit->src, limit->src_len, limit->src_family) &&
	       connection_address_is(c->dst, limit->dst, limit->dst_len, limit->dst_family) &&
	       connection_port_is(c->dport, limit->dport, limit->dport_count) &&
	       connection_port_is(c->sport, limit->sport, limit->sport_count);
}

/* ---- keys */

static __always_inline __u64 connection_address_hash(const __u64 seed[2], const __u64 addr[2],
						     __u8 len4, __u8 len6)
{
	__u32 len = key_len6_of(addr, len6);

	if (address_is_mapped(addr))
		len = RL_MAPPED_BITS + len4;
	return hot_hash(seed, addr[0] & mask_be64(len),
			addr[1] & mask_be64(len > 64 ? len - 64 : 0));
}

static __always_inline __u64 connection_hash(const __u64 seed[2], __u32 limit_id,
					     const struct rl_limit *limit,
					     const struct connection *c)
{
	__u8 parts = key_parts(limit);
	__u64 hash = hot_hash(seed, limit_id, parts & RL_PART_DPORT ? c->dport : 0);

	if (parts & RL_PART_SOURCE)
		hash = hot_hash(
			seed, hash,
			connection_address_hash(seed, c->src, limit->key_len4, limit->key_len6));
	if (parts & RL_PART_DEST)
		hash = hot_hash(
			seed, hash + 1,
			connection_address_hash(
				seed, c->dst,
				parts_have_both(parts) ? key_dest_len4(limit) : limit->key_len4,
				parts_have_both(parts) ? key_dest_len6(limit) : limit->key_len6));
	return hash;
}

/* Its two sets differ in their last bit. */
static __always_inline __u64 connection_set_of(__u64 hash, __u64 mask, bool second)
{
	if (!second)
		return hash & mask;
	return ((hash ^ hash >> 40) & mask & ~1ull) | (~hash & 1);
}

static __always_inline bool connection_way_is(__u64 way, __u64 hash)
{
	return way >> CONNECTION_COUNT_BITS == hash >> CONNECTION_COUNT_BITS;
}

/* ---- counts */

static __always_inline __u64 connection_set_count(const struct rl_connection_set *set, __u64 hash)
{
	__u64 count = 0;

	for (int i = 0; i < RL_CONNECTION_WAYS; i++) {
		__u64 way = READ_ONCE(set->way[i]);

		count += connection_way_is(way, hash) ? way & CONNECTION_COUNT : 0;
	}
	return count;
}

/* One attempt. LOST: another CPU was quicker. */
enum connection_tried { CONNECTION_DONE, CONNECTION_NO_WAY, CONNECTION_LOST };

struct connection_choice {
	__u64 old;
	__u32 way; /* RL_CONNECTION_WAYS: none */
	__u32 unused;
};

/* The way of the key that has connections, and otherwise a free one. */
static __always_inline void connection_choose(const struct rl_connection_set *set, __u64 hash,
					      struct connection_choice *out)
{
	out->old = 0;
	out->way = RL_CONNECTION_WAYS;
	out->unused = 0;
	for (__u32 i = 0; i < RL_CONNECTION_WAYS; i++) {
		__u64 way = READ_ONCE(set->way[i]);
		bool is_free = !(way & CONNECTION_COUNT);

		out->unused += is_free;
		if (!is_free && !connection_way_is(way, hash))
			continue;
		if (is_free && out->way < RL_CONNECTION_WAYS)
			continue;
		out->way = i;
		out->old = way;
		if (!is_free) { /* nothing is better */
			out->unused = RL_CONNECTION_WAYS + 1;
			return;
		}
	}
}

static __always_inline bool connection_swap(struct rl_connection_set *set, __u32 way, __u64 old,
					    __u64 new)
{
	return __sync_val_compare_and_swap(&set->way[way & (RL_CONNECTION_WAYS - 1)], old, new) ==
	       old;
}

CONNECTION_APART int connection_add_try(struct rl_connection_set *first,
					struct rl_connection_set *second, __u64 hash)
{
	struct connection_choice a, b;
	__u64 new;

	if (!first || !second)
		return CONNECTION_NO_WAY;
	connection_choose(first, hash, &a);
	connection_choose(second, hash, &b);
	if (b.unused > a.unused) {
		a = b;
		first = second;
	}
	if (a.way >= RL_CONNECTION_WAYS)
		return CONNECTION_NO_WAY;
	new = (hash & ~CONNECTION_COUNT) | 1;
	if (a.old & CONNECTION_COUNT)
		new = a.old + 1;
	if ((a.old & CONNECTION_COUNT) == CONNECTION_COUNT)
		return CONNECTION_NO_WAY;
	return connection_swap(first, a.way, a.old, new) ? CONNECTION_DONE : CONNECTION_LOST;
}

CONNECTION_APART int connection_take_try(struct rl_connection_set *set, __u64 hash)
{
	struct connection_choice a;

	if (!set)
		return CONNECTION_NO_WAY;
	connection_choose(set, hash, &a);
	if (a.unused <= RL_CONNECTION_WAYS) /* none of the key's */
		return CONNECTION_NO_WAY;
	return connection_swap(set, a.way, a.old, a.old - 1) ? CONNECTION_DONE : CONNECTION_LOST;
}

static __always_inline bool connection_add(struct rl_connection_set *first,
					   struct rl_connection_set *second, __u64 hash)
{
	for (int tries = 0; tries < CONNECTION_TRIES; tries++) {
		int tried = connection_add_try(first, second, hash);

		if (tried != CONNECTION_LOST)
			return tried == CONNECTION_DONE;
	}
	return false;
}

static __always_inline bool connection_take(struct rl_connection_set *first,
					    struct rl_connection_set *second, __u64 hash)
{
	for (int tries = 0; tries < CONNECTION_TRIES; tries++) {
		int tried = connection_take_try(first, hash);

		if (tried == CONNECTION_NO_WAY)
			tried = connection_take_try(second, hash);
		if (tried == CONNECTION_DONE)
			return true;
	}
	return false;
}
