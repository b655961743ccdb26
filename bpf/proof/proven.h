/* SPDX-License-Identifier: GPL-2.0-only */
/* The second pass for policies of RL_USE_EXTENDED: reclassifies a packet once its proof is known,
 * and decides on one that is over a limit: it is spared, answered or dropped. Only with EXTENDED.
 */
#pragma once

#include "answer/challenge.h"
#include "limit/commit.h"
#include "proof/proof.h"
#include "answer/truncate.h"

static __always_inline bool is_established(void *ctx, bool skb, struct packet *p)
{
	if (p->proof < PROOF_STRANGER)
		p->proof = skb ? skb_proof(ctx, p) : xdp_proof(ctx, p);
	return p->proof == PROOF_ESTABLISHED;
}

/* Does the limit spare the packet? One on connections spares what is closed, too, which opens
 * nothing, and asks of an address that the filter of peers does not have any more. */
static __always_inline bool is_spared(void *ctx, bool skb, struct packet *p,
				      const struct rl_rule *rule)
{
	if (!(rule->flags & RL_RULE_UNLESS))
		return false;
	if (connections_are_of(rule) && p->proof == PROOF_STRANGER)
		p->proof = PROOF_WANTED;
	return is_established(ctx, skb, p) ||
	       (connections_are_of(rule) && p->proof == PROOF_CLOSED);
}

/* A packet that passes: notes that its peer sent first, unless this machine did. */
static __always_inline int they_began_note(void *ctx, bool skb, struct packet *p)
{
	if (!p || p->proto != IPPROTO_UDP || !(p->flags & PACKET_PORTS))
		return 0;
	if (p->proof < PROOF_NONE && asked_settled(p))
		return 0;
	if (p->proof == PROOF_STRANGER)
		p->proof = PROOF_WANTED; /* is a socket bound? */
	is_established(ctx, skb, p);
	if (p->proof == PROOF_BOUND)
		asked_they_began(p);
	return 0;
}

__noinline int xdp_they_began(struct xdp_md *ctx, struct packet *p)
{
	return they_began_note(ctx, false, p);
}

__noinline int skb_they_began(struct __sk_buff *skb, struct packet *p)
{
	return they_began_note(skb, true, p);
}

/* As before it was classified. */
static __always_inline void decision_again(struct decision *d)
{
	d->p.cacheable = 0;
	d->limits = 0;
	d->shadowed = 0;
	d->decided = 0;
	d->counted = 0;
}

/* A limit has refused the packet: do all others admit it, but those over which it may pass? */
static __always_inline int others_peek(struct decision *d, __u32 passing)
{
	d->unasked = limits_bits(d);
	d->uncharged = limits_bits(d);
	return limits_peek_passing(d, passing);
}

/* They do: charges every limit except those that the packet may exceed. */
static __always_inline enum rl_reason others_commit(struct decision *d, __u32 passing,
						    enum rl_reason reason)
{
	int outcome;

	d->shadowed = 0;
	d->decided = 0;
	outcome = limits_commit_passing(d, passing);
	if (outcome != OUTCOME_WITHIN)
		return limits_reason(limits_refused(d, outcome), 0);
	return d->shadowed ? reason : RL_REASON_WITHIN;
}

/* An established packet that a limit has refused which spares such: all other limits hold it. */
static __always_inline enum rl_reason spared_decide(struct decision *d)
{
	int outcome = others_peek(d, FLAGS_SPARING);

	if (outcome != OUTCOME_WITHIN)
		return limits_reason(limits_refused(d, outcome), 0);
	return others_commit(d, FLAGS_SPARING, RL_REASON_ESTABLISHED);
}

/* A packet that a limit has refused which challenges. An answer costs no limit anything. */
static __always_inline enum rl_reason challenge_decide(struct xdp_md *ctx, struct decision *d)
{
	int outcome;

	if (!(d->p.flags & PACKET_SYN))
		return RL_REASON_OVER;
	outcome = others_peek(d, FLAGS_CHALLENGING);
	if (outcome != OUTCOME_WITHIN)
		return limits_reason(limits_refused(d, outcome), 0);
	switch (challenge(ctx, &d->p)) {
	case CHALLENGE_ANSWERED:
		return RL_REASON_CHALLENGED;
	case CHALLENGE_PASSES:
		return others_commit(d, FLAGS_CHALLENGING, RL_REASON_SHADOW);
	}
	return RL_REASON_OVER;
}

/* A packet that a limit has refused which truncates. An answer costs no limit anything. */
static __always_inline enum rl_reason truncate_decide(struct xdp_md *ctx, struct decision *d)
{
	int outcome = others_peek(d, FLAGS_TRUNCATING);
	struct rl_rule *rule = matched_rule(d, READ_ONCE(d->current));

	if (outcome == OUTCOME_OVER && rule && rule->flags & RL_RULE_UNLESS &&
	    is_established(ctx, false, &d->p))
		outcome = others_peek(d, FLAGS_TRUNCATING | RL_RULE_UNLESS);
	if (outcome != OUTCOME_WITHIN)
		return limits_reason(limits_refused(d, outcome), 0);
	return query_find(ctx, &d->p) && answer_take(&d->p) ? RL_REASON_TRUNCATED : RL_REASON_OVER;
}

/* The packet is over the limit of d->current. */
static __always_inline enum rl_reason over_decide(void *ctx, bool skb, struct decision *d)
{
	struct rl_rule *rule = matched_rule(d, READ_ONCE(d->current));
	enum rl_reason reason = RL_REASON_OVER;

	if (rule && is_spared(ctx, skb, &d->p, rule)) {
		reason = spared_decide(d);
		rule = matched_rule(d, READ_ONCE(d->current));
	}
	if (!ANSWERS || reason != RL_REASON_OVER || skb || !rule)
		return reason;
	if (config.challenges && rule->flags & RL_RULE_CHALLENGE)
		return challenge_decide(ctx, d);
	if (config.truncates && rule->flags & RL_RULE_TRUNCATE)
		return truncate_decide(ctx, d);
	return RL_REASON_OVER;
}

/* Sends what over_decide has decided. XDP_TX, or XDP_DROP where no answer could be made. */
__noinline int xdp_answer(struct xdp_md *ctx, struct decision *d, int reason)
{
	if (d && config.challenges && reason == RL_REASON_CHALLENGED)
		return challenge_answer(ctx, &d->p) ? XDP_TX : XDP_DROP;
	if (d && config.truncates && reason == RL_REASON_TRUNCATED)
		return query_truncate(ctx, &d->p) ? XDP_TX : XDP_DROP;
	return XDP_DROP;
}
