/* SPDX-License-Identifier: GPL-2.0-only */
/* The hot table: a set-associative cache in a plain array, one cache line a set, so that a key that
 * is seen once costs a line and no insertion into an LRU.
 *
 * A slot is a fingerprint of limit and key (algorithm/hot_key.h), and a word. Its kind is in the
 * fingerprint; what the word says depends on who owns the key as well:
 *
 *   hot_kind()        of a bucket              of an unconfirmed key     of a known source
 *   HOT_UNUSED        -                        -                         -
 *   HOT_MOVING        the slot is changing hands: its word is nobody's
 *   HOT_SEEN_ONCE     theoretical arrival      until when its packet     until when it is known
 *                     time (gcra.h)            matters
 *   HOT_SEEN_AGAIN    the same; spilled when   until when its last       -
 *                     it is evicted            packet matters: paced
 *   HOT_IS_REFUSED    -                        its state is in an LRU,   -
 *                                              refused until (refusal.h)
 *
 * The address chooses the set, hashed with a seed drawn at attach, and so do ports and a second
 * address where the key has them. Fingerprints have 55 bits, of which those that chose the set no
 * longer distinguish keys of that set: two of them share a bucket once in 2^40 pairs of a table of
 * 65536 sets.
 *
 * A slot whose time has passed is a fresh bucket: taking it for another key loses nothing. Where
 * all four still owe, the one with the smallest debt goes. Seen once, it is forgotten (one packet
 * of debt). Seen again, it is spilled into an LRU by its fingerprint, and the set gets a hint
 * (algorithm/hot_hint.h) for as long as the debt lasts: a miss looks there only then.
 *
 * Races: a slot is taken over by a compare-and-swap of its fingerprint, and then gets another word.
 * A CPU that still uses it for the former key reads the word and then checks the fingerprint, so
 * that no other key's word is exchanged; what was taken between the two steps is forgotten. Flags
 * are changed by a compare-and-swap of the whole fingerprint, so that none lands on another key.
 * Two CPUs that miss the same key at once may take a slot each: one packet of debt is then kept
 * twice or lost. A flag or hint whose compare-and-swap fails HOT_TRIES times is lost: a packet of
 * debt, or what was spilled.
 */
#pragma once

#include "algorithm/gcra.h"
#include "algorithm/hot_hint.h"
#include "algorithm/hot_key.h"
#include "algorithm/once.h"
#include "clock.h"
#include "limit/key.h"
#include "maps.h"
#include "limit/pace.h"

#define HOT_TRIES 4

/* An address by the lengths that "source" and "dest" have where nothing else is said. */
static __always_inline __u64 hot_word(const struct packet *p, const __u8 addr[16])
{
	__u64 word = ((const __u64 *)addr)[1];

	if (p->flags & PACKET_IPV4) {
		barrier_var(word); /* a branch, which costs less than to choose without one */
		return hot_hash_word(config.hot_seed, true, word);
	}
	return hot_hash_address(config.hot_seed, false, (const __u64 *)addr);
}

/* Prefetches the set of the address while its prefix is looked up. */
static __always_inline void hot_expect(const struct packet *p)
{
	struct hot_key key = hot_key_of(p->lookup_hash, 0, 0, config.hot_mask);
	struct rl_hot_set *set;

	set = bpf_map_lookup_elem(&hot, &key.set);
	if (set)
		READ_ONCE(set->slot[0].fingerprint);
}

static __always_inline __u64 hot_address(const struct packet *p, const struct rl_rule *rule)
{
	const __u64 *addr;

	if (rule->flags & RL_RULE_LOOKUP_ADDRESS)
		return p->lookup_hash;
	barrier_var(p); /* or what follows is begun before, for nothing */
	addr = (const __u64 *)(rule->flags & RL_RULE_DEST ? p->dst : p->src);
	return hot_hash_masked(config.hot_seed, p->flags & PACKET_IPV4, addr, rule);
}

