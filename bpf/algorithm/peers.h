/* SPDX-License-Identifier: GPL-2.0-only */
/* The filter of peers: may an address be one with which this machine has anything established, or
 * that it asked? It may say "may" of a stranger; it never says "nobody" of a peer. Pure; compiles
 * for BPF and for the host.
 *
 * A way is a tag of 12 bits, never 0; a count of sockets in 10; and in 10 the time of the last
 * question in units of 2^32 ns, 0: never. It counts while it has a socket, or a question that may
 * still be answered (asked.h). A way that does not count may be taken for another tag, one that
 * counts never is. A count that is all ones stays so: there were more sockets than it can count, or
 * one that was there before the filter (PEERS_STICK). The last word of a set counts the sockets
 * that found no way, in 22 bits, and has the time of the last such question.
 *
 * An address has two sets: while the last word of the first counts, the second is asked too, and
 * holds what found no way in the first. While the last word of the second counts as well, every
 * address of both does. A stranger is taken for a peer by its tag, or where both are full: with
 * 16,000 peers once in 2,000 times, with 100,000 once in 400, with 200,000 once in 12
 * (tests/unit/test_peers.c). A question that nobody asked for 73 minutes counts again for 80 s.
 *
 * Races: a way is a word, exchanged at once. An addition or a question that loses PEERS_TRIES of
 * them goes to the last word, where an addition cannot fail, and where a question that fails as
 * often sets PEERS_STUCK for good: nothing is lost. A removal that loses as many leaves a socket
 * too many. Two CPUs that add one tag at once may give it two ways: a removal takes from either,
 * and their sum is right. A CPU that stood still for 8 s between its clock and a way may shorten
 * the time of another's question.
 */
#pragma once

#include <stdbool.h>

#include "algorithm/asked.h"
#include "algorithm/hot_hash.h"
#include "algorithm/once.h"
#include "rlctl_abi.h"

/* Where the kernel's verifier follows it once, and not for each of its calls. */
#ifdef __bpf__
#define PEERS_APART __noinline
#else
#define PEERS_APART static inline
#endif

#define PEERS_TAG_SHIFT 20
#define PEERS_TAG_MASK  0xfffu
#define PEERS_SOCKET    (1u << 10)
#define PEERS_TIME      (PEERS_SOCKET - 1)
#define PEERS_COUNT     ((1u << PEERS_TAG_SHIFT) - PEERS_SOCKET) /* all ones: for ever */
#define PEERS_TRIES     8

/* In the last word: it counts for ever. From PEERS_FULL on nothing is added, and from PEERS_STUCK
 * on nothing is removed; between them is room for all that looked before it was set. */
#define PEERS_STUCK (1u << 31)
#define PEERS_FULL  (3u << 30)

/* A question counts in units up to PEERS_AGE_MAX. One of them is for the unit in which it was
 * asked, one for the step from the last unit to the first, which is left out (peers_time). One
 * CPU's clock may be before another's by ASKED_AHEAD, here by a unit, and the step once more. */
#define PEERS_UNIT_SHIFT 32
#define PEERS_AGE_MAX    16u
#define PEERS_AHEAD      2u

_Static_assert((__u64)(PEERS_AGE_MAX - 1) << PEERS_UNIT_SHIFT >= (__u64)(ASKED_AGE_MAX + 1)
									 << ASKED_UNIT_SHIFT,
	       "a question counts here for as long as there, by any CPU's clock");

/* set: its low bits choose one of the first sets, with some more of them one of `more`. */
struct peers_key {
	__u32 set, tag;
};

/* The address is mapped. Without a zero among the tags an empty way is no address's. */
static __always_inline struct peers_key peers_key_of(const volatile __u64 seed[2], bool ipv4,
						     const __u64 addr[2])
{
	__u64 hash = hot_hash_address(seed, ipv4, addr);
	__u32 tag = hash & PEERS_TAG_MASK;

	return (struct peers_key){.set = hash >> 32 & (RL_PEER_MORE - 1), .tag = tag ? tag : 1};
}

static __always_inline struct rl_peer_set *peers_first(struct rl_peers *table, struct peers_key key)
{
	return &table->sets[key.set & (RL_PEER_SETS - 1)];
}

static __always_inline struct rl_peer_set *peers_more(struct rl_peers *table, struct peers_key key)
{
	return &table->more[key.set & (RL_PEER_MORE - 1)];
}

static __always_inline __u32 peers_time(__u64 now_ns)
{
	__u32 time = now_ns >> PEERS_UNIT_SHIFT & PEERS_TIME;

	return time ? time : 1;
}

