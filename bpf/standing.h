/* SPDX-License-Identifier: GPL-2.0-only */
/* Refusals that stand: of an address that its first limit refuses for certain until some time,
 * whatever the packet. In a flood most packets end here: they cost one line of the hot table, and
 * no look-up of prefix, rule or bucket.
 *
 * It is a slot of the hot table with HOT_REFUSED. Its fingerprint is the address under the policy's
 * generation, so that a swap leaves none; its word is until when, and by which rule's counters
 * (algorithm/standing_word.h). It takes no slot from anybody who owes, and gives its own to whoever
 * wants one. Whose refusals may stand is said when a policy is compiled (compile.c: rule_stands);
 * that this packet met no condition on its way is seen here (packet.steady).
 *
 * Of limits that go by the tick clock, which gives all packets of a tick the same answer. A sliding
 * log goes by the precise one: its refusals end two ticks early, because a tick may be late.
 *
 * Races: a bucket that is given back admits earlier. Who gives back does so first and then takes
 * the refusal away; who refuses looks at the bucket once more afterwards.
 */
#ifndef RLCTL_STANDING_H
#define RLCTL_STANDING_H

#include "algorithm/standing_word.h"
#include "newcomer.h"

/* So that what two CPUs do at once is never for longer, nor a way kept when nobody asks any more.
 */
#define STANDING_MOST (1000000000ULL << RL_GRAIN_SHIFT)

static __always_inline struct hot_key standing_key(const struct packet *p, __u64 generation)
{
	return hot_standing_key(p->home_hash, generation, hot_mask);
}

/* Is the address of those that a refusal can stand for? */
static __always_inline bool standing_may(const struct packet *p, __u32 uses)
{
	return uses & (p->flags & PACKET_IPV4 ? RL_USE_STANDING4 : RL_USE_STANDING6);
}

/* The word of the refusal that stands; 0: none does. */
static __always_inline __u64 standing_find(const struct packet *p, __u64 generation)
{
	struct hot_key key = standing_key(p, generation);
	struct rl_hot_set *set = bpf_map_lookup_elem(&hot, &key.set);
	struct rl_hot_slot *slot = set ? hot_match(set, key.fingerprint) : NULL;
	__u64 word, debt;

	if (!slot)
		return 0;
	word = *(volatile __u64 *)&slot->word;
	debt = hot_debt(word, gcra_now(clock_tick()));
	if (!debt || debt > 2 * STANDING_MOST || !hot_is(slot, key.fingerprint))
		return 0;
	return word;
}

/* A way that holds nothing any more; buckets take the first ones. */
static __always_inline struct rl_hot_slot *standing_idle(struct rl_hot_set *set, __u64 now)
{
#pragma unroll
	for (int i = RL_HOT_WAYS - 1; i >= 0; i--)
		if (!hot_debt(set->slot[i].word, now))
			return &set->slot[i];
	return NULL;
}

/* Is there room for a refusal? Asked first, because where there is none there will be none for
 * long. */
static __always_inline bool standing_has_room(const struct packet *p)
{
	struct hot_key key = standing_key(p, 0);
	struct rl_hot_set *set = bpf_map_lookup_elem(&hot, &key.set);

	return p->steady && set && standing_idle(set, gcra_now(clock_tick()));
}

__noinline int standing_put(struct packet *p, const struct rl_rule *rule, __u64 until, __u64 now)
{
	struct rl_hot_slot *slot;
	struct rl_hot_set *set;
	struct hot_key key;
	__u64 word;

	if (!p || !rule)
		return 0;
	key = standing_key(p, rule->generation);
	set = bpf_map_lookup_elem(&hot, &key.set);
	if (!set)
		return 0;
	word = standing_word(until, now, rule->clock == RL_CLOCK_TICK && !clock_injected,
			     rule->slot);
	slot = hot_match(set, key.fingerprint);
	if (slot) {
		hot_set(slot, key.fingerprint, word);
		return 0;
	}
	slot = standing_idle(set, now);
	if (slot)
		hot_give(set, slot, key.fingerprint | HOT_REFUSED, word, now, true);
	return 0;
}

/* What was refused for certain is to be asked again. Two CPUs may have taken a way each. */
__noinline int standing_end(struct packet *p, const struct rl_rule *rule)
{
	struct rl_hot_set *set;
	struct hot_key key;

	if (!p || !rule)
		return 0;
	key = standing_key(p, rule->generation);
	set = bpf_map_lookup_elem(&hot, &key.set);
	for (int i = 0; set && i < RL_HOT_WAYS; i++)
		hot_clear(&set->slot[i], key.fingerprint);
	return 0;
}

/* The first instant at which a limit may admit what it has just refused; not after `now`: unknown.
 */
static __always_inline __u64 standing_until(const struct rl_rule *rule,
					    const struct rl_hot_slot *slot, __u64 word, __u64 now)
{
	if (rule->place == RL_PLACE_NEWCOMER)
		return newcomer_until_may(rule, *(volatile __u64 *)&slot->fingerprint, word, now);
	return word - now > rule->gcra.capacity ? now : gcra_until(&rule->gcra, word);
}

/* The limit has just refused the packet: lets that stand. */
static __always_inline void standing_keep(struct packet *p, const struct rl_rule *rule, __u64 now)
{
	struct hot_key key = hot_key_build(p, rule);
	struct rl_hot_set *set = bpf_map_lookup_elem(&hot, &key.set);
	struct rl_hot_slot *slot = set ? hot_match(set, key.fingerprint) : NULL;
	__u64 word, until;

	if (!slot)
		return;
	word = *(volatile __u64 *)&slot->word;
	until = standing_until(rule, slot, word, now);
	if (rule->clock == RL_CLOCK_PRECISE)
		until -= 2 * gcra_now(clock_tick_ns);
	if ((__s64)(until - now) <= 0)
		return;
	if (until - now > STANDING_MOST)
		until = now + STANDING_MOST;
	standing_put(p, rule, until, now);
	__sync_fetch_and_add(&p->taken, 0); /* a barrier between the two */
	if (*(volatile __u64 *)&slot->word != word || !hot_is(slot, key.fingerprint))
		standing_end(p, rule);
}

#endif
