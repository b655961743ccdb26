/* SPDX-License-Identifier: GPL-2.0-only */
/* Backend unconfirmed: limits whose state is larger than a word. A key's first packet is held in
 * the hot table only; a state is made in an LRU on its second, so that sources of a single packet
 * make none. States are made at a bounded rate, so that no LRU is filled anew in less than three
 * seconds. Beyond that the hot table holds the key to a packet each `pace`, the limit's rate, until
 * it has been silent for long enough to be fresh again.
 *
 * The states of a key, by the kind of its slot in the hot table (hot.h), and what a packet does. A
 * packet matters for `span`, in a sliding window until its slot leaves the window:
 *
 *   state       a packet that is      while the last one matters          after that
 *               too early
 *   none        -                     -                                   -> first: within (1)
 *   first       refused               -> LRU: enter the first, ask it     -> first: within (2)
 *   SEEN_ONCE    (3)                  no state may be made:
 *                                       at its pace -> paced: within
 *                                       else refused
 *   paced       refused               -> paced: within                    -> first: within (2)
 *   SEEN_AGAIN
 *   LRU         asks the LRU, or is refused by the cached refusal (refusal.h)
 *   IS_REFUSED
 *
 *   (1) A packet whose cost a word cannot hold, of a limit in bytes or of several segments, asks
 *       the LRU, where a state is made at once; if none may be made: -> paced: within. Where the
 *       set has a hint, the LRU is asked too; if it does not hold the key: -> first: within, or
 *       -> paced, if the key was spilled and still owes.
 *   (2) A packet whose cost a word cannot hold asks the LRU.
 *   (3) A warm-up that was idle gives back lateness (algorithm/warm_up.h): the first packet after
 *       it counts as come by the burst earlier.
 *
 * Too early: less than `wait` after the first packet, or than `pace` after a paced one. Whatever
 * changes a state in an LRU sees to it that the set's hint holds for as long as that state matters:
 * the slot may be lost before.
 *
 * Bound: what a paced key had before it was paced counts no more: at most one packet.
 *
 * Races: of two CPUs that see a key come back at once, one enters its first packet. A packet that
 * another CPU lets in meanwhile, before the state is there, is entered too, after it was counted:
 * the limit's bound holds but for that packet.
 */
#pragma once

#include "algorithm/once.h"
#include "algorithm/sliding_window.h"
#include "limit/backend_lru.h"
#include "limit/hot.h"
#include "limit/outcome.h"
#include "limit/refusal.h"

/* The result of the hot table. ASK: the LRU holds the key. LOOK: it may, but no slot says so. */
enum unconfirmed {
	UNCONFIRMED_REFUSED,
	UNCONFIRMED_WITHIN,
	UNCONFIRMED_ASK,
	UNCONFIRMED_LOOK,
};

/* ---- making states */

/* Where the rule's states are, as state.h finds them. */
static __always_inline __u32 unconfirmed_lru(const struct rl_rule *rule)
{
	if (rule->limit.algorithm == RL_SLIDING_WINDOW)
		return RL_LRU_WINDOWS;
	if (rule->limit.algorithm == RL_SLIDING_LOG)
		return RL_LRU_LOGS;
	return key_is_long(rule) ? RL_LRU_FLOWS : RL_LRU_SOURCES;
}

static __always_inline bool creation_allowed(const struct rl_rule *rule)
{
	__u32 lru = unconfirmed_lru(rule);
	__u64 *next = bpf_map_lookup_elem(&creations, &lru), now_ns = clock_tick();

	if (!next)
		return false;
	if ((__s64)(*next - now_ns) < 0)
		*next = now_ns;
	if (*next - now_ns > RL_CREATION_SAVE_NS)
		return false;
	barrier_var(lru); /* the verifier has forgotten its bound on the way through the stack */
	*next += config.creation_ns[lru & (RL_LRU_COUNT - 1)];
	return true;
}

/* ---- what a packet is to a word */

/* Is it what a word can remember: one packet of a limit in packets? */
static __always_inline bool costs_one(const struct packet *p, const struct rl_rule *rule)
{
	return !(rule->flags & RL_RULE_BYTES) && packet_count(p) == 1;
}

/* Several packets of a limit in packets: a state is made for them at once, as of one in bytes; but
 * here others of the key are looked for in the hot table, which has to know. */
static __always_inline bool is_several(const struct packet *p, const struct rl_rule *rule)
{
	return !(rule->flags & RL_RULE_BYTES) && packet_count(p) > 1;
}