static __always_inline bool peers_is_recent(__u32 word, __u32 time)
{
	__u32 age = (time - word + PEERS_AHEAD) & PEERS_TIME;

	return word & PEERS_TIME && age <= PEERS_AHEAD + PEERS_AGE_MAX;
}

static __always_inline bool peers_has_tag(__u32 way, __u32 tag)
{
	return (way ^ tag << PEERS_TAG_SHIFT) < 1u << PEERS_TAG_SHIFT;
}

static __always_inline bool peers_way_counts(__u32 way, __u32 time)
{
	return way & PEERS_COUNT || peers_is_recent(way, time);
}

static __always_inline bool peers_rest_counts(__u32 rest, __u32 time)
{
	return rest >= PEERS_SOCKET || peers_is_recent(rest, time);
}

/* ---- asked */

/* Most strangers end here: no way has the tag, and all peers of the set have found one. */
static __always_inline bool peers_is_nobody(const struct rl_peer_set *set, __u32 tag)
{
	for (int i = 0; i < RL_PEER_WAYS; i++)
		if (peers_has_tag(READ_ONCE(set->ways[i]), tag))
			return false;
	return !READ_ONCE(set->ways[RL_PEER_WAYS]);
}

static __always_inline bool peers_ways_count(const struct rl_peer_set *set, __u32 tag, __u32 time)
{
	for (int i = 0; i < RL_PEER_WAYS; i++) {
		__u32 way = READ_ONCE(set->ways[i]);

		if (peers_has_tag(way, tag) && peers_way_counts(way, time))
			return true;
	}
	return false;
}

static __always_inline bool peers_set_may(const struct rl_peer_set *set, __u32 tag, __u32 time)
{
	return peers_ways_count(set, tag, time) ||
	       peers_rest_counts(READ_ONCE(set->ways[RL_PEER_WAYS]), time);
}

/* And the others here. */
static __always_inline bool peers_may(struct rl_peers *table, struct peers_key key, __u32 time)
{
	const struct rl_peer_set *first = peers_first(table, key);

	if (peers_ways_count(first, key.tag, time))
		return true;
	return peers_rest_counts(READ_ONCE(first->ways[RL_PEER_WAYS]), time) &&
	       peers_set_may(peers_more(table, key), key.tag, time);
}

/* ---- noted */

enum peers_event { PEERS_ADD, PEERS_ASK, PEERS_STICK };

/* It keeps a later time that another CPU has left. */
static __always_inline __u32 peers_word_asked(__u32 word, __u32 time)
{
	if (word & PEERS_TIME && ((word - time) & PEERS_TIME) <= PEERS_AHEAD)
		return word;
	return (word & ~PEERS_TIME) | time;
}

/* A way of the tag after that. */
static __always_inline __u32 peers_way_after(__u32 way, enum peers_event event, __u32 time)
{
	if (event == PEERS_ASK)
		return peers_word_asked(way, time);
	if (event == PEERS_STICK || (way & PEERS_COUNT) == PEERS_COUNT)
		return way | PEERS_COUNT;
	return way + PEERS_SOCKET;
}

/* The way of the tag, else one that does not count; RL_PEER_WAYS: there is none. */
static __always_inline __u32 peers_choose(const struct rl_peer_set *set, __u32 tag, __u32 time,
					  __u32 *old)
{
	__u32 chosen = RL_PEER_WAYS;

	for (__u32 i = 0; i < RL_PEER_WAYS; i++) {
		__u32 way = READ_ONCE(set->ways[i]);

		if (peers_has_tag(way, tag)) {
			*old = way;
			return i;
		}
		if (chosen == RL_PEER_WAYS && !peers_way_counts(way, time)) {
			*old = way;
			chosen = i;
		}
	}
	return chosen;
}

/* One attempt. PEERS_LOST: another CPU was quicker. */
enum peers_tried { PEERS_NOTED, PEERS_NO_WAY, PEERS_LOST };

PEERS_APART int peers_way_try(struct rl_peer_set *set, __u32 tag, __u32 time, __u32 event)
{
	__u32 old = 0, new, way;

	if (!set)
		return PEERS_NO_WAY;
	way = peers_choose(set, tag, time, &old);
	if (way == RL_PEER_WAYS)
		return PEERS_NO_WAY;
	new = peers_has_tag(old, tag) ? old : tag << PEERS_TAG_SHIFT;
	new = peers_way_after(new, event, time);
	if (new == old ||
	    __sync_val_compare_and_swap(&set->ways[way & RL_PEER_WAYS], old, new) == old)
		return PEERS_NOTED;
	return PEERS_LOST;
}

