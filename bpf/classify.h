/* SPDX-License-Identifier: GPL-2.0-only */
/* Which rules decide for a packet: longest prefix, allow before deny before limits, the next
 * shorter prefix where none matches, then the device's rules. Changes nothing; rlctl-policy(5).
 */
#ifndef RLCTL_BPF_CLASSIFY_H
#define RLCTL_BPF_CLASSIFY_H

#include "algorithm/once.h"
#include "clock.h"
#include "counters.h"
#include "index.h"
#include "prefix_cache.h"
#include "match.h"
#include "plan.h"
#include "state.h"

#define DECISION_MAX (2 * RL_GROUP_MAX) /* limits of the prefix and of the device */

/* The last refusal of this CPU by a limit that every packet meets: shared_refusal.h. */
struct shared_refusal {
	__u64 now_ns;     /* by the tick clock */
	__u64 generation; /* of the policy; 0: there is none */
	__u32 amount;     /* packets or bytes that were refused */
	__u32 counter_id;
	__u32 flags;   /* of the rule */
	__u64 scratch; /* of a barrier */
};

/* A packet on its way to a verdict: the limits that apply, then who decided and why. Bits of
 * `matched` are rules of the prefix's group, from 0 on, and then of the device's. */
struct decision {
	struct packet p;
	__u32 first[2]; /* where the two groups begin in the rules array, less their first bit */
	__u32 second;   /* the first bit of the device's */
	__u32 matched;
	__u32 unasked;   /* bits: no peek at them yet */
	__u32 uncharged; /* bits: nothing consumed from them yet */
	__u32 asked;     /* the bit of which something is asked */
	__u32 shadowed;  /* bits: would have dropped it */
	__u16 decided;   /* 1: counter_id is valid; beside shadowed, so that one store zeroes all */
	__u16 counted;   /* 1: it passes, and its limits have counted it */
	__u32 counter_id; /* counters of the one rule that decided alone (allow, deny, over) */
	struct plan plan[DECISION_MAX];       /* of each limit that matched */
	struct shared_refusal shared_refusal; /* stays from packet to packet */
	/* With walks_index. */
	__u32 half;             /* of the policy */
	__u32 limits;           /* limits that matched in the group that is walked */
	__u32 at[DECISION_MAX]; /* the rule of each bit: index into the rules array */
#if EXTENDED
	struct rl_filter_view filter_view; /* filter.h */
#endif
};

/* The packet that this CPU is at, and the last refusal: programs run to their end, and the stack
 * has no room for it. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct decision);
} scratch SEC(".maps");

static __always_inline struct decision *decision_begin(void)
{
	struct decision *d = only(&scratch);

	if (!d)
		return NULL;
	d->p.precise_ns = 0;
	if (frames_are_skbs)
		d->p.wait = 0;
	d->p.sport = 0;
	d->p.dport = 0;
	d->p.flags = 0;
	d->p.proto = 0;
	d->p.cacheable = 0;
	d->p.proof = PROOF_UNASKED;
	d->second = 0;
	d->matched = 0;
	d->shadowed = 0;
	d->decided = 0;
	d->counted = 0;
	return d;
}

enum found { FOUND_NONE, FOUND_ALLOW, FOUND_DENY, FOUND_LIMITS };

static __always_inline struct rl_rule *rule_at(__u32 index)
{
	return bpf_map_lookup_elem(&rules, &index);
}

/* The rule of bit i of `matched`, 0..DECISION_MAX - 1. */
static __always_inline struct rl_rule *matched_rule(const struct decision *d, __u32 i)
{
	__u32 index = (i < d->second ? d->first[0] : d->first[1]) + i;

	if (EXTENDED && walks_index)
		index = d->at[i & (DECISION_MAX - 1)];
	return rule_at(index);
}

/* Rules of a group stand in the order allow, deny, limit, so the first that holds decides, and
 * where it is a limit all others that hold apply too. `base` is their first bit. enum found. */
__noinline int group_walk(struct decision *d, __u32 first, __u32 count, __u32 base)
{
	int found = FOUND_NONE;

	if (!d)
		return FOUND_NONE;
	for (__u32 i = 0; i < RL_GROUP_MAX && i < count; i++) {
		struct rl_rule *rule = rule_at(first + i);

		if (!rule || !rule_holds(&d->p, rule))
			continue;
		if (rule->action == RL_ACTION_LIMIT) {
			d->matched |= 1u << ((base + i) & (DECISION_MAX - 1));
			found = FOUND_LIMITS;
		} else if (found == FOUND_NONE) {
			d->counter_id = rule->counter_id;
			return rule->action == RL_ACTION_ALLOW ? FOUND_ALLOW : FOUND_DENY;
		}
	}
	return found;
}

