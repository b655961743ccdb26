/* SPDX-License-Identifier: GPL-2.0-only */
/* Cached refusals: what a limit refuses for certain until some time is refused until then without
 * being computed again. There are two caches; their words are in algorithm/refusal_word.h, and none
 * is valid under another generation of the policy.
 *
 * Addresses: a map of their own, for addresses whose first limit is known to drop every packet
 * until a given time. In a flood most packets end here: half a cache line, and no look-up of
 * prefix, rule or bucket. Which limits may is decided when a policy is compiled (refusals.c:
 * rule_refusal_cached): those that hold for every packet of the address, or for every packet of one
 * class, and then packets of that class alone ask here. That this packet met no rules of a prefix
 * which might decide others is seen here (packet.cacheable). Four words of eight bytes are a set, a
 * mebibyte by default, so that they stay in a core's own cache. None takes the place of one that
 * still holds: without room the bucket refuses. Two addresses of one set are taken for one, for a
 * second at most, once in 2^32 such pairs. The tick clock gives all packets of a tick the same
 * result; a sliding log goes by the precise one: its refusals end two ticks early, because a tick
 * may be late.
 *
 * Keys: a key whose state is in an LRU has its refusal in its slot of the hot table
 * (HOT_IS_REFUSED): a line, and no look-up in the LRU.
 *
 * Race: another CPU may give back what the refusal was computed from. The CPU that refuses writes
 * the refusal, then reads the state once more and clears the refusal if the state has changed; the
 * CPU that gives back does that first and then clears the refusal. With a full barrier between the
 * two steps, one of them sees the other. When two CPUs write a word at once, the later write stays.
 */
#pragma once

#include "algorithm/once.h"
#include "algorithm/refusal_word.h"
#include "clock.h"
#include "limit/hot.h"

/* ---- of addresses */

static __always_inline bool refusal_class_holds(const struct packet *p,
						const struct rl_refusal_class *class)
{
	if (!(p->flags & PACKET_IPV4) && !class->ipv6)
		return false;
	if (class->match & RL_MATCH_PROTO && p->proto != class->proto)
		return false;
	return !(class->match & RL_MATCH_DPORT) ||
	       (p->flags & PACKET_PORTS && p->dport >= class->dport_first &&
		p->dport <= class->dport_last);
}

/* May the packet have one under this policy? Only in the hot table do limits have them. */
static __always_inline bool refusal_may(const struct packet *p,
					const struct rl_policy_header *header)
{
	__u32 family = p->flags & PACKET_IPV4 ? RL_USE_REFUSALS4 : RL_USE_REFUSALS6;

	return header->uses & family ||
	       (RL_REFUSES_CLASS(header) && refusal_class_holds(p, &header->refusal_class));
}

/* *time: now_ns, as the set goes by it. */
static __always_inline struct rl_refusal_set *refusal_set_find(const struct packet *p, __u64 now_ns,
							       __u64 *time)
{
	__u32 index = refusal_index(p->lookup_hash, config.refusal_mask);

	*time = refusal_time(now_ns, index);
	return bpf_map_lookup_elem(&refusals, &index);
}

/* 1 if the way is the owner's, else 0; without a branch, as hot_is_way. */
static __always_inline __u64 refusal_is_way(const struct rl_refusal_set *set, int way, __u64 owner)
{
	__u64 differs = (set->word[way] ^ owner) >> REFUSAL_OWNER_SHIFT;

	barrier_var(differs);
	return (differs - 1) >> 63;
}

/* The word of the address's refusal; 0: there is none that holds. */
static __always_inline __u64 refusal_find(const struct packet *p)
{
	__u64 owner, second, third, fourth, way, word, time;
	struct rl_refusal_set *set = refusal_set_find(p, clock_tick(), &time);

	if (!set)
		return 0;
	owner = refusal_owner(p->lookup_hash, p->generation, time);
	second = refusal_is_way(set, 1, owner);
	third = refusal_is_way(set, 2, owner);
	fourth = refusal_is_way(set, 3, owner);
	way = second | third << 1 | fourth * 3;
	barrier_var(way);
	word = READ_ONCE(set->word[way & (RL_REFUSAL_WAYS - 1)]);
	if (!refusal_is_of(word, owner) || refusal_unit(time) >= refusal_end_unit(word))
		return 0;
	return word;
}