/* Could a fresh state hold it? A packet of the device's MTU always fits, several may not. */
static __always_inline bool unconfirmed_fits(const struct packet *p, const struct rl_rule *rule)
{
	__u64 amount = rule->flags & RL_RULE_BYTES ? p->bytes : packet_count(p);

	return !config.frames_are_skbs || rule->limit.algorithm == RL_WARM_UP ||
	       amount <= rule->window.amount;
}

/* ---- time */

/* Has a key that is paced waited for long enough? */
static __always_inline bool unconfirmed_paced(const struct packet *p, const struct rl_rule *rule,
					      __u64 debt)
{
	__u64 waited = rule->unconfirmed.span - debt;

	return (config.frames_are_skbs ? waited / packet_count(p) : waited) >=
	       rule->unconfirmed.pace;
}

/* May a key that the hot table holds have another packet, or is that too early? */
static __always_inline bool unconfirmed_may(const struct packet *p, const struct rl_rule *rule,
					    enum hot_kind kind, __u64 word, __u64 now)
{
	__u64 debt = hot_debt(word, now);

	if (!debt)
		return true;
	if (kind == HOT_SEEN_AGAIN)
		return unconfirmed_paced(p, rule, debt);
	return rule->unconfirmed.span - debt >= rule->unconfirmed.wait;
}

/* When the first packet of a key no longer matters. */
static __always_inline __u64 unconfirmed_until(const struct rl_rule *rule, __u64 now_ns)
{
	const struct rl_window *w = &rule->window;

	if (rule->limit.algorithm != RL_SLIDING_WINDOW)
		return gcra_now(now_ns) + rule->unconfirmed.span;
	return gcra_now(sliding_window_begin(w, sliding_window_slot(w, now_ns) + w->slots));
}

/* By how much earlier than it came the first packet of a key counts that is not a stranger. */
static __always_inline __u64 unconfirmed_credit(const struct rl_rule *rule)
{
	return rule->limit.algorithm == RL_WARM_UP ? rule->warm_up.burst : 0;
}

/* When it came, in nanoseconds; in a sliding window, the beginning of the slot that it is in. */
static __always_inline __u64 unconfirmed_since(const struct rl_rule *rule, __u64 word)
{
	const struct rl_window *w = &rule->window;

	if (rule->limit.algorithm != RL_SLIDING_WINDOW)
		return (word - rule->unconfirmed.span) >> RL_GRAIN_SHIFT;
	return sliding_window_begin(w, sliding_window_slot(w, word >> RL_GRAIN_SHIFT) - w->slots);
}

/* The first instant at which a key that is refused may be admitted; not after `now`: its slot does
 * not say. */
static __always_inline __u64 unconfirmed_refused_until(const struct rl_rule *rule,
						       __u64 fingerprint, __u64 word, __u64 now)
{
	const struct rl_unconfirmed *n = &rule->unconfirmed;

	switch (hot_kind(fingerprint)) {
	case HOT_IS_REFUSED:
		return key_refusal_holds(rule->generation, word, now) ? key_refusal_until(word)
								      : now;
	case HOT_SEEN_AGAIN:
		return word - n->span + n->pace;
	default:
		return word - n->span + n->wait;
	}
}

/* ---- transitions */

/* A state in an LRU is about to change. */
static __always_inline void unconfirmed_hint(const struct rl_rule *rule, struct rl_hot_set *set,
					     __u64 now)
{
	hot_hint_set(set, now, rule->unconfirmed.span);
}

/* -> LRU. Returns when the key's first packet came, + 1, on the CPU that asks first, else 0. */
static __always_inline __u64 unconfirmed_confirm(const struct rl_rule *rule, struct rl_hot_set *set,
						 struct rl_hot_slot *slot, __u64 key, __u64 word,
						 __u64 now)
{
	unconfirmed_hint(rule, set, now);
	return hot_flag(slot, key, 0, HOT_REFUSED) ? unconfirmed_since(rule, word) + 1 : 0;
}

/* Sets the word, unless another CPU was first: then that one's packet is within. */
static __always_inline int unconfirmed_set(struct rl_hot_slot *slot, __u64 word, __u64 next)
{
	return __sync_val_compare_and_swap(&slot->word, word, next) == word ? UNCONFIRMED_WITHIN
									    : UNCONFIRMED_REFUSED;
}