#if EXTENDED
static __always_inline __u64 hot_member_key(struct packet *p, const struct rl_rule *rule)
{
	__u64 prefix[2];

	member_mask((__u8 *)prefix, p);
	p->key_rest = hot_key_rest(rule->limit_id, p->facts.member_len, 0);
	return hot_hash(config.hot_seed, hot_hash(config.hot_seed, prefix[0], prefix[1]),
			p->key_rest);
}
#endif

/* vlan: its hash, where it is a part. */
static __always_inline __u64 hot_parts_key(struct packet *p, const struct rl_rule *rule,
					   __u64 address, __u64 vlan)
{
	p->key_rest =
		vlan ^ hot_key_parts_rest(config.hot_seed, p->flags & PACKET_IPV4, rule, p->sport,
					  p->dport, p->proto, (const __u64 *)p->dst);
	return hot_hash(config.hot_seed, hot_key_parts_address(rule, address), p->key_rest);
}

/* A key of more than an address; apart, for there are many kinds. Returns its hash, and leaves the
 * fingerprint's rest in p->key_rest. */
__noinline __u64 hot_long_key(struct packet *p, const struct rl_rule *rule, __u64 address)
{
	__u8 by = EXTENDED ? config.keys_by : 0;

	if (!p || !rule)
		return 0;
	if (EXTENDED && by && rule->limit.key == RL_KEY_PARTS) {
#if EXTENDED
		if (by >= KEYS_BY_MEMBER && rule->limit.key_parts == RL_PART_MEMBER)
			return hot_member_key(p, rule);
#endif
		if (by == KEYS_BY_VLAN && rule->limit.key_parts & RL_PART_VLAN)
			return hot_parts_key(p, rule, address,
					     hot_key_vlan(config.hot_seed, packet_vlan(p)));
		return hot_parts_key(p, rule, address, 0);
	}
	p->key_rest = hot_key_long_rest(config.hot_seed, p->flags & PACKET_IPV4, rule, p->sport,
					p->dport, p->proto, (const __u64 *)p->dst);
	return hot_hash(config.hot_seed, address, p->key_rest);
}

static __always_inline struct hot_key hot_key_build(struct packet *p, const struct rl_rule *rule)
{
	__u64 address = hot_address(p, rule), rest = hot_key_rest(rule->limit_id, 0, 0);

	if (!(rule->flags & RL_RULE_SIMPLE)) {
		address = hot_long_key(p, rule, address);
		rest = p->key_rest;
	}
	return hot_key_of(address, rest, rule->flags >> RL_RULE_LANE_SHIFT, config.hot_mask);
}

/* 1 if the slot has this fingerprint, else 0; without a branch, because the way cannot be
 * predicted. The barrier keeps the compiler from making a branch of it. */
static __always_inline __u64 hot_is_way(const struct rl_hot_set *set, int way, __u64 fingerprint)
{
	__u64 differs = (set->slot[way].fingerprint ^ fingerprint) >> HOT_FLAG_BITS;

	barrier_var(differs);
	return (differs - 1) >> 63;
}

static __always_inline struct rl_hot_slot *hot_match(struct rl_hot_set *set, __u64 fingerprint)
{
	__u64 first = hot_is_way(set, 0, fingerprint), second = hot_is_way(set, 1, fingerprint);
	__u64 third = hot_is_way(set, 2, fingerprint), fourth = hot_is_way(set, 3, fingerprint);
	__u64 way = second | third << 1 | fourth * 3;

	barrier_var(way);
	if (!(first | way))
		return NULL;
	return &set->slot[way & (RL_HOT_WAYS - 1)];
}

/* The key's slot, NULL where it has none, and its set, NULL where there is no table. */
static __always_inline struct rl_hot_slot *hot_look(const struct hot_key *key,
						    struct rl_hot_set **set)
{
	*set = bpf_map_lookup_elem(&hot, &key->set);
	return *set ? hot_match(*set, key->fingerprint) : NULL;
}

static __always_inline struct rl_hot_slot *hot_find(struct packet *p, const struct rl_rule *rule,
						    struct hot_key *key, struct rl_hot_set **set)
{
	*key = hot_key_build(p, rule);
	return hot_look(key, set);
}

