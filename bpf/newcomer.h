/* SPDX-License-Identifier: GPL-2.0-only */
/* Newcomers: keys of limits whose state is larger than a word. Until such a key comes back, the hot
 * table remembers its one packet, so that strangers make no state; then its state is made in an
 * LRU, and what it took is entered there. Only so many are made in a second, of each LRU so many
 * that none is filled anew in less than three seconds: beyond that the hot
 * table holds the key to a packet each `pace`, the limit's rate, until it has been silent for long
 * enough to be fresh again.
 *
 * Whatever changes a state in an LRU sees to it that the set's hint holds for as long as that state
 * matters: the slot may be lost before.
 *
 * A slot's word is until when its last packet matters, which also says when that was. With
 * HOT_AGAIN it is one that is paced. With HOT_REFUSED the state is in the LRU, and the word is
 * until when the limit refuses the key for certain, so that a flood costs one line and no look-up
 * there: rounded down by 4 us, with the policy's generation in the low bits, because other numbers
 * void it.
 *
 * Bound: what a paced key had before it was paced counts no more: at most one packet. Of limits in
 * bytes a first packet's length is not remembered, so that their states are made at once.
 *
 * Races: two CPUs that see a key come back at once: one of them enters what it took. A packet that
 * another CPU lets in meanwhile, before the state is there, is entered too, after it was counted:
 * the limit's bound holds but for that packet.
 */
#ifndef RLCTL_NEWCOMER_H
#define RLCTL_NEWCOMER_H

#include "algorithm/once.h"
#include "algorithm/sliding_window.h"
#include "hot.h"
#include "state.h"

#define REFUSAL_NS   1000000000ULL /* longer ones would keep a slot though nobody asks any more */
#define REFUSAL_MASK 0xffffULL     /* of a refusal's word: the generation */

/* From one creation to the next, of each CPU; at attach. */
const volatile __u64 creation_ns[RL_LRU_COUNT] = {1000, 1000, 1000, 1000};

/* NEWCOMER_LOOK: as NEWCOMER_ASK, but no slot says so: the LRU may hold the key. */
enum newcomer { NEWCOMER_REFUSED, NEWCOMER_WITHIN, NEWCOMER_ASK, NEWCOMER_LOOK };

/* Where the rule's states are, as state.h finds them. */
static __always_inline __u32 newcomer_lru(const struct rl_rule *rule)
{
	if (rule->limit.algorithm == RL_SLIDING_WINDOW)
		return RL_LRU_WINDOWS;
	if (rule->limit.algorithm == RL_SLIDING_LOG)
		return RL_LRU_LOGS;
	return key_is_long(rule) ? RL_LRU_FLOWS : RL_LRU_SOURCES;
}

static __always_inline bool creation_allowed(const struct rl_rule *rule)
{
	__u32 lru = newcomer_lru(rule);
	__u64 *next = bpf_map_lookup_elem(&creations, &lru), now_ns = clock_tick();

	if (!next)
		return false;
	if ((__s64)(*next - now_ns) < 0)
		*next = now_ns;
	if (*next - now_ns > RL_CREATION_SAVE_NS)
		return false;
	barrier_var(lru); /* the verifier has forgotten its bound on the way through the stack */
	*next += creation_ns[lru & (RL_LRU_COUNT - 1)];
	return true;
}

static __always_inline __u64 refusal_word(const struct rl_rule *rule, __u64 until)
{
	return (until & ~REFUSAL_MASK) | (rule->generation & REFUSAL_MASK);
}

static __always_inline bool refusal_holds(const struct rl_rule *rule, __u64 word, __u64 now)
{
	return hot_debt(word, now) && !((word ^ rule->generation) & REFUSAL_MASK);
}

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

/* Has a key that is paced waited for long enough? */
static __always_inline bool newcomer_paced(const struct packet *p, const struct rl_rule *rule,
					   __u64 debt)
{
	__u64 waited = rule->newcomer.span - debt;

	return (frames_are_skbs ? waited / packet_count(p) : waited) >= rule->newcomer.pace;
}

/* May a key that the hot table holds have another packet? */
static __always_inline bool newcomer_may(const struct packet *p, const struct rl_rule *rule,
					 __u64 fingerprint, __u64 word, __u64 now)
{
	__u64 debt = hot_debt(word, now);

	if (!debt)
		return true;
	if (fingerprint & HOT_AGAIN)
		return newcomer_paced(p, rule, debt);
	return rule->newcomer.span - debt >= rule->newcomer.wait;
}

/* Could a fresh state hold it? A packet of the device's MTU always fits, several may not. */
static __always_inline bool newcomer_fits(const struct packet *p, const struct rl_rule *rule)
{
	__u64 amount = rule->flags & RL_RULE_BYTES ? p->bytes : packet_count(p);

	return !frames_are_skbs || rule->limit.algorithm == RL_WARM_UP ||
	       amount <= rule->window.amount;
}

