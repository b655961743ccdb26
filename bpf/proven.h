/* SPDX-License-Identifier: GPL-2.0-only */
/* What a policy of RL_USE_PROGRAM decides beside the others: it classifies a packet anew when it is
 * known whether that is established, and asks what becomes of one that is over a limit. Only in
 * rlctl_proof.bpf.c.
 */
#ifndef RLCTL_BPF_PROVEN_H
#define RLCTL_BPF_PROVEN_H

#include "answer.h"
#include "commit.h"
#include "proof.h"

static __always_inline bool is_established(void *ctx, bool skb, struct packet *p)
{
	if (p->proof < PROOF_NONE)
		p->proof = skb ? skb_proof(ctx, p) : xdp_proof(ctx, p);
	return p->proof == PROOF_ESTABLISHED;
}

/* A packet that passes: notes that its peer sent first, unless this machine did. */
static __always_inline int they_began_note(void *ctx, bool skb, struct packet *p)
{
	if (!p || p->proto != IPPROTO_UDP || !(p->flags & PACKET_PORTS))
		return 0;
	if (p->proof < PROOF_NONE && asked_settled(p))
		return 0;
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
	d->second = 0;
	d->matched = 0;
	d->shadowed = 0;
	d->decided = 0;
	d->counted = 0;
}

/* An established packet that a limit has refused which spares such: all other limits hold it. The
 * one that refused costs it nothing. */
static __always_inline enum rl_reason spared_decide(struct decision *d)
{
	int outcome;

	d->unasked = d->matched;
	d->uncharged = d->matched;
	d->shadowed = 0;
	d->decided = 0;
	outcome = limits_apply_sparing(d);
	if (outcome != OUTCOME_WITHIN)
		return limits_reason(limits_refused(d, outcome), 0);
	return d->shadowed ? RL_REASON_ESTABLISHED : RL_REASON_WITHIN;
}

/* The packet is over the limit of d->asked. */
static __always_inline enum rl_reason over_decide(void *ctx, bool skb, struct decision *d)
{
	struct rl_rule *rule = matched_rule(d, READ_ONCE(d->asked));

	if (!rule)
		return RL_REASON_OVER;
	if (rule->flags & RL_RULE_UNLESS && is_established(ctx, skb, &d->p))
		return spared_decide(d);
	return RL_REASON_OVER;
}

/* What over_decide has decided to answer. XDP_TX, or XDP_DROP where no answer could be made. */
__noinline int xdp_answer(struct xdp_md *ctx, struct decision *d, int reason)
{
	return XDP_DROP;
}

#endif
