/* SPDX-License-Identifier: GPL-2.0-only */
/* At egress a leaky bucket is a queue: a packet that it admits leaves when what stood in the bucket
 * before it has leaked. The qdisc fq keeps it until then (earliest departure time: C. Sanghi et
 * al., Carousel, SIGCOMM 2017; Linux commit 80b14dee2bea). A bucket whose consequence drops nothing
 * holds nothing up either.
 */
#pragma once

#include "algorithm/gcra.h"
#include "packet/packet.h"

/* Under several buckets the latest departure counts. */
static __always_inline void packet_hold(struct packet *p, const struct rl_rule *rule, __u64 level)
{
	if (config.frames_leave && level > p->wait && rule->limit.algorithm == RL_LEAKY_BUCKET &&
	    !(rule->flags & RL_RULE_SHADOW))
		p->wait = level;
}

/* Consumes from the bucket of this word; p->receipt is what is to be given back. Apart, as is
 * whatever tries repeatedly: the verifier goes through all the tries, here once, else for all that
 * call. */
__noinline int bucket_consume(struct packet *p, const struct rl_rule *rule, __u64 *word, __u64 now,
			      __u64 amount)
{
	__u64 level;

	if (!p || !rule || !word)
		return false;
	if (!gcra_queue(&rule->gcra, word, now, amount, &p->receipt.grains, &level))
		return false;
	packet_hold(p, rule, level);
	return true;
}