/* A rule of an indexed group holds: its verdict, or the limit gets the next bit. The compiler has
 * seen to it that there is one: no packet matches more than RL_GROUP_MAX limits. */
static __always_inline int indexed_holds(struct decision *d, const struct rl_rule *rule, __u32 at,
					 __u32 base)
{
	__u32 bit = (base + d->limits) & (DECISION_MAX - 1);

	if (rule->action != RL_ACTION_LIMIT) {
		d->counter_id = rule->counter_id;
		return rule->action == RL_ACTION_ALLOW ? FOUND_ALLOW : FOUND_DENY;
	}
	d->at[bit] = at;
	d->matched |= 1u << bit;
	d->limits++;
	return FOUND_LIMITS;
}

/* As group_walk, for the rules that the index names: the run of the packet's protocol and port. */
__noinline int index_walk(struct decision *d, __u32 root, __u32 base)
{
	int found = FOUND_NONE;
	struct index_run run;

	if (!d)
		return FOUND_NONE;
	d->limits = 0;
	index_find(&run, d->half, root, &d->p);
	for (__u32 i = 0; i < RL_RUN_MAX && i < run.count; i++) {
		__u32 at = index_rule(&run, i);
		struct rl_rule *rule = rule_at(at);

		if (!rule || !rule_holds(&d->p, rule))
			continue;
		found = indexed_holds(d, rule, at, base);
		if (found != FOUND_LIMITS || d->limits == RL_GROUP_MAX)
			return found;
	}
	return found;
}

/* The limits of this group have the bits from the first of their own on, without a gap. */
static __always_inline int indexed_collect(struct decision *d, __u32 root, __u32 group)
{
	int found = index_walk(d, root, group ? d->second : 0);

	if (!group)
		d->second = d->limits;
	return found;
}

/* A group without an index. */
static __always_inline int plain_group_collect(struct decision *d, const struct rl_range *range,
					       __u32 group)
{
	__u32 base = group ? d->second : 0;

	if (!range->count)
		return FOUND_NONE;
	d->first[group] = range->first - base;
	if (!group)
		d->second = range->count;
	if (range->match_mode == RL_MATCH_MODE_EACH)
		return group_walk(d, range->first, range->count, base);
	if (range->match_mode == RL_MATCH_MODE_NEW_SOURCE && source_is_known(&d->p))
		return FOUND_NONE;
	d->matched |= ((1u << range->count) - 1) << base;
	return FOUND_LIMITS;
}

/* Any group; apart, as only policies with an index call it. */
__noinline int group_collect_apart(struct decision *d, __u32 first, __u32 count, __u32 match_mode,
				   __u32 group)
{
	struct rl_range range = {.first = first, .count = count, .match_mode = match_mode};
	__u32 base;

	if (!d)
		return FOUND_NONE;
	if (match_mode == RL_MATCH_MODE_INDEXED)
		return indexed_collect(d, first, group);
	group &= 1; /* for the verifier */
	base = group ? d->second : 0;
	for (__u32 i = 0; i < RL_GROUP_MAX && i < count; i++)
		d->at[(base + i) & (DECISION_MAX - 1)] = first + i;
	return plain_group_collect(d, &range, group);
}

/* group: 0 for the prefix's, 1 for the device's. */
static __always_inline int group_collect(struct decision *d, const struct rl_range *range,
					 __u32 group)
{
	if (EXTENDED && walks_index)
		return group_collect_apart(d, range->first, range->count, range->match_mode, group);
	return plain_group_collect(d, range, group);
}

static __always_inline int plain_collect(struct decision *d, __u32 counter_id, __u32 action)
{
	d->counter_id = counter_id;
	return action == RL_ACTION_ALLOW ? FOUND_ALLOW : FOUND_DENY;
}

__noinline int value_collect(struct decision *d, const struct rl_prefix_value *value)
{
	if (!d || !value)
		return FOUND_NONE;
	if (value->range.count)
		return group_collect(d, &value->range, 0);
	if (is_expired(value->expires_ns))
		return FOUND_NONE;
	return plain_collect(d, value->counter_id, value->action);
}

static __always_inline void prefix_key(struct rl_prefix_key *key, const struct packet *p, __u32 len)
{
	__builtin_memset(key, 0, sizeof(*key));
	key->len = len;
	key->family = p->flags & PACKET_IPV4 ? 4 : 6;
	__builtin_memcpy(key->addr, packet_lookup_address(p), sizeof(key->addr));
}

/* The shortest prefix of the packet's family that the trie may hold. */
static __always_inline __u8 shortest_of(const struct packet *p,
					const struct rl_policy_header *header)
{
	return p->flags & PACKET_IPV4 ? header->shortest4 : header->shortest6;
}

