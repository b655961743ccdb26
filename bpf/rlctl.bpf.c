// SPDX-License-Identifier: GPL-2.0-only
/* The entries of the data path: parse (packet.h, xdp.h, skb.h), classify, key, commit, account; the
 * others are files of that name; this one is their order. Only the program of the instance's hook
 * is loaded.
 */
#include <linux/pkt_cls.h>

#include "limit/account.h"
#include "limit/alarm.h"
#include "limit/commit.h"
#include "limit/pattern_refusal.h"
#include "match/filter.h"
#include "proof/peers.h"
#include "proof/proven.h"
#include "simulate.h"
#include "packet/skb.h"
#include "watch.h"
#include "packet/xdp.h"

static __always_inline enum rl_reason decided_alone(struct decision *d, enum rl_reason reason)
{
	d->decided = 1;
	return reason;
}

static __always_inline enum rl_reason policy_decide(struct decision *d,
						    const struct rl_policy_header *header)
{
	int found;

	if (EXTENDED && config.walks_index)
		d->half = header->half;
	found = prefix_collect(d, header);
	if (found == FOUND_ALLOW)
		return decided_alone(d, RL_REASON_ALLOWED);
	if (config.keeps_states && header->uses & RL_USE_SOURCE_BANS && source_is_banned(&d->p))
		return RL_REASON_BANNED;
	if (found == FOUND_DENY)
		return decided_alone(d, RL_REASON_DENIED);
	found = device_collect(d, header);
	if (found == FOUND_DENY)
		return decided_alone(d, RL_REASON_DENIED);
	if (EXTENDED && d->p.proof == PROOF_WANTED)
		return RL_REASON_UNMATCHED;
	if (d->limits) {
		found = limits_apply(d, header);
		return limits_reason(found, d->shadowed);
	}
	return found == FOUND_ALLOW ? decided_alone(d, RL_REASON_ALLOWED) : RL_REASON_UNMATCHED;
}

__noinline int policy_decide_apart(struct decision *d, const struct rl_policy_header *header)
{
	return d && header ? policy_decide(d, header) : RL_REASON_UNMATCHED;
}

/* With EXTENDED. */
static __always_inline enum rl_reason policy_prove(void *ctx, bool skb, struct decision *d,
						   const struct rl_policy_header *header)
{
	enum rl_reason reason = policy_decide_apart(d, header);

	if (d->p.proof == PROOF_WANTED) {
		is_established(ctx, skb, &d->p);
		decision_again(d);
		reason = policy_decide_apart(d, header);
	}
	return reason == RL_REASON_OVER ? over_decide(ctx, skb, d) : reason;
}

/* Has a limit that every packet meets refused such a packet in this tick? Then d->counter_id is the
 * rule's. */
static __always_inline bool refused_by_shared(struct decision *d,
					      const struct rl_policy_header *header)
{
	__u32 flags;

	if (!(header->uses & RL_USE_REFUSES))
		return false;
	flags = shared_refusal_find(d, header);
	if (!flags)
		return false;
	d->counter_id = d->shared_refusal.counter_id;
	if (flags & RL_RULE_REFUSES_ALL)
		return true;
	if (flags & RL_RULE_REFUSES_NEW)
		return is_new_source(&d->p);
	return flags & SHARED_GUARDED && !prefix_may(&d->p, header) &&
	       (!(flags & SHARED_NEW) || is_new_source(&d->p));
}

/* Then d->counter_id is the rule's. */
static __always_inline bool refusal_cached(struct decision *d,
					   const struct rl_policy_header *header)
{
	__u64 refusal;

	if (!refusal_may(&d->p, header))
		return false;
	d->p.generation = header->generation;
	refusal = refusal_find(&d->p);
	if (!refusal) {
		d->p.cacheable = 1;
		return false;
	}
	d->counter_id = refusal_counter_id(refusal);
	return true;
}

static __always_inline struct rl_policy_header *policy_header(void)
{
	void *current = only(&policy);

	return current ? only(current) : NULL;
}

/* Neighbour discovery passes every policy but one that names it: a flood that keeps a limit empty
 * would end IPv6 on the link. */
