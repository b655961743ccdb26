/* SPDX-License-Identifier: GPL-2.0-only */
/* Conversations without a connection (UDP, ICMP echo), by who sent first. Pure; compiles for BPF
 * and for the host.
 *
 * A way is a tag, the upper 32 bits, and a time in units of 2^24 ns, which is never 0: a way of
 * zeros is empty. Set and tag are a keyed hash of protocol, the peer's address and port, and this
 * machine's port; the tag of one that this machine began is one of its own address, too. A server
 * may be asked at one of its addresses and answer from another, an answer goes to where the
 * question came from. One of four tags is another conversation's once in 2^30. A way that nobody
 * wrote for 2.3 years counts again for a quarter second.
 *
 * A way counts for a minute. It is written where its time is at least a quarter second old, hence
 * it counts for up to 0.3 s longer. Where all ways of a set count, the oldest goes: an answer that
 * comes t after the question is lost where four others were noted in its set meanwhile, which is
 * one in 3,400 at 50,000 questions a second and t = 50 ms. A minute's memory holds for up to 32,768
 * conversations, less some that share a set.
 *
 * A mark that the peer began is lost where four newer ones take its set. Then all of them count for
 * as long as it would have, and its port has been served within that time: where both hold, nothing
 * is noted as a question (asked_may_begin). So no client becomes established by an answer before
 * which others have pushed out its mark. This is the price: while such marks fill the table (at
 * 1000 clients a second nine sets in ten are full), answers to a port that serves are not known.
 * Other ports are not concerned, such as those that a resolver asks from.
 *
 * Races: a way changes hands by a compare-and-swap. Where two of them fail, the note is lost: the
 * next packet leaves it. Two CPUs may note one conversation twice.
 */
#pragma once

#include <stdbool.h>

#include "algorithm/hot_hash.h"
#include "algorithm/once.h"
#include "rlctl_abi.h"

#define ASKED_NS           60000000000ULL /* since the last packet */
#define ASKED_TAG_SHIFT    32
#define ASKED_UNIT_SHIFT   24
#define ASKED_REFRESH      15 /* units: what may be missing of the time of the last packet */
#define ASKED_AHEAD        15 /* units: one CPU's clock before another's */
#define ASKED_AGE_RECENT   (ASKED_AHEAD + ASKED_REFRESH - 1)
#define ASKED_AGE_MAX      (ASKED_AHEAD + (ASKED_NS >> ASKED_UNIT_SHIFT) + 1 + ASKED_REFRESH)
#define ASKED_AGE_NONE     (~0u)

#define ASKED_SERVED_SHIFT 32
#define ASKED_SERVED_MAX   (1 + (ASKED_NS >> ASKED_SERVED_SHIFT) + 2)

struct asked_key {
	__u32 set;
	__u32 ours, theirs; /* tags */
};

/* Addresses are mapped. */
static __always_inline struct asked_key asked_key_of(const volatile __u64 seed[2], bool ipv4,
						     const __u64 peer[2], const __u64 own[2],
						     __u16 peer_port, __u16 own_port, __u8 proto)
{
	__u64 address = ipv4 ? peer[1] : hot_hash(seed, peer[0], peer[1]);
	__u64 rest = (__u64)proto << 32 | (__u64)peer_port << 16 | own_port;
	__u64 hash = hot_hash(seed, address, rest);

	return (struct asked_key){
		.set = hash >> 32 & (RL_ASKED_SETS - 1),
		.ours = hot_hash(seed, hash ^ own[0], own[1]),
		.theirs = hash,
	};
}

static __always_inline __u32 asked_time(__u64 now_ns)
{
	__u32 time = now_ns >> ASKED_UNIT_SHIFT;

	return time ? time : 1;
}

/* ASKED_AHEAD more than it is, so that none is negative. */
static __always_inline __u32 asked_age(__u64 way, __u32 time)
{
	return (__u32)way ? time - (__u32)way + ASKED_AHEAD : ASKED_AGE_NONE;
}

/* The age of a conversation: ASKED_AGE_NONE where there is none. It counts up to ASKED_AGE_MAX. */
static __always_inline __u32 asked_age_of(const __u64 ways[RL_ASKED_WAYS], __u32 tag, __u32 time)
{
	__u32 age = ASKED_AGE_NONE;

	for (int i = 0; i < RL_ASKED_WAYS; i++) {
		__u64 way = READ_ONCE(ways[i]);
		__u32 its = asked_age(way, time);

		if (way >> ASKED_TAG_SHIFT == tag && its < age)
			age = its;
	}
	return age;
}

/* The way to write: that of the tag, else the oldest, an empty one before all. */
static __always_inline __u32 asked_choose(const __u64 ways[RL_ASKED_WAYS], __u32 tag, __u32 time,
					  __u64 *old)
{
	__u32 chosen = 0, oldest = 0;

	for (__u32 i = 0; i < RL_ASKED_WAYS; i++) {
		__u64 way = READ_ONCE(ways[i]);
		__u32 age = asked_age(way, time);

		if ((__u32)way && way >> ASKED_TAG_SHIFT == tag) {
			*old = way;
			return i;
		}
		if (!i || age > oldest) {
			*old = way;
			chosen = i;
			oldest = age;
		}
	}
	return chosen;
}

/* Do all ways count, so that one that counted may have been lost? */
static __always_inline bool asked_is_full(const __u64 ways[RL_ASKED_WAYS], __u32 time)
{
	for (int i = 0; i < RL_ASKED_WAYS; i++)
		if (asked_age(READ_ONCE(ways[i]), time) > ASKED_AGE_MAX)
			return false;
	return true;
}

/* When a port was served, in units of 2^32 ns. One that was not counts again for a minute every 18
 * minutes, which matters only where a set is full. */
static __always_inline __u8 asked_serving_time(__u64 now_ns)
{
	return now_ns >> ASKED_SERVED_SHIFT;
}

static __always_inline bool asked_is_served(__u8 served, __u64 now_ns)
{
	__u8 age = asked_serving_time(now_ns) + 1 - served; /* one CPU's clock before another's */

	return age <= ASKED_SERVED_MAX;
}

/* May this machine be the first, where the peer is not known to be? */
static __always_inline bool asked_may_begin(const struct rl_asked_set *set, __u32 tag, __u8 served,
					    __u64 now_ns)
{
	__u32 time = asked_time(now_ns);

	return !asked_is_served(served, now_ns) || !asked_is_full(set->theirs, time) ||
	       asked_age_of(set->ours, tag, time) <= ASKED_AGE_MAX;
}

static __always_inline void asked_put(__u64 ways[RL_ASKED_WAYS], __u32 tag, __u32 time)
{
	__u64 new = (__u64)tag << ASKED_TAG_SHIFT | time, old = 0;

	for (int tries = 0; tries < 2; tries++) {
		__u32 way = asked_choose(ways, tag, time, &old);

		if (old >> ASKED_TAG_SHIFT == tag && asked_age(old, time) <= ASKED_AGE_RECENT)
			return;
		if (__sync_val_compare_and_swap(&ways[way & (RL_ASKED_WAYS - 1)], old, new) == old)
			return;
	}
}