/* Writes nothing. NEWCOMER_ASK: the LRU knows. enum newcomer. */
static __always_inline int newcomer_peek(struct packet *p, const struct rl_rule *rule, __u64 now)
{
	struct hot_key key = hot_key_build(p, rule);
	struct rl_hot_set *set = bpf_map_lookup_elem(&hot, &key.set);
	struct rl_hot_slot *slot;
	__u64 word, fingerprint;

	if (!set)
		return NEWCOMER_ASK;
	slot = hot_match(set, key.fingerprint);
	if (!slot)
		return !costs_one(p, rule) || hot_has_spilled(set, now) ? NEWCOMER_ASK
									: NEWCOMER_WITHIN;
	word = READ_ONCE(slot->word);
	fingerprint = READ_ONCE(slot->fingerprint);
	if ((fingerprint & ~HOT_FLAGS) != key.fingerprint)
		return NEWCOMER_ASK;
	if (hot_kind(fingerprint) == HOT_IS_REFUSED)
		return refusal_holds(rule, word, now) ? NEWCOMER_REFUSED : NEWCOMER_ASK;
	return newcomer_may(p, rule, fingerprint, word, now) ? NEWCOMER_WITHIN : NEWCOMER_REFUSED;
}

/* When the first packet of a key no longer matters. */
static __always_inline __u64 newcomer_until(const struct rl_rule *rule, __u64 now_ns)
{
	const struct rl_window *w = &rule->window;

	if (rule->limit.algorithm != RL_SLIDING_WINDOW)
		return gcra_now(now_ns) + rule->newcomer.span;
	return gcra_now(sliding_window_begin(w, sliding_window_slot(w, now_ns) + w->slots));
}

/* When it came, in nanoseconds; in a sliding window, the beginning of the slot that it is in. */
static __always_inline __u64 newcomer_since(const struct rl_rule *rule, __u64 word)
{
	const struct rl_window *w = &rule->window;

	if (rule->limit.algorithm != RL_SLIDING_WINDOW)
		return (word - rule->newcomer.span) >> RL_GRAIN_SHIFT;
	return sliding_window_begin(w, sliding_window_slot(w, word >> RL_GRAIN_SHIFT) - w->slots);
}

/* Sets the word, unless another CPU was first: then that one took. */
static __always_inline int newcomer_set(struct rl_hot_slot *slot, __u64 word, __u64 next)
{
	return __sync_val_compare_and_swap(&slot->word, word, next) == word ? NEWCOMER_WITHIN
									    : NEWCOMER_REFUSED;
}

/* A state in an LRU is about to change. */
static __always_inline void newcomer_hint(const struct rl_rule *rule, struct rl_hot_set *set,
					  __u64 now)
{
	hot_hint_set(set, now, rule->newcomer.span);
}

/* The key came back: hands it over to the LRU. Answers when it took its packet, + 1, to the CPU
 * that is the first to. */
static __always_inline __u64 newcomer_promote(const struct rl_rule *rule, struct rl_hot_set *set,
					      struct rl_hot_slot *slot, __u64 key, __u64 word,
					      __u64 now)
{
	newcomer_hint(rule, set, now);
	return hot_flag(slot, key, 0, HOT_REFUSED) ? newcomer_since(rule, word) + 1 : 0;
}

/* Takes from a slot that holds the key. enum newcomer. */
static __always_inline int newcomer_again(struct packet *p, const struct rl_rule *rule,
					  struct rl_hot_set *set, struct rl_hot_slot *slot,
					  __u64 key, __u64 now_ns)
{
	__u64 word = READ_ONCE(slot->word), now = gcra_now(now_ns);
	__u64 fingerprint = READ_ONCE(slot->fingerprint), debt = hot_debt(word, now);

	if ((fingerprint & ~HOT_FLAGS) != key)
		return NEWCOMER_LOOK;
	if (hot_kind(fingerprint) == HOT_IS_REFUSED) {
		newcomer_hint(rule, set, now);
		return NEWCOMER_ASK;
	}
	if (!newcomer_may(p, rule, fingerprint, word, now))
		return NEWCOMER_REFUSED;
	if (!debt && rule->flags & RL_RULE_BYTES)
		return NEWCOMER_ASK;
	if (!debt && is_several(p, rule)) {
		newcomer_promote(rule, set, slot, key, word, now); /* with nothing to enter */
		return NEWCOMER_ASK;
	}
	if (!debt) {
		hot_flag(slot, key, HOT_AGAIN, 0);
		return newcomer_set(slot, word, newcomer_until(rule, now_ns));
	}
	if (!(fingerprint & HOT_AGAIN)) {
		if (creation_allowed(rule)) {
			p->since_ns = newcomer_promote(rule, set, slot, key, word, now);
			return NEWCOMER_ASK;
		}
		if (!newcomer_paced(p, rule, debt))
			return NEWCOMER_REFUSED;
		hot_mark(slot, key);
	}
	return newcomer_set(slot, word, now + rule->newcomer.span);
}

/* NEWCOMER_ASK: the LRU holds the key, or may. p->since_ns: when it took a packet that is to be
 * entered there first, in nanoseconds + 1; else 0. enum newcomer. */