/* Did it find a way? */
static __always_inline bool peers_note_way(struct rl_peer_set *set, __u32 tag, __u32 time,
					   enum peers_event event)
{
	for (int tries = 0; tries < PEERS_TRIES; tries++) {
		int tried = peers_way_try(set, tag, time, event);

		if (tried != PEERS_LOST)
			return tried == PEERS_NOTED;
	}
	return false;
}

static __always_inline void peers_ask_rest(__u32 *rest, __u32 time)
{
	for (int tries = 0; tries < PEERS_TRIES; tries++) {
		__u32 old = READ_ONCE(*rest), new = peers_word_asked(old, time);

		if (new == old || __sync_val_compare_and_swap(rest, old, new) == old)
			return;
	}
	__sync_fetch_and_or(rest, PEERS_STUCK);
}

static __always_inline void peers_note_rest(__u32 *rest, __u32 time, enum peers_event event)
{
	if (event == PEERS_ASK)
		peers_ask_rest(rest, time);
	else if (event == PEERS_STICK)
		__sync_fetch_and_or(rest, PEERS_STUCK);
	else if (READ_ONCE(*rest) < PEERS_FULL)
		__sync_fetch_and_add(rest, PEERS_SOCKET);
}

/* false: it is in the last word, from where a socket has to be removed. */
static __always_inline bool peers_set_note(struct rl_peer_set *set, __u32 tag, __u32 time,
					   enum peers_event event)
{
	if (peers_note_way(set, tag, time, event))
		return true;
	peers_note_rest(&set->ways[RL_PEER_WAYS], time, event);
	return false;
}

/* From where a socket has to be removed: a way of the first set, of the second, or its last word.
 */
enum peers_where { PEERS_IN_FIRST, PEERS_IN_MORE, PEERS_IN_REST };

static __always_inline enum peers_where peers_note(struct rl_peers *table, struct peers_key key,
						   __u32 time, enum peers_event event)
{
	if (peers_set_note(peers_first(table, key), key.tag, time, event))
		return PEERS_IN_FIRST;
	if (peers_set_note(peers_more(table, key), key.tag, time, event))
		return PEERS_IN_MORE;
	return PEERS_IN_REST;
}

/* ---- removed */

/* A way of the tag that has sockets; RL_PEER_WAYS: there is none. */
static __always_inline __u32 peers_find(const struct rl_peer_set *set, __u32 tag, __u32 *old)
{
	for (__u32 i = 0; i < RL_PEER_WAYS; i++) {
		*old = READ_ONCE(set->ways[i]);
		if (peers_has_tag(*old, tag) && *old & PEERS_COUNT)
			return i;
	}
	return RL_PEER_WAYS;
}

PEERS_APART int peers_remove_try(struct rl_peer_set *set, __u32 tag)
{
	__u32 old = 0, way;

	if (!set)
		return PEERS_NO_WAY;
	way = peers_find(set, tag, &old);
	if (way == RL_PEER_WAYS || (old & PEERS_COUNT) == PEERS_COUNT)
		return PEERS_NO_WAY;
	if (__sync_val_compare_and_swap(&set->ways[way & RL_PEER_WAYS], old, old - PEERS_SOCKET) ==
	    old)
		return PEERS_NOTED;
	return PEERS_LOST;
}

static __always_inline void peers_remove_way(struct rl_peer_set *set, __u32 tag)
{
	for (int tries = 0; tries < PEERS_TRIES; tries++)
		if (peers_remove_try(set, tag) != PEERS_LOST)
			return;
}

/* in_way: what peers_set_note returned. */
static __always_inline void peers_set_remove(struct rl_peer_set *set, __u32 tag, bool in_way)
{
	__u32 *rest = &set->ways[RL_PEER_WAYS];

	if (in_way)
		peers_remove_way(set, tag);
	else if (READ_ONCE(*rest) < PEERS_STUCK)
		__sync_fetch_and_sub(rest, PEERS_SOCKET);
}

/* A socket that was added; where: what the addition returned. */
static __always_inline void peers_remove(struct rl_peers *table, struct peers_key key,
					 enum peers_where where)
{
	if (where != PEERS_IN_FIRST)
		peers_set_remove(peers_more(table, key), key.tag, where == PEERS_IN_MORE);
	peers_set_remove(peers_first(table, key), key.tag, where == PEERS_IN_FIRST);
}
