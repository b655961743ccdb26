/* SPDX-License-Identifier: GPL-2.0-only */
/* The rules of one prefix, set or device that hold for a packet: allow before deny before limits.
 * Changes nothing but the packet's decision.
 */
#pragma once

#include "algorithm/once.h"
#include "clock.h"
#include "limit/counters.h"
#include "match/index.h"
#include "match/match.h"
#include "limit/plan.h"
#include "limit/state.h"

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

/* Sets whose longest member around an address has this length. */
struct set_length {
	__u64 sets; /* a bit each */
	__u32 len;  /* as in rl_prefix_key */
	__u32 pad;
};

/* The question to the table of members: for an address, and then for each length. See sets.h. */
struct member_query {
	__u64 epochs, pages; /* of the layout */
	__u64 addr[2];       /* the first `len` bits; IPv4: addr[0], as it stands in the packet */
	__u64 hash;
	__u64 lengths[2]; /* that are left: bit n - 1 of 128 */
	__u64 seen;       /* sets of which a longer length is a member */
	__u32 zero;       /* the length 0 is left */
	__u32 wanted;     /* what a slot with it has besides the set and the epoch */
	__u32 now;        /* member_time() */
	__u32 page;
	__u16 ipv4;
	__u8 again; /* 1: the table has changed meanwhile, and the result is void */
	__u8 apart; /* 1: each page is asked by itself, for a writer is at work */
};

/* A packet on its way to a verdict: the limits that apply, then who decided and why. Limits have
 * bits in the order in which they were found, those of its prefix before those of the device. */
struct decision {
	struct packet p;
	__u32 limits;           /* that apply, 0..DECISION_MAX; their bits are as many, from 0 on */
	__u32 at[DECISION_MAX]; /* the rule of each bit: index into the rules array */
	__u32 unasked;          /* bits: no peek at them yet */
	__u32 uncharged;        /* bits: nothing consumed from them yet */
	__u32 current;          /* the bit of the limit that is peeked at or charged */
	__u32 shadowed;         /* bits: would have dropped it */
	__u8 decided;  /* 1: counter_id is valid; beside shadowed, so that one store zeroes all */
	__u8 counted;  /* 1: it passes, and its limits have counted it */
	__u16 alarmed; /* bits: alarms that have counted it */
	__u32 counter_id; /* counters of the one rule that decided alone (allow, deny, over) */
	struct plan plan[DECISION_MAX];       /* of each limit that matched */
	struct shared_refusal shared_refusal; /* stays from packet to packet */
	__u32 half;                           /* of the policy; with walks_index */
#if EXTENDED
	/* With has_alarms: which are on, and when this CPU has looked. They stay from packet to
	 * packet. */
	__u64 alarms_ns; /* by the tick clock */
	__u64 alarms_generation;
	__u32 alarms_on;
	struct rl_filter_view filter_view; /* filter.h */
	/* Sets of which the lookup address is a member, by the length of that, descending: sets.h.
	 */
	__u32 set_lengths;
	__u32 length_at;   /* of these, the one that is asked */
	__u32 length_over; /* it was the last */
	struct set_length set_length[RL_SET_PREFIX_MAX];
	struct member_query query;
	struct rl_prefix_key length_key; /* of lengths.h: the stack has no room for it */
#endif
};

/* The packet that this CPU is at, and the last refusal: programs run to their end, and the stack
 * has no room for it. */
MAP(scratch, PERCPU_ARRAY, 0, 1, __u32, struct decision);

static __always_inline struct decision *decision_begin(bool skb)
{
	struct decision *d = only(&scratch);

	if (!d)
		return NULL;
	d->p.precise_ns = 0;
	if (skb)
		d->p.wait = 0;
	d->p.sport = 0;
	d->p.dport = 0;
	d->p.flags = 0;
	d->p.proto = 0;
	d->p.cacheable = 0;
	d->p.proof = PROOF_UNASKED;
	d->limits = 0;
	d->shadowed = 0;
	d->decided = 0;
	d->counted = 0;
	d->alarmed = 0;
	return d;
}

enum found { FOUND_NONE, FOUND_ALLOW, FOUND_DENY, FOUND_LIMITS };

