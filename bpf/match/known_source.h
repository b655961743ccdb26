/* SPDX-License-Identifier: GPL-2.0-only */
/* Known sources, for `new-source`: sources that sent a packet which passed. In the hot table a slot
 * under no limit, whose word is until when; without it an entry of the sources.
 *
 * In front of those slots is a filter of a few bits for each source (algorithm/known_filter.h),
 * small enough for a core's own cache: most strangers are known to be unknown without their line of
 * the hot table. Bits are set before the slot is, by the same reading of the clock, so that a known
 * source always has its own. Sources are remembered only under a policy with `new-source`, and the
 * filter is there as long as that: it begins empty, and so all are new at first.
 *
 * Where rules with `new-source` name an alarm (guards), a source is known only when it was there in
 * peace: its first packet that passes leaves a word without KNOWN_RIPE, and one that comes
 * `ripens_ms` later makes it known, if no guard was on or had a tenth over its rate since the first
 * (rl_alarms.uneasy_ns); else it begins anew. That time is longer than the two tenths within which
 * a flood has one of its own, so none of its senders gets there. While a guard is uneasy, only an
 * established packet makes a source known, at once; who is known stays so by any packet.
 */
#pragma once

#include "algorithm/known_filter.h"
#include "packet/facts.h"
#include "limit/hot.h"
#include "limit/key.h"
#include "maps.h"
#include "limit/state.h"

#define KNOWN_GRAINS         (KNOWN_NS << RL_GRAIN_SHIFT)
#define KNOWN_REFRESH_GRAINS (1ULL * 1000000000 << RL_GRAIN_SHIFT)

static __always_inline __u64 known_address(const struct packet *p)
{
	return config.goes_by_dest ? hot_word(p, p->src) : p->lookup_hash;
}

/* NULL where there is no filter. */
static __always_inline struct rl_known_set *known_find(__u64 address)
{
	struct rl_known_set *sets;

	if (!config.knows_sources || !config.hot_mask)
		return NULL;
	sets = only(map_there(&known_filter));
	return sets ? &sets[known_index(address, config.known_mask)] : NULL;
}

/* Does the filter say that it is not known? */
static __always_inline bool is_stranger(__u64 address)
{
	const struct rl_known_set *known = known_find(address);
	__u64 bit;

	if (!known)
		return false;
	bit = known_bit(address);
	return !known_has(known, bit) || !known_may(known, bit, known_epoch(clock_tick()));
}

#if EXTENDED

static __always_inline struct rl_alarms *alarms_of(__u32 half)
{
	void *inner = bpf_map_lookup_elem(&alarms, &half);

	return inner ? only(inner) : NULL;
}

/* NULL where no limit has parts. Before Linux 6.8 the verifier follows functions that nothing
 * calls, too. */
static __always_inline struct rl_shares *shares_there(void)
{
	return config.shares_limits ? only(map_there(&shares)) : NULL;
}

/* Until when a guard is uneasy, or a limit that senders share refuses some. */
static __always_inline __u64 uneasy_until(const struct packet *p)
{
	struct rl_alarms *all = config.has_alarms ? alarms_of(p->facts.half) : NULL;
	__u64 until = all ? READ_ONCE(all->uneasy_ns) : 0;
	struct rl_shares *limits = shares_there();
	__u64 shared = limits ? READ_ONCE(limits->uneasy_ns) : 0;

	return until > shared ? until : shared;
}

static __always_inline bool has_guards(const struct packet *p)
{
	return (config.has_alarms || config.shares_limits) && p->facts.ripens_ms;
}

/* Is a guard on, or may it go on for the packets of now? */
static __always_inline bool is_uneasy(const struct packet *p)
{
	return has_guards(p) && clock_tick() < uneasy_until(p);
}

/* A packet of now, from a source that is not ripe and came at `born` (grains; 0: now): the time
 * from which it counts, or KNOWN_RIPE. */
