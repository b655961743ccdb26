/* SPDX-License-Identifier: GPL-2.0-only */
/* Refusals that stand: of an address that its first limit refuses for certain until some time,
 * whatever the packet. In a flood most packets end here: they cost half a cache line, and no
 * look-up of prefix, rule or bucket.
 *
 * They are words of eight bytes (algorithm/standing_word.h), four to a set, in a map of their own:
 * a mebibyte by default, so that they stay in a core's own cache whatever else wants the shared
 * one. A word is of the address under the policy's generation, so that a change leaves none. It
 * takes the place of none that still holds; who finds no room is refused by the bucket. Whose
 * refusals may stand is said when a policy is compiled (compile.c: rule_stands); that this packet
 * met no condition on its way is seen here (packet.steady).
 *
 * Two addresses of one set are taken for one, for a second at most, once in 2^34 such pairs.
 *
 * Of limits that go by the tick clock, which gives all packets of a tick the same answer. A sliding
 * log goes by the precise one: its refusals end two ticks early, because a tick may be late.
 *
 * Races: a word is written as a whole; of two CPUs that write one the later is kept. A bucket that
 * is given back admits earlier. Who gives back does so first and then takes the refusal away; who
 * refuses looks at the bucket once more afterwards.
 */
#ifndef RLCTL_STANDING_H
#define RLCTL_STANDING_H

#include "algorithm/once.h"
#include "algorithm/standing_word.h"
#include "newcomer.h"

const volatile __u32 refusal_mask = 0; /* sets - 1; set at attach */

/* Is the address of those that a refusal can stand for? */
static __always_inline bool standing_may(const struct packet *p, __u32 uses)
{
	return uses & (p->flags & PACKET_IPV4 ? RL_USE_STANDING4 : RL_USE_STANDING6);
}

/* *time: now_ns, as the set goes by it. */
static __always_inline struct rl_refusal_set *refusal_set_of(const struct packet *p, __u64 now_ns,
							     __u64 *time)
{
	__u32 index = standing_set(p->home_hash, refusal_mask);

	*time = standing_time(now_ns, index);
	return bpf_map_lookup_elem(&refusals, &index);
}

/* 1 if the way is the owner's, else 0; without a branch, as hot_is_way. */
static __always_inline __u64 refusal_is_way(const struct rl_refusal_set *set, int way, __u64 owner)
{
	__u64 differs = (set->word[way] ^ owner) >> STANDING_OWNER_SHIFT;

	barrier_var(differs);
	return (differs - 1) >> 63;
}

/* The word of the refusal that stands; 0: none does. */
static __always_inline __u64 standing_find(const struct packet *p)
{
	__u64 owner, second, third, fourth, way, word, time;
	struct rl_refusal_set *set = refusal_set_of(p, clock_tick(), &time);

	if (!set)
		return 0;
	owner = standing_owner(p->home_hash, p->generation, time);
	second = refusal_is_way(set, 1, owner);
	third = refusal_is_way(set, 2, owner);
	fourth = refusal_is_way(set, 3, owner);
	way = second | third << 1 | fourth * 3;
	barrier_var(way);
	word = READ_ONCE(set->word[way & (RL_REFUSAL_WAYS - 1)]);
	if (!standing_is_of(word, owner) || standing_unit(time) >= standing_end_unit(word))
		return 0;
	return word;
}

/* Is there room for a refusal? Asked first, because where there is none there will be none for
 * long. */
static __always_inline bool standing_has_room(const struct packet *p)
{
	__u64 time;
	struct rl_refusal_set *set = refusal_set_of(p, clock_tick(), &time);

	if (!p->steady || !set)
		return false;
#pragma unroll
	for (int i = 0; i < RL_REFUSAL_WAYS; i++)
		if (standing_is_idle(set->word[i], time))
			return true;
	return false;
}

__noinline int standing_put(struct packet *p, const struct rl_rule *rule, __u64 left_ns,
			    __u64 now_ns)
{
	__u64 tick_ns = rule && rule->clock == RL_CLOCK_TICK && !clock_injected ? clock_tick_ns : 0;
	struct rl_refusal_set *set;
	__u64 owner, word, time;
	int way = -1;

	if (!p || !rule)
		return 0;
	set = refusal_set_of(p, now_ns, &time);
	owner = standing_owner(p->home_hash, p->generation, time);
	word = standing_word(owner, time, time + left_ns, tick_ns, rule->slot);
	if (!set || !word)
		return 0;
	for (int i = 0; i < RL_REFUSAL_WAYS; i++) {
		__u64 old = READ_ONCE(set->word[i]);

		if (standing_is_of(old, owner)) { /* the one that has just ended */
			way = i;
			break;
		}
		if (way < 0 && standing_is_idle(old, time))
			way = i;
	}
	if (way >= 0)
		WRITE_ONCE(set->word[way & (RL_REFUSAL_WAYS - 1)], word);
	return 0;
}

/* What was refused for certain is to be asked again. Two CPUs may have taken a way each. */
__noinline int standing_end(struct packet *p, const struct rl_rule *rule)
{
	struct rl_refusal_set *set;
	__u64 owner, time;

	if (!p || !rule)
		return 0;
	set = refusal_set_of(p, clock_tick(), &time);
	owner = standing_owner(p->home_hash, p->generation, time);
	for (int i = 0; set && i < RL_REFUSAL_WAYS; i++)
		if (standing_is_of(READ_ONCE(set->word[i]), owner))
			WRITE_ONCE(set->word[i], 0);
	return 0;
}

/* The first instant at which a limit may admit what it has just refused; not after `now`: unknown.
 */
static __always_inline __u64 standing_until(const struct rl_rule *rule,
					    const struct rl_hot_slot *slot, __u64 word, __u64 now)
{
	if (rule->place == RL_PLACE_NEWCOMER)
		return newcomer_until_may(rule, READ_ONCE(slot->fingerprint), word, now);
	return word - now > rule->gcra.capacity ? now : gcra_until(&rule->gcra, word);
}

/* The limit has just refused the packet: lets that stand. */
static __always_inline void standing_keep(struct packet *p, const struct rl_rule *rule)
{
	struct rl_hot_set *set;
	struct hot_key key;
	struct rl_hot_slot *slot = hot_find(p, rule, &key, &set);
	__u64 now_ns = clock_tick(), now = gcra_now(now_ns), word, until;

	if (!slot)
		return;
	word = READ_ONCE(slot->word);
	until = standing_until(rule, slot, word, now);
	if (rule->clock == RL_CLOCK_PRECISE)
		until -= 2 * gcra_now(clock_tick_ns);
	if ((__s64)(until - now) <= 0)
		return;
	standing_put(p, rule, (until - now) >> RL_GRAIN_SHIFT, now_ns);
	full_barrier(&p->receipt.grains);
	if (READ_ONCE(slot->word) != word || !hot_is(slot, key.fingerprint))
		standing_end(p, rule);
}

#endif