static __always_inline int newcomer_take(struct packet *p, const struct rl_rule *rule, __u64 now_ns)
{
	struct rl_hot_set *set;
	struct hot_key key;
	struct rl_hot_slot *slot = hot_find(p, rule, &key, &set);

	p->since_ns = 0;
	if (slot)
		return newcomer_again(p, rule, set, slot, key.fingerprint, now_ns);
	if (!set || rule->flags & RL_RULE_BYTES)
		return NEWCOMER_ASK;
	if (hot_has_spilled(set, gcra_now(now_ns)) || is_several(p, rule))
		return NEWCOMER_LOOK;
	pressure_count(RL_PRESSURE_STRANGERS);
	hot_insert(set, key.fingerprint, newcomer_until(rule, now_ns), gcra_now(now_ns));
	return NEWCOMER_WITHIN;
}

/* For a key that no LRU holds: its first packet, or in bytes, where that is not remembered, a paced
 * one if no state may be made. NEWCOMER_ASK: a state may be made. enum newcomer. */
static __always_inline int newcomer_enter(struct packet *p, const struct rl_rule *rule,
					  __u64 now_ns)
{
	struct hot_key key = hot_key_build(p, rule);
	struct rl_hot_set *set = bpf_map_lookup_elem(&hot, &key.set);
	bool bytes = !costs_one(p, rule); /* or several packets: not remembered either */
	__u64 now = gcra_now(now_ns), until = now + rule->newcomer.span, *spilt;
	struct rl_hot_slot *slot;
	bool paced;

	if (!set || (bytes && creation_allowed(rule))) {
		if (set && is_several(p, rule))
			newcomer_hint(rule, set, now);
		return NEWCOMER_ASK;
	}
	spilt = hot_has_spilled(set, now) ? bpf_map_lookup_elem(&spilled, &key.fingerprint) : NULL;
	paced = bytes || (spilt && hot_debt(*spilt, now));
	if (!newcomer_fits(p, rule) || (spilt && !newcomer_may(p, rule, HOT_AGAIN, *spilt, now)))
		return NEWCOMER_REFUSED;
	if (!paced)
		until = newcomer_until(rule, now_ns);
	pressure_count(RL_PRESSURE_STRANGERS);
	slot = hot_match(set, key.fingerprint);
	if (!slot) {
		hot_insert(set, key.fingerprint | (paced ? HOT_AGAIN : 0), until, now);
		return NEWCOMER_WITHIN;
	}
	hot_flag(slot, key.fingerprint, HOT_REFUSED, 0); /* of a state the LRU has let go */
	if (paced)
		hot_mark(slot, key.fingerprint);
	hot_set(slot, key.fingerprint, until);
	return NEWCOMER_WITHIN;
}

/* Gives back what newcomer_take took, unless the LRU has it by now. */
static __always_inline bool newcomer_refund(struct packet *p, const struct rl_rule *rule)
{
	struct rl_hot_set *set;
	struct hot_key key;
	struct rl_hot_slot *slot = hot_find(p, rule, &key, &set);
	enum hot_kind kind = slot ? hot_kind(READ_ONCE(slot->fingerprint)) : HOT_IS_REFUSED;

	if (kind == HOT_IS_REFUSED)
		return false;
	if (kind == HOT_SEEN_AGAIN)
		hot_return(slot, key.fingerprint, rule->newcomer.pace);
	else
		hot_clear(slot, key.fingerprint);
	return true;
}

/* ---- refusals */

/* The first instant at which a key that is refused may be admitted; not after `now`: its slot does
 * not say. */
static __always_inline __u64 newcomer_until_may(const struct rl_rule *rule, __u64 fingerprint,
						__u64 word, __u64 now)
{
	const struct rl_newcomer *n = &rule->newcomer;

	if (hot_kind(fingerprint) == HOT_IS_REFUSED)
		return refusal_holds(rule, word, now) ? word & ~REFUSAL_MASK : now;
	return word - n->span + (fingerprint & HOT_AGAIN ? n->pace : n->wait);
}

static __always_inline void refusal_put(struct packet *p, const struct rl_rule *rule, __u64 now_ns,
					__u64 until_ns)
{
	struct rl_hot_set *set;
	struct hot_key key;
	struct rl_hot_slot *slot = hot_find(p, rule, &key, &set);
	__u64 word;

	if ((__s64)(until_ns - now_ns) > (__s64)REFUSAL_NS)
		until_ns = now_ns + REFUSAL_NS;
	word = refusal_word(rule, gcra_now(until_ns));
	if (slot && hot_kind(slot->fingerprint) == HOT_IS_REFUSED)
		hot_set(slot, key.fingerprint, word);
	else if (set && !slot)
		hot_insert(set, key.fingerprint | HOT_REFUSED, word, gcra_now(now_ns));
}

static __always_inline void refusal_pardon(struct packet *p, const struct rl_rule *rule)
{
	struct rl_hot_set *set;
	struct hot_key key;
	struct rl_hot_slot *slot = hot_find(p, rule, &key, &set);

	if (slot && hot_kind(slot->fingerprint) == HOT_IS_REFUSED)
		hot_clear(slot, key.fingerprint);
}

#endif
