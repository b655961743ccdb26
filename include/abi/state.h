/* SPDX-License-Identifier: GPL-2.0-only */
/* States that packets write: of limits, bans, caches, counters. Part of rlctl_abi.h. */
#pragma once

#include <linux/types.h>

#include "abi/names.h"

/* Key of a state: a limit and what it counts by. Fields that the key kind leaves out are zero. Maps
 * for keys of one address take only its first RL_SHORT_KEY bytes. `per set member`: addr is the
 * prefix, and sport its length, 0..128 in mapped form. limit_id 0 is no limit: the
 * source itself, in `sources` as one that is known, in `bans` as one that is banned altogether. */
#define RL_SHORT_KEY 24
struct rl_state_key {
	__u32 limit_id;
	__u16 sport;
	__u16 dport;
	__u8 addr[16]; /* the source; the destination where it is the only address */
	__u8 peer[16]; /* where both count: the destination */
	__u8 proto;
	__u8 pad;
	__u16 vlan;
	__u8 pad2[4];
};
_Static_assert(sizeof(struct rl_state_key) == 48, "rl_state_key");
_Static_assert(__builtin_offsetof(struct rl_state_key, peer) == RL_SHORT_KEY, "short key");

/* All zero is a fresh state. The algorithm defines the words. */
struct rl_state {
	__u64 word; /* decides; changed by compare-and-swap only */
	__u64 aux;
};
_Static_assert(sizeof(struct rl_state) == 16, "rl_state");

/* State of `per rule`, by counter_id: in an LRU others could push it out. */
struct rl_shared_state {
	struct rl_state state;
	__u64 pad[6];
};
_Static_assert(sizeof(struct rl_shared_state) == 64, "a cache line, so that rules share none");

/* The amount that a CPU has taken from a shared bucket and not spent yet:
 * bpf/limit/backend_shared.h. */
struct rl_batch {
	__u32 limit_id; /* whose bucket it was taken from */
	__u32 pad;
	__u64 left; /* packets or bytes */
	__u64 since_ns;
};
_Static_assert(sizeof(struct rl_batch) == 24, "rl_batch");

#define RL_SLOTS_MAX 16
struct rl_slots {
	__u64 word[RL_SLOTS_MAX];
};
_Static_assert(sizeof(struct rl_slots) == 128, "rl_slots");

/* Bans, by key. Each has a seat, and a seat is given to another only when its ban is over:
 * bpf/limit/ban.h. Element 0 of the seats is none: its until_ns counts the seats that were looked
 * at, and key.limit_id is how many there are. */
struct rl_ban {
	__u64 until_ns; /* CLOCK_MONOTONIC */
	__u32 seat;     /* 1.. */
	__u32 pad;
};
_Static_assert(sizeof(struct rl_ban) == 16, "rl_ban");

struct rl_ban_seat {
	__u64 until_ns; /* 0: free */
	struct rl_state_key key;
	__u64 pad;
};
_Static_assert(sizeof(struct rl_ban_seat) == 64, "a cache line");

/* The ring's size is the instance's log depth, a power of two up to RL_SLIDING_LOG_MAX. */
struct rl_log {
	__u64 head;
	__u64 time[];
};
#define RL_LOG_SIZE(depth) (8 + 8 * (depth))
_Static_assert(sizeof(struct rl_log) == RL_LOG_SIZE(0), "rl_log");

struct rl_amount {
	__u64 packets;
	__u64 bytes;
};
_Static_assert(sizeof(struct rl_amount) == 16, "rl_amount");

/* Counters and shared states lie in an array by slot, as far as that goes, and further ones in
 * chunks of this many slots, which are made when a policy needs them. Chunk 0 begins with slot 0.
 */
#define RL_CHUNK_SHIFT 12
#define RL_CHUNK_SLOTS (1u << RL_CHUNK_SHIFT)
#define RL_CHUNKS      8192u

/* The counters of so many slots on one CPU, kind by kind: in a flood only those of drops are
 * touched, which are four rules to a cache line. An element of a map is an array of them, by CPU.
 */
#define RL_COUNTERS_SHIFT 6
#define RL_COUNTERS_SLOTS (1u << RL_COUNTERS_SHIFT)
struct rl_counters_block {
	struct rl_amount passed[RL_COUNTERS_SLOTS];
	struct rl_amount dropped[RL_COUNTERS_SLOTS];
	struct rl_amount shadow[RL_COUNTERS_SLOTS];
};
_Static_assert(sizeof(struct rl_counters_block) == 48 * RL_COUNTERS_SLOTS, "rl_counters_block");

/* attach --table: where state lives. */
enum rl_table { RL_TABLE_HOT, RL_TABLE_LRU, RL_TABLE_CPU };

/* The LRUs in which unconfirmed keys get their states: bpf/limit/backend_unconfirmed.h. */
enum rl_lru { RL_LRU_SOURCES, RL_LRU_FLOWS, RL_LRU_WINDOWS, RL_LRU_LOGS, RL_LRU_COUNT };
_Static_assert(!(RL_LRU_COUNT & (RL_LRU_COUNT - 1)), "a power of two");
#define RL_CREATION_SAVE_NS 1000000000ULL /* creations not used for so long may come at once */

/* The hot table, see bpf/limit/hot.h: a set is a cache line. */
#define RL_HOT_WAYS 4
struct rl_hot_slot {
	__u64 fingerprint; /* with flags in its low bits; 0 = never used */
	__u64 word;        /* of a bucket */
};
struct rl_hot_set {
	struct rl_hot_slot slot[RL_HOT_WAYS];
};
_Static_assert(sizeof(struct rl_hot_set) == 64, "a cache line");

/* Cached refusals of addresses, four to a set: bpf/limit/refusal.h. A word is in
 * bpf/algorithm/refusal_word.h. */
#define RL_REFUSAL_WAYS 4
struct rl_refusal_set {
	__u64 word[RL_REFUSAL_WAYS];
};
_Static_assert(sizeof(struct rl_refusal_set) == 32, "half a cache line");

/* Bits of sources that may be known: bpf/algorithm/known_filter.h. */
#define RL_KNOWN_PLANES 4
struct rl_known_set {
	__u64 plane[RL_KNOWN_PLANES];
};
_Static_assert(sizeof(struct rl_known_set) == 32, "half a cache line");

/* Cached results of the trie: bpf/match/prefix_cache.h. */
struct rl_prefix_set {
	struct {
		__u64 tag;
		__u64 result;
	} way[RL_HOT_WAYS];
};
_Static_assert(sizeof(struct rl_prefix_set) == 64, "a cache line");

/* How hard tables are pressed; sums since attach. The hot table: strangers are keys that got a
 * slot; evictions: slots taken from keys with debt; spills: evicted keys that had come back, kept
 * in an LRU. Bans: those that could not begin, because all seats that were looked at were taken. */
#define RL_HOT_PRESSURES(X)       \
	X(STRANGERS, "strangers") \
	X(EVICTIONS, "evictions") \
	X(SPILLS, "spills")
#define RL_PRESSURES(X)     \
	RL_HOT_PRESSURES(X) \
	X(BANS_REFUSED, "bans_refused")
#define RL_PRESSURE_ENUM(name, text) RL_ENUM(RL_PRESSURE_, name)
enum rl_pressure { RL_PRESSURES(RL_PRESSURE_ENUM) RL_PRESSURE_COUNT };