/* A packet of a key that has a slot: the rows `first`, `paced` and `LRU` of the table. */
static __always_inline int unconfirmed_again(struct packet *p, const struct rl_rule *rule,
					     struct rl_hot_set *set, struct rl_hot_slot *slot,
					     __u64 key, __u64 now_ns)
{
	__u64 word = READ_ONCE(slot->word), now = gcra_now(now_ns);
	__u64 fingerprint = READ_ONCE(slot->fingerprint), debt = hot_debt(word, now);
	enum hot_kind kind = hot_kind(fingerprint);

	if ((fingerprint & ~HOT_FLAGS) != key)
		return UNCONFIRMED_LOOK;
	if (kind == HOT_IS_REFUSED) {
		unconfirmed_hint(rule, set, now);
		return UNCONFIRMED_ASK;
	}
	if (!unconfirmed_may(p, rule, kind, word, now))
		return UNCONFIRMED_REFUSED;
	if (!debt && rule->flags & RL_RULE_BYTES)
		return UNCONFIRMED_ASK;
	if (!debt && is_several(p, rule)) {
		unconfirmed_confirm(rule, set, slot, key, word, now); /* with nothing to enter */
		return UNCONFIRMED_ASK;
	}
	if (!debt) { /* -> first */
		hot_flag(slot, key, HOT_AGAIN, 0);
		return unconfirmed_set(slot, word,
				       unconfirmed_until(rule, now_ns) - unconfirmed_credit(rule));
	}
	if (kind != HOT_SEEN_AGAIN) {
		if (creation_allowed(rule)) {
			p->since_ns = unconfirmed_confirm(rule, set, slot, key, word, now);
			return UNCONFIRMED_ASK;
		}
		if (!unconfirmed_paced(p, rule, debt))
			return UNCONFIRMED_REFUSED;
		hot_mark(slot, key);
	}
	return unconfirmed_set(slot, word, now + rule->unconfirmed.span); /* -> paced */
}

/* Asks the hot table and counts the packet there if it is within. p->since_ns: set if an earlier
 * packet is to be entered in the LRU first. enum unconfirmed. */
__noinline int unconfirmed_try(struct packet *p, const struct rl_rule *rule, __u64 now_ns)
{
	struct rl_hot_set *set;
	struct rl_hot_slot *slot;
	struct hot_key key;

	if (!p || !rule)
		return UNCONFIRMED_REFUSED;
	slot = hot_find(p, rule, &key, &set);
	p->since_ns = 0;
	p->receipt.grains = 0; /* nothing in the LRU to refund */
	if (slot)
		return unconfirmed_again(p, rule, set, slot, key.fingerprint, now_ns);
	if (!set || rule->flags & RL_RULE_BYTES)
		return UNCONFIRMED_ASK;
	if (hot_has_spilled(set, gcra_now(now_ns)) || is_several(p, rule))
		return UNCONFIRMED_LOOK;
	pressure_count(RL_PRESSURE_STRANGERS); /* -> first */
	hot_insert(set, key.fingerprint, unconfirmed_until(rule, now_ns), gcra_now(now_ns));
	return UNCONFIRMED_WITHIN;
}

/* A packet of a key that no LRU holds, though the row `none` (1) or a slot said so: ASK if a state
 * may be made for it, else -> first, or -> paced where a word does not hold it. enum unconfirmed.
 */
__noinline int unconfirmed_enter(struct packet *p, const struct rl_rule *rule, __u64 now_ns)
{
	__u64 now = gcra_now(now_ns), until, *spilt;
	struct rl_hot_slot *slot;
	struct rl_hot_set *set;
	struct hot_key key;
	bool bytes, paced;

	if (!p || !rule)
		return UNCONFIRMED_REFUSED;
	key = hot_key_build(p, rule);
	set = bpf_map_lookup_elem(&hot, &key.set);
	bytes = !costs_one(p, rule);
	if (!set || (bytes && creation_allowed(rule))) {
		if (set && is_several(p, rule))
			unconfirmed_hint(rule, set, now);
		return UNCONFIRMED_ASK;
	}
	spilt = hot_has_spilled(set, now) ? bpf_map_lookup_elem(&spilled, &key.fingerprint) : NULL;
	paced = bytes || (spilt && hot_debt(*spilt, now));
	if (!unconfirmed_fits(p, rule) ||
	    (spilt && !unconfirmed_may(p, rule, HOT_SEEN_AGAIN, *spilt, now)))
		return UNCONFIRMED_REFUSED;
	until = paced ? now + rule->unconfirmed.span : unconfirmed_until(rule, now_ns);
	pressure_count(RL_PRESSURE_STRANGERS);
	slot = hot_match(set, key.fingerprint); /* late: 6.1 forgets on the stack what it is */
	if (!slot) {
		hot_insert(set, key.fingerprint | (paced ? HOT_AGAIN : 0), until, now);
		return UNCONFIRMED_WITHIN;
	}
	hot_flag(slot, key.fingerprint, HOT_REFUSED, 0); /* of a state the LRU has let go */
	if (paced)
		hot_mark(slot, key.fingerprint);
	hot_set(slot, key.fingerprint, until);
	return UNCONFIRMED_WITHIN;
}

/* ---- the LRU, for keys that it holds */