static __always_inline bool neighbours_pass(void)
{
	struct rl_policy_header *header = policy_header();

	return !header || !(header->uses & RL_USE_NEIGHBOURS);
}

#if EXTENDED

/* No socket has to be looked up to see that the packet is not established: a stranger's. */
static __always_inline void stranger_note(struct packet *p)
{
	if (!proof_is_possible(p))
		p->proof = PROOF_NONE;
	else if (!peer_may(p))
		p->proof = PROOF_STRANGER;
}

/* Do the refusals that are remembered hold for the packet? Where a rule asks who is established,
 * only for one that is not; an alarm may have looked that up already. */
static __always_inline bool refusals_hold(const struct packet *p, __u32 uses)
{
	if (!(uses & RL_USE_STRANGERS))
		return true;
	return p->proof >= PROOF_STRANGER &&
	       !(config.counts_alarms && p->proof == PROOF_ESTABLISHED);
}

/* The sets that its addresses are in, and the filters that hold. */
static __always_inline void facts_keep(void *ctx, bool skb, struct decision *d,
				       const struct rl_policy_header *header)
{
	/* The bytes that rules with `payload` compare: rules are classified without the packet
	 * itself. */
	if (config.matches_payload)
		skb ? skb_payload_copy(ctx, &d->p, header) : xdp_payload_copy(ctx, &d->p, header);
	if (config.walks_sets)
		sets_find(d, header);
	if (config.runs_filters)
		skb ? skb_filters(ctx, d) : xdp_filters(ctx, d);
}

/* Counts the packet for the alarms. Whether it is established is asked where one of them does. */
static __always_inline void alarms_keep(void *ctx, bool skb, struct decision *d,
					const struct rl_policy_header *header)
{
	if (header->uses & RL_USE_FACTS_FIRST)
		facts_keep(ctx, skb, d, header);
	alarms_look(d, header);
	alarms_count(d, header);
	if (d->p.proof != PROOF_WANTED)
		return;
	is_established(ctx, skb, &d->p);
	alarms_count(d, header);
}

/* Facts that rules need beside the headers; alarms have asked before. */
static __always_inline void rules_keep(void *ctx, bool skb, struct decision *d,
				       const struct rl_policy_header *header)
{
	if (config.shares_limits && config.asks_proof && d->p.facts.sender.busy)
		is_established(ctx, skb, &d->p);
	if (!config.counts_alarms || !(header->uses & RL_USE_FACTS_FIRST))
		facts_keep(ctx, skb, d, header);
	else if (config.walks_sets &&
		 (config.goes_by_dest ? d->p.facts.dst_sets : d->p.facts.src_sets))
		d->p.cacheable = 0;
}

/* Does a match hold that a rule has beside `new-source`? */
__noinline int known_by_holds(struct decision *d, const struct rl_policy_header *header)
{
	if (!config.known_by_match || !d || !header)
		return 0;
	for (__u32 i = 0; i < RL_KNOWN_BY_MAX && i < header->known_by.count; i++) {
		struct rl_rule *rule = rule_at(header->known_by.first + i);

		if (rule && rule_holds(&d->p, rule))
			return 1;
	}
	return 0;
}

/* A packet that passes: does it make its source known, or keep it so? */
static __always_inline bool may_become_known(void *ctx, bool skb, struct decision *d,
					     const struct rl_policy_header *header)
{
	if (header->uses & RL_USE_KNOWN_BY && !known_by_holds(d, header))
		return false;
	if (!is_uneasy(&d->p) || source_is_known(&d->p))
		return true;
	return is_established(ctx, skb, &d->p);
}

#else

static __always_inline bool refusals_hold(const struct packet *p, __u32 uses)
{
	return true;
}

static __always_inline bool may_become_known(void *ctx, bool skb, struct decision *d,
					     const struct rl_policy_header *header)
{
	return true;
}

#endif

