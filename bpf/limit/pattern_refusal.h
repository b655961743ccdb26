/* SPDX-License-Identifier: GPL-2.0-only */
/* Refusals by pattern, under a limit that senders share and every packet meets, or every packet of
 * a new source. Most packets of a flood are strangers' whose pattern is far over its pace; they are
 * refused before a prefix, a rule or a state is looked up.
 *
 * The limit would refuse them, too, when it is asked in its turn, after all others. Packets that
 * the bin of the pattern counts (bin_sampling()), and those that the draw may admit, go that way:
 * so what other limits refuse is in no bin, as everywhere. Only arrivals count here.
 *
 * The limit is chosen when a policy is compiled (refusals.c: group_refuses); as with
 * shared_refusal.h, there is none where another rule could let packets of any address pass or begin
 * a ban, and where a prefix allows, only packets of addresses around which no prefix lies.
 */
#pragma once

#include "limit/backend_parts.h"
#include "match/classify.h"

#if EXTENDED

/* Apart, for the program's own frame has no room for it. */
__noinline int pattern_refuses(struct decision *d, const struct rl_policy_header *header)
{
	struct rl_shares *all = shares_there();
	struct rl_share_counts *counts;
	struct rl_share *s;
	struct rl_rule *rule;
	__u64 amount;
	__u32 bin;

	if (!d || !header || !all)
		return 0;
	rule = rule_at(header->patterns_of);
	counts = rule ? share_counts_of(rule->parts.index) : NULL;
	if (!counts)
		return 0;
	s = &all->share[rule->parts.index & (RL_SHARES_MAX - 1)];
	if (s->generation != rule->generation || clock_tick() >= READ_ONCE(s->busy_ns))
		return 0;
	counts += counters_cpu();
	amount = limit_amount(&d->p, rule);
	stranger_draw(&d->p, counts->arrived[RL_SHARE_STRANGER] + amount);
	bin = stranger_bin(&d->p, rule, RL_ROW_PATTERN) & (RL_BINS - 1);
	if (!share_refuses_uncounted(&d->p.facts.sender.draw, &all->bins[bin], s, &s->parts,
				     clock_tick()))
		return 0;
	if ((header->uses & RL_USE_ALLOWS && prefix_may(&d->p, header)) || !is_new_source(&d->p))
		return 0;
	counts->arrived[RL_SHARE_STRANGER] += amount;
	d->counter_id = rule->counter_id;
	return 1;
}

/* With shares_limits. Then d->counter_id is the rule's. */
static __always_inline bool refused_by_pattern(struct decision *d,
					       const struct rl_policy_header *header)
{
	const __u64 asked = RL_USE_PATTERNS | RL_USE_ALLOWS_ANY | RL_USE_BANS;

	return (header->uses & asked) == RL_USE_PATTERNS && d->p.facts.sender.busy &&
	       d->p.proof >= PROOF_STRANGER && d->p.proof != PROOF_ESTABLISHED &&
	       pattern_refuses(d, header);
}

#endif