static __always_inline __u64 ripen(const struct packet *p, __u64 born, __u64 now_ns)
{
	__u64 age_ns = (gcra_now(now_ns) - born) >> RL_GRAIN_SHIFT;

	if (!has_guards(p) || p->proof == PROOF_ESTABLISHED)
		return KNOWN_RIPE;
	if (!born || age_ns > now_ns - uneasy_until(p))
		return gcra_now(now_ns);
	return age_ns >= p->facts.ripens_ms * 1000000ULL ? KNOWN_RIPE : born;
}

#else

static __always_inline bool has_guards(const struct packet *p)
{
	return false;
}

static __always_inline __u64 ripen(const struct packet *p, __u64 born, __u64 now_ns)
{
	return KNOWN_RIPE;
}

#endif

static __always_inline bool is_ripe(const struct packet *p, __u64 word)
{
	return !has_guards(p) || word & KNOWN_RIPE;
}

static __always_inline bool hot_source_is_known(const struct packet *p)
{
	__u64 address = known_address(p);
	struct rl_hot_slot *slot;
	struct rl_hot_set *set;
	struct hot_key key;

	if (is_stranger(address))
		return false;
	key = hot_key_of(address, 0, 0, config.hot_mask);
	slot = hot_look(&key, &set);
	return slot && hot_debt(slot->word, gcra_now(clock_tick())) && is_ripe(p, slot->word);
}

/* Written at most once a second for each source. The source heard last is kept longest. */
static __always_inline void hot_source_remember(const struct packet *p)
{
	__u64 address = known_address(p), now_ns = clock_tick(), now = gcra_now(now_ns), next;
	struct hot_key key = hot_key_of(address, 0, 0, config.hot_mask);
	struct rl_known_set *known;
	struct rl_hot_set *set;
	struct rl_hot_slot *slot = hot_look(&key, &set);
	__u64 debt = slot ? hot_debt(slot->word, now) : 0;

	if (!set)
		return;
	if (debt && is_ripe(p, slot->word)) {
		if (debt >= KNOWN_GRAINS - KNOWN_REFRESH_GRAINS)
			return;
		next = now + KNOWN_GRAINS + KNOWN_RIPE;
	} else {
		next = ripen(p, debt ? slot->word - KNOWN_GRAINS : 0, now_ns);
		next = KNOWN_GRAINS + (next == KNOWN_RIPE ? now + KNOWN_RIPE : next);
		if (debt && next == slot->word)
			return;
	}
	known = known_find(address);
	if (known)
		known_put(known, known_bit(address), known_epoch(now_ns));
	if (slot)
		hot_set(slot, key.fingerprint, next);
	else
		hot_insert(set, key.fingerprint, next, now);
}

/* In `sources`, the word is KNOWN_RIPE, or from when a source counts that is not ripe, or 0: that
 * came on another CPU. */
static __always_inline void entry_remember(const struct packet *p, struct rl_state_key *key)
{
	struct rl_state next = {.word = KNOWN_RIPE};
#if EXTENDED
	struct rl_state *state = has_guards(p) ? bpf_map_lookup_elem(&sources, key) : NULL;

	if (state) {
		if (state->word != KNOWN_RIPE)
			WRITE_ONCE(state->word, ripen(p, state->word, clock_tick()));
		return;
	}
	next.word = ripen(p, 0, clock_tick());
#endif
	bpf_map_update_elem(&sources, key, &next, BPF_NOEXIST);
}

/* Is the packet's source known: did a packet of it pass before? Apart, so that other policies do
 * not pay for its registers. */
__noinline int source_is_known(const struct packet *p)
{
	struct rl_state_key key;
	struct rl_state *state;

	if (!p)
		return 0;
	if (config.hot_mask)
		return hot_source_is_known(p);
	key_source(&key, p);
	state = bpf_map_lookup_elem(&sources, &key);
	return state && is_ripe(p, state->word);
}

static __always_inline bool is_new_source(const struct packet *p)
{
	return (config.hot_mask && is_stranger(known_address(p))) || !source_is_known(p);
}

__noinline int source_remember(const struct packet *p)
{
	struct rl_state_key key;

	if (!p)
		return 0;
	if (config.hot_mask) {
		hot_source_remember(p);
		return 0;
	}
	key_source(&key, p);
	entry_remember(p, &key);
	return 0;
}