static __always_inline enum rl_reason packet_decide(void *ctx, bool skb, struct decision *d)
{
	struct rl_policy_header *header = policy_header();
	enum rl_reason reason;

	if (!header)
		return RL_REASON_UNMATCHED;
	if (config.hot_mask || header->prefixes)
		d->p.lookup_hash = hot_word(&d->p, packet_lookup_address(&d->p));
#if EXTENDED
	if (config.reads_vlans)
		d->p.facts.number[RL_NUMBER_VLAN] = skb ? skb_vlan(ctx) : xdp_vlan(ctx);
	if (config.asks_proof && !config.no_shortcuts)
		stranger_note(&d->p);
	if (config.has_alarms)
		alarms_keep(ctx, skb, d, header);
	if (config.shares_limits) {
		shares_look(&d->p);
		d->p.facts.ripens_ms = header->ripens_ms;
		if (refused_by_pattern(d, header))
			return decided_alone(d, RL_REASON_OVER);
	}
#endif
	if (refusals_hold(&d->p, header->uses) &&
	    (refused_by_shared(d, header) || refusal_cached(d, header)))
		return decided_alone(d, RL_REASON_OVER);
#if EXTENDED
	rules_keep(ctx, skb, d, header);
#endif
	reason = EXTENDED ? policy_prove(ctx, skb, d, header) : policy_decide(d, header);
	if (header->uses & RL_USE_NEW_SOURCE && reason_passes(reason) &&
	    may_become_known(ctx, skb, d, header))
		source_remember(&d->p);
	if (EXTENDED && config.keeps_asked && reason_passes(reason))
		skb ? skb_they_began(ctx, &d->p) : xdp_they_began(ctx, &d->p);
	return reason;
}

/* The way of a packet, whatever the hook. */
static __always_inline enum rl_reason frame_decide(void *ctx, bool skb, struct decision *d,
						   enum parse parse)
{
	enum rl_reason reason;

	switch (parse) {
	case PARSE_NON_IP:
		reason = RL_REASON_NON_IP;
		break;
	case PARSE_MALFORMED:
		reason = RL_REASON_MALFORMED;
		break;
	case PARSE_NEIGHBOUR:
		if (neighbours_pass()) {
			reason = RL_REASON_ALLOWED;
			break;
		} /* fall through */
	default:
		reason = packet_decide(ctx, skb, d);
	}
	account(d, reason, skb ? packet_count(&d->p) : 1);
	if (config.clock_injected) {
		simulated_reason = reason;
		simulated_counter_id = decision_counter_id(d);
	}
	return reason;
}

SEC("xdp.frags")
int rlctl_xdp(struct xdp_md *ctx)
{
	struct decision *d = decision_begin(false);
	enum rl_reason reason;

	if (!d) /* cannot be */
		return XDP_DROP;
	reason = frame_decide(ctx, false, d, xdp_parse(ctx, &d->p));
	if (is_watched())
		xdp_watch(ctx, d, reason);
	if (ANSWERS && reason_answers(reason))
		return xdp_answer(ctx, d, reason);
	return reason_passes(reason) ? XDP_PASS : XDP_DROP;
}

/* A packet that passes goes on to the filters of others. */
SEC("tc")
int rlctl_tc(struct __sk_buff *skb)
{
	struct decision *d = decision_begin(true);
	enum rl_reason reason;

	if (!d) /* cannot be */
		return TC_ACT_SHOT;
	reason = frame_decide(skb, true, d, skb_parse(skb, &d->p));
	if (is_watched())
		skb_watch(skb, d, reason);
	if (!reason_passes(reason))
		return TC_ACT_SHOT;
	skb_mark(skb, d);
	if (config.frames_leave)
		skb_delay(skb, &d->p);
	return TC_ACT_UNSPEC;
}

/* Loaded for rlctl simulate, in the place of rlctl_xdp(), and never attached. Each packet of a
 * batch is a program run of its own, which begins the next one: there is no room for one more
 * function above those that decide. */
SEC("?xdp.frags")
int rlctl_simulate(struct xdp_md *ctx)
{
	struct rl_simulated_batch *batch = only(&simulated);
	struct rl_simulated *packet = simulated_begin(ctx, batch);
	struct decision *d = decision_begin(false);

	if (!packet || !d)
		return XDP_ABORTED;
	frame_decide(ctx, false, d, xdp_parse(ctx, &d->p));
	simulated_end(batch, packet);
	if (config.simulated_in_turn && batch->done < batch->count)
		bpf_tail_call(ctx, &simulate_again, 0);
	return XDP_DROP;
}

char LICENSE[] SEC("license") = "GPL";