static __always_inline void pressure_count(__u32 what)
{
	__u64 *count = bpf_map_lookup_elem(&pressure, &what);

	if (count)
		++*count;
}

/* The debt of a word at `now` (grains). */
static __always_inline __u64 hot_debt(__u64 word, __u64 now)
{
	__s64 debt = word - now;

	return word && debt > 0 ? debt : 0;
}

/* The cost of evicting a slot: its debt. A cached refusal costs nothing; it is recomputed. */
static __always_inline __u64 hot_worth(const struct rl_hot_slot *slot, __u64 now)
{
	return hot_kind(slot->fingerprint) == HOT_IS_REFUSED ? 0 : hot_debt(slot->word, now);
}

/* The slot that costs the least to evict. */
static __always_inline struct rl_hot_slot *hot_victim(struct rl_hot_set *set, __u64 now)
{
	struct rl_hot_slot *victim = &set->slot[0];
	__u64 least = hot_worth(victim, now);

#pragma unroll
	for (int i = 1; i < RL_HOT_WAYS; i++) {
		__u64 worth = hot_worth(&set->slot[i], now);

		if (worth < least) {
			least = worth;
			victim = &set->slot[i];
		}
	}
	return victim;
}

/* From now on a miss in the set looks into the LRUs, for at least `debt`. All are grains. */
__noinline int hot_hint_set(struct rl_hot_set *set, __u64 now, __u64 debt)
{
	__u64 hint = hot_hint(now, debt);

	if (!set)
		return 0;
	for (int i = 0; i < HOT_TRIES; i++) {
		__u64 old = READ_ONCE(set->slot[0].fingerprint);

		if (hot_hint_left(old, now) >= debt ||
		    __sync_val_compare_and_swap(&set->slot[0].fingerprint, old,
						(old & ~HOT_HINT) | hint) == old)
			return 0;
	}
	return 0;
}

/* Does the hint hold? Takes away one that has ended. */
__noinline int hot_hint_holds(struct rl_hot_set *set, __u64 now)
{
	__u64 old;

	if (!set)
		return 0;
	old = READ_ONCE(set->slot[0].fingerprint);
	if (hot_hint_left(old, now))
		return 1;
	__sync_val_compare_and_swap(&set->slot[0].fingerprint, old, old & ~HOT_HINT);
	return 0;
}

/* May something of this set be in an LRU? */
static __always_inline bool hot_has_spilled(struct rl_hot_set *set, __u64 now)
{
	return set->slot[0].fingerprint & HOT_HINT && hot_hint_holds(set, now);
}

/* Evicts a victim that still owes. */
__noinline int hot_evict(struct rl_hot_set *set, __u64 fingerprint, __u64 word, __u64 now)
{
	__u64 key = fingerprint & ~HOT_FLAGS;

	pressure_count(RL_PRESSURE_EVICTIONS);
	if (hot_kind(fingerprint) != HOT_SEEN_AGAIN)
		return 0;
	pressure_count(RL_PRESSURE_SPILLS);
	bpf_map_update_elem(&spilled, &key, &word, BPF_ANY);
	return hot_hint_set(set, now, word - now);
}

/* The word of a key that has no slot. */
static __always_inline __u64 hot_recall(struct rl_hot_set *set, __u64 fingerprint,
					const struct rl_rule *rule, __u64 now)
{
	__u64 *word =
		hot_has_spilled(set, now) ? bpf_map_lookup_elem(&spilled, &fingerprint) : NULL;

	if (!word)
		return 0;
	gcra_settle(&rule->gcra, word, now);
	return *word;
}

/* Gives the key a victim's slot with this word:
 *
 *   fingerprint         word        step
 *   old                 of old      1. read both; stop where another CPU has changed the slot
 *   old (| hint)        of old      2. evict: spill the debt of a key that came back
 *   HOT_NOBODY          of old      3. compare-and-swap, which fails if another CPU was first
 *   HOT_NOBODY          of the key  4. store: no fingerprint owns it
 *   the key             of the key  5. add the difference, which keeps a hint set meanwhile
 *
 * A reader takes the word first and the fingerprint then, so it uses no word of another key. */