/* Is there room for one? Asked first: where there is none, there will be none for a while. */
static __always_inline bool refusal_has_room(const struct packet *p)
{
	__u64 time;
	struct rl_refusal_set *set = refusal_set_find(p, clock_tick(), &time);

	if (!p->cacheable || !set)
		return false;
#pragma unroll
	for (int i = 0; i < RL_REFUSAL_WAYS; i++)
		if (refusal_is_idle(set->word[i], time))
			return true;
	return false;
}

__noinline int refusal_put(struct packet *p, const struct rl_rule *rule, __u64 left_ns,
			   __u64 now_ns)
{
	__u64 tick_ns = rule && rule->clock == RL_CLOCK_TICK && !config.clock_injected
				? config.clock_tick_ns
				: 0;
	struct rl_refusal_set *set;
	__u64 owner, word, time;
	int way = -1;

	if (!p || !rule)
		return 0;
	set = refusal_set_find(p, now_ns, &time);
	owner = refusal_owner(p->lookup_hash, p->generation, time);
	word = refusal_word(owner, time, time + left_ns, tick_ns, rule->counter_id);
	if (!set || !word)
		return 0;
	for (int i = 0; i < RL_REFUSAL_WAYS; i++) {
		__u64 old = READ_ONCE(set->word[i]);

		if (refusal_is_of(old, owner)) { /* the one that has just ended */
			way = i;
			break;
		}
		if (way < 0 && refusal_is_idle(old, time))
			way = i;
	}
	if (way >= 0)
		WRITE_ONCE(set->word[way & (RL_REFUSAL_WAYS - 1)], word);
	return 0;
}

/* Two CPUs may have taken a way each. */
__noinline int refusal_end(struct packet *p, const struct rl_rule *rule)
{
	struct rl_refusal_set *set;
	__u64 owner, time;

	if (!p || !rule)
		return 0;
	set = refusal_set_find(p, clock_tick(), &time);
	owner = refusal_owner(p->lookup_hash, p->generation, time);
	for (int i = 0; set && i < RL_REFUSAL_WAYS; i++)
		if (refusal_is_of(READ_ONCE(set->word[i]), owner))
			WRITE_ONCE(set->word[i], 0);
	return 0;
}

/* ---- of keys whose state is in an LRU */

static __always_inline void key_refusal_put(struct packet *p, const struct rl_rule *rule,
					    __u64 now_ns, __u64 until_ns)
{
	struct rl_hot_set *set;
	struct hot_key key;
	struct rl_hot_slot *slot = hot_find(p, rule, &key, &set);
	__u64 word;

	if ((__s64)(until_ns - now_ns) > (__s64)KEY_REFUSAL_NS)
		until_ns = now_ns + KEY_REFUSAL_NS;
	word = key_refusal_word(rule->generation, gcra_now(until_ns));
	if (slot && hot_kind(slot->fingerprint) == HOT_IS_REFUSED)
		hot_set(slot, key.fingerprint, word);
	else if (set && !slot)
		hot_insert(set, key.fingerprint | HOT_REFUSED, word, gcra_now(now_ns));
}

static __always_inline void key_refusal_end(struct packet *p, const struct rl_rule *rule)
{
	struct rl_hot_set *set;
	struct hot_key key;
	struct rl_hot_slot *slot = hot_find(p, rule, &key, &set);

	if (slot && hot_kind(slot->fingerprint) == HOT_IS_REFUSED)
		hot_clear(slot, key.fingerprint);
}

/* Something was given back: the limit is to be asked again. */
static __always_inline void refusal_clear(struct packet *p, const struct rl_rule *rule)
{
	if (config.keeps_states && rule->backend == RL_BACKEND_UNCONFIRMED)
		key_refusal_end(p, rule);
	if (rule->flags & RL_RULE_REFUSAL_CACHED)
		refusal_end(p, rule);
}