static __always_inline struct rl_rule *rule_at(__u32 index)
{
	return bpf_map_lookup_elem(&rules, &index);
}

/* The bits of all limits that apply. */
static __always_inline __u32 limits_bits(const struct decision *d)
{
	return (1u << d->limits) - 1;
}

/* The rule of bit i, 0..DECISION_MAX - 1. */
static __always_inline struct rl_rule *matched_rule(const struct decision *d, __u32 i)
{
	return rule_at(d->at[i & (DECISION_MAX - 1)]);
}

/* The limit gets the next bit. The policy compiler guarantees a free one: no packet matches
 * more than RL_GROUP_MAX of its prefix, and as many of the device. */
static __always_inline void limit_join(struct decision *d, __u32 at)
{
	__u32 bit = d->limits & (DECISION_MAX - 1);

	d->at[bit] = at;
	d->limits = bit + 1;
}

/* A rule that holds: its verdict, or a limit more. enum found. */
static __always_inline int rule_join(struct decision *d, const struct rl_rule *rule, __u32 at)
{
	if (rule->action != RL_ACTION_LIMIT) {
		d->counter_id = rule->counter_id;
		return rule->action == RL_ACTION_ALLOW ? FOUND_ALLOW : FOUND_DENY;
	}
	limit_join(d, at);
	return FOUND_LIMITS;
}

/* Rules of a group stand in the order allow, deny, limit, so the first that holds decides, and
 * where it is a limit all others that hold apply too. enum found. */
__noinline int each_collect(struct decision *d, __u32 first, __u32 count)
{
	int found = FOUND_NONE;

	if (!d)
		return FOUND_NONE;
	for (__u32 i = 0; i < RL_GROUP_MAX && i < count; i++) {
		struct rl_rule *rule = rule_at(first + i);

		if (!rule || !rule_holds(&d->p, rule))
			continue;
		found = rule_join(d, rule, first + i);
		if (found != FOUND_LIMITS)
			return found;
	}
	return found;
}

/* The same for the rules that the index names: the run of the packet's protocol and port. */
__noinline int index_collect(struct decision *d, __u32 root)
{
	int found = FOUND_NONE;
	struct index_run run;

	if (!d)
		return FOUND_NONE;
	index_find(&run, d->half, root, &d->p);
	for (__u32 i = 0; i < RL_RUN_MAX && i < run.count; i++) {
		__u32 at = index_rule(&run, i);
		struct rl_rule *rule = rule_at(at);

		if (!rule || !rule_holds(&d->p, rule))
			continue;
		found = rule_join(d, rule, at);
		if (found != FOUND_LIMITS)
			return found;
	}
	return found;
}

/* More than one limit that hold for every packet; apart, for most groups have one. */
__noinline int all_collect(struct decision *d, __u32 first, __u32 count)
{
	if (!d)
		return FOUND_NONE;
	for (__u32 i = 0; i < RL_GROUP_MAX && i < count; i++)
		limit_join(d, first + i);
	return FOUND_LIMITS;
}

/* The limits and verdicts of a group that hold. enum found. */
static __always_inline int group_collect(struct decision *d, const struct rl_range *range)
{
	__u32 first = range->first, count = range->count;

	if (!count)
		return FOUND_NONE;
	if (range->match_mode == RL_MATCH_MODE_EACH)
		return each_collect(d, first, count);
	if (EXTENDED && config.walks_index && range->match_mode == RL_MATCH_MODE_INDEXED)
		return index_collect(d, first);
	if (range->match_mode == RL_MATCH_MODE_NEW_SOURCE && source_is_known(&d->p))
		return FOUND_NONE;
	if (count > 1)
		return all_collect(d, first, count);
	limit_join(d, first);
	return FOUND_LIMITS;
}

static __always_inline int plain_collect(struct decision *d, __u32 counter_id, __u32 action)
{
	d->counter_id = counter_id;
	return action == RL_ACTION_ALLOW ? FOUND_ALLOW : FOUND_DENY;
}

static __always_inline int value_collect(struct decision *d, const struct rl_prefix_value *value)
{
	if (value->range.count)
		return group_collect(d, &value->range);
	if (is_expired(value->expires_ns))
		return FOUND_NONE;
	return plain_collect(d, value->counter_id, value->action);
}