static __always_inline void hot_give(struct rl_hot_set *set, struct rl_hot_slot *victim,
				     __u64 fingerprint, __u64 word, __u64 now)
{
	__u64 old = READ_ONCE(victim->fingerprint), flagged;
	__u64 word_before = READ_ONCE(victim->word);

	flagged = READ_ONCE(victim->fingerprint);
	if ((flagged ^ old) & ~HOT_HINT || (old & ~HOT_FLAGS) == HOT_NOBODY)
		return; /* another CPU has just used it, or is giving it to another key */
	if (hot_kind(old) != HOT_IS_REFUSED && hot_debt(word_before, now))
		hot_evict(set, old, word_before, now);
	flagged = READ_ONCE(victim->fingerprint); /* with the hint, if it has one now */
	if ((flagged ^ old) & ~HOT_HINT ||
	    __sync_val_compare_and_swap(&victim->fingerprint, flagged,
					HOT_NOBODY | (flagged & HOT_HINT)) != flagged)
		return;
	WRITE_ONCE(victim->word, word);
	__sync_fetch_and_add(&victim->fingerprint, fingerprint - HOT_NOBODY); /* keeps the hint */
}

/* Evicts the slot that costs the least. */
static __always_inline void hot_insert(struct rl_hot_set *set, __u64 fingerprint, __u64 word,
				       __u64 now)
{
	hot_give(set, hot_victim(set, now), fingerprint, word, now);
}

/* Takes flags off a key's slot and gives it others. 1: it did; 0: another CPU had, or the slot is
 * another key's. */
__noinline int hot_flag(struct rl_hot_slot *slot, __u64 fingerprint, __u64 off, __u64 on)
{
	if (!slot)
		return 0;
	for (int i = 0; i < HOT_TRIES; i++) {
		__u64 old = READ_ONCE(slot->fingerprint), next = (old & ~off) | on;

		if (next == old || (old & ~HOT_FLAGS) != fingerprint)
			return 0;
		if (__sync_val_compare_and_swap(&slot->fingerprint, old, next) == old)
			return 1;
	}
	return 0;
}

/* The key was seen more than once. */
static __always_inline void hot_mark(struct rl_hot_slot *slot, __u64 fingerprint)
{
	if (!(slot->fingerprint & HOT_AGAIN))
		hot_flag(slot, fingerprint, 0, HOT_AGAIN);
}

/* Is the slot still the key's? Asked after its word was read: where it is, so was the word. */
static __always_inline bool hot_is(const struct rl_hot_slot *slot, __u64 fingerprint)
{
	return (READ_ONCE(slot->fingerprint) & ~HOT_FLAGS) == fingerprint;
}

/* Sets the word of a key's slot, unless that is another key's by now. */
static __always_inline void hot_set(struct rl_hot_slot *slot, __u64 fingerprint, __u64 word)
{
	__u64 old = READ_ONCE(slot->word);

	if (hot_is(slot, fingerprint))
		__sync_val_compare_and_swap(&slot->word, old, word);
}

/* Takes so much off the word of a key's slot, if it is the key's. */
static __always_inline void hot_return(struct rl_hot_slot *slot, __u64 fingerprint, __u64 taken)
{
	for (int i = 0; i < GCRA_TRIES; i++) {
		__u64 old = READ_ONCE(slot->word);

		if (!hot_is(slot, fingerprint) ||
		    __sync_val_compare_and_swap(&slot->word, old, old - taken) == old)
			return;
	}
}

/* All of it. */
static __always_inline void hot_clear(struct rl_hot_slot *slot, __u64 fingerprint)
{
	for (int i = 0; i < GCRA_TRIES; i++) {
		__u64 old = READ_ONCE(slot->word);

		if (!hot_is(slot, fingerprint) ||
		    __sync_val_compare_and_swap(&slot->word, old, 0) == old)
			return;
	}
}