/* From the longest prefix of at most `len` bits towards shorter ones, until one has a rule that
 * holds. enum found. */
__noinline int trie_collect(struct decision *d, const struct rl_policy_header *header, __u32 len)
{
	struct rl_prefix_key key;
	__u32 half;
	void *trie;

	if (!d || !header)
		return FOUND_NONE;
	half = header->half;
	trie = bpf_map_lookup_elem(&tries, &half);
	if (!trie)
		return FOUND_NONE;
	prefix_key(&key, &d->p, len);
	for (int depth = 0; depth < RL_NEST_MAX; depth++) {
		struct rl_prefix_value *value = bpf_map_lookup_elem(trie, &key);
		int found;

		if (!value)
			return FOUND_NONE;
		found = value_collect(d, value);
		if (found != FOUND_NONE || value->len <= shortest_of(&d->p, header))
			return found;
		key.len = value->len - 1;
	}
	return FOUND_NONE;
}

/* The answer for an address whose longest prefix has this value. */
static __always_inline __u64 answer_of(void *trie, struct rl_prefix_key *key,
				       const struct rl_prefix_value *value, __u8 shortest)
{
	const struct rl_rule *rule = rule_at(value->range.first);
	const struct rl_prefix_value *outer = NULL;

	if (EXTENDED && walks_index && value->range.match_mode == RL_MATCH_MODE_INDEXED)
		rule = NULL;
	if (value->range.count && value->len > shortest) {
		key->len = value->len - 1;
		outer = bpf_map_lookup_elem(trie, key);
	}
	return answer_pack((struct answer){
		.outer = outer ? outer->len : NO_OUTER,
		.first = value->range.first,
		.count = value->range.count,
		.match_mode = value->range.match_mode,
		.action = value->action,
		.counter_id = rule ? rule->counter_id : 0,
		.verdict_counter_id = value->counter_id,
	});
}

/* Asks the trie for the address's longest prefix, and keeps the answer unless it expires. 0 where
 * nothing can be kept. */
__noinline __u64 cache_miss(struct decision *d, const struct rl_policy_header *header, __u64 tag)
{
	__u64 answer = answer_pack((struct answer){.action = NO_PREFIX});
	struct rl_prefix_set *set = cache_set_of(tag);
	struct rl_prefix_value *value;
	struct rl_prefix_key key;
	__u32 half;
	void *trie;

	if (!d || !header || !set)
		return 0;
	half = header->half;
	trie = bpf_map_lookup_elem(&tries, &half);
	if (!trie)
		return 0;
	prefix_key(&key, &d->p, RL_FAMILY_BITS + 128);
	value = bpf_map_lookup_elem(trie, &key);
	if (value && value->expires_ns)
		return 0;
	if (value)
		answer = answer_of(trie, &key, value, shortest_of(&d->p, header));
	cache_put(set, tag, answer);
	return answer;
}

static __always_inline int answer_collect(struct decision *d, __u64 word,
					  const struct rl_policy_header *header)
{
	struct rl_range range;
	struct answer a;
	int found;

	answer_unpack(&a, word);
	range = (struct rl_range){.first = a.first, .count = a.count, .match_mode = a.match_mode};
	if (!a.count && a.action == NO_PREFIX)
		return FOUND_NONE;
	if (!a.count)
		return plain_collect(d, a.verdict_counter_id, a.action);
	if (a.match_mode != RL_MATCH_MODE_NONE)
		d->p.cacheable = 0;
	counters_expect(a.counter_id);
	found = group_collect(d, &range, 0);
	if (found != FOUND_NONE || a.outer == NO_OUTER)
		return found;
	return trie_collect(d, header, a.outer);
}

/* The rules of the packet's prefix, or of `any` where no prefix has one that holds. */
static __always_inline int prefix_collect(struct decision *d, const struct rl_policy_header *header)
{
	int found = FOUND_NONE;

	if (header->prefixes) {
		__u64 tag = cache_tag(&d->p, header->generation);
		struct rl_prefix_set *set = cache_set_of(tag);
		__u64 answer;

		if (hot_mask)
			hot_expect(&d->p);
		answer = set ? cache_find(set, tag) : 0;
		if (!answer)
			answer = cache_miss(d, header, tag);
		if (!answer)
			d->p.cacheable = 0;
		found = answer ? answer_collect(d, answer, header)
			       : trie_collect(d, header, RL_FAMILY_BITS + 128);
	}
	return found != FOUND_NONE ? found : group_collect(d, &header->any, 0);
}

static __always_inline int device_collect(struct decision *d, const struct rl_policy_header *header)
{
	return group_collect(d, &header->device, 1);
}

#endif