/* A refusal of the LRU with a known end is cached in the key's slot. */
__noinline int unconfirmed_lru_admits(struct packet *p, const struct rl_rule *rule, __u64 now_ns)
{
	__u64 until_ns = 0;

	if (!p || !rule)
		return 0;
	if (lru_admits_until(p, rule, now_ns, &until_ns))
		return 1;
	if (!costs_one(p, rule) || !until_ns)
		return 0;
	key_refusal_put(p, rule, now_ns, until_ns);
	full_barrier(&p->receipt.grains);
	if (lru_admits_until(p, rule, now_ns, &until_ns))
		refusal_clear(p, rule);
	return 0;
}

/* Enters a packet that came before, at since_ns: of a limit in packets it was one. */
static __always_inline void lru_enter(struct packet *p, const struct rl_rule *rule, __u64 since_ns)
{
	__u32 segments = p->segments;

	if (config.frames_are_skbs)
		p->segments = 1;
	lru_consume(p, rule, since_ns);
	if (config.frames_are_skbs)
		p->segments = segments;
}

/* The key is in the LRU but has no hot slot: sets the hint. */
__noinline int unconfirmed_tell(struct packet *p, const struct rl_rule *rule, __u64 now_ns)
{
	struct rl_hot_set *set;
	struct hot_key key;

	if (!p || !rule)
		return 0;
	key = hot_key_build(p, rule);
	set = bpf_map_lookup_elem(&hot, &key.set);
	if (set)
		unconfirmed_hint(rule, set, gcra_now(now_ns));
	return 0;
}

/* ---- the limit */

/* The result of the hot table; writes nothing. enum unconfirmed. */
static __always_inline int unconfirmed_peek(struct packet *p, const struct rl_rule *rule, __u64 now)
{
	struct rl_hot_set *set;
	struct hot_key key;
	struct rl_hot_slot *slot = hot_find(p, rule, &key, &set);
	__u64 word, fingerprint;
	enum hot_kind kind;

	if (!set)
		return UNCONFIRMED_ASK;
	if (!slot)
		return !costs_one(p, rule) || hot_has_spilled(set, now) ? UNCONFIRMED_ASK
									: UNCONFIRMED_WITHIN;
	word = READ_ONCE(slot->word);
	fingerprint = READ_ONCE(slot->fingerprint);
	kind = hot_kind(fingerprint);
	if ((fingerprint & ~HOT_FLAGS) != key.fingerprint)
		return UNCONFIRMED_ASK;
	if (kind == HOT_IS_REFUSED)
		return key_refusal_holds(rule->generation, word, now) ? UNCONFIRMED_REFUSED
								      : UNCONFIRMED_ASK;
	return unconfirmed_may(p, rule, kind, word, now) ? UNCONFIRMED_WITHIN : UNCONFIRMED_REFUSED;
}

static __always_inline bool unconfirmed_admits(struct packet *p, const struct rl_rule *rule,
					       __u64 now_ns)
{
	int result = unconfirmed_peek(p, rule, gcra_now(now_ns));

	if (result == UNCONFIRMED_ASK)
		return unconfirmed_lru_admits(p, rule, now_ns);
	return result == UNCONFIRMED_WITHIN;
}

static __always_inline int unconfirmed_consume(struct packet *p, const struct rl_rule *rule,
					       __u64 now_ns)
{
	int result = unconfirmed_try(p, rule, now_ns);

	if (result == UNCONFIRMED_ASK && p->since_ns)
		lru_enter(p, rule, p->since_ns - 1);
	else if (result >= UNCONFIRMED_ASK && !lru_holds(p, rule))
		result = unconfirmed_enter(p, rule, now_ns);
	else if (result == UNCONFIRMED_LOOK)
		unconfirmed_tell(p, rule, now_ns);
	if (result >= UNCONFIRMED_ASK)
		return lru_consume(p, rule, now_ns);
	return result == UNCONFIRMED_WITHIN ? OUTCOME_WITHIN : OUTCOME_OVER;
}

/* Gives back what the hot table counted, or what the LRU did, if that has it by now. */
static __always_inline void unconfirmed_refund(struct packet *p, const struct rl_rule *rule)
{
	struct rl_hot_set *set;
	struct hot_key key;
	struct rl_hot_slot *slot = hot_find(p, rule, &key, &set);
	enum hot_kind kind = slot ? hot_kind(READ_ONCE(slot->fingerprint)) : HOT_IS_REFUSED;

	if (kind == HOT_IS_REFUSED)
		lru_refund(p, rule);
	else if (kind == HOT_SEEN_AGAIN)
		hot_return(slot, key.fingerprint, rule->unconfirmed.pace);
	else
		hot_clear(slot, key.fingerprint);
}
