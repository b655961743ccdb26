/* SPDX-License-Identifier: GPL-2.0-only */
/* A limit that every packet meets, or every packet of a new source, and that senders share: most of
 * a flood are packets of strangers whose pattern is far over its pace, and are refused before a
 * prefix, a rule or a state is looked up. The limit gives them the same answer when it is asked in
 * its turn, after all others: those that the bin of the pattern counts, by bin_sampling(),
 * and all for which the source's draw does not settle it, go that way. So what other limits
 * refuse does not count here, as everywhere.
 *
 * Which limit it is is decided when a policy is compiled (refusals.c: group_refuses); as with
 * shared_refusal.h, none where another rule could let packets of any address pass or begin a ban,
 * and where a prefix allows, only packets of addresses around which no prefix lies.
 */
#pragma once

#include "limit/backend_parts.h"
#include "match/classify.h"

#if EXTENDED

/* Then d->counter_id is the rule's. */
static __always_inline bool refused_by_pattern(struct decision *d,
					       const struct rl_policy_header *header)
{
	struct rl_shares *all = shares_there();
	struct rl_share_counts *counts;
	struct packet *p = &d->p;
	struct rl_share *s;
	struct rl_rule *rule;
	__u64 amount;

	if (!all || !(header->uses & RL_USE_PATTERNS) || !p->facts.sender.busy ||
	    header->uses & (RL_USE_ALLOWS_ANY | RL_USE_BANS))
		return false;
	if (p->proof < PROOF_STRANGER || p->proof == PROOF_ESTABLISHED)
		return false;
	rule = rule_at(header->patterns_of);
	counts = rule ? share_counts_of(rule->parts.index) : NULL;
	if (!counts)
		return false;
	s = &all->share[rule->parts.index & (RL_SHARES_MAX - 1)];
	if (s->generation != rule->generation || clock_tick() >= READ_ONCE(s->busy_ns))
		return false;
	counts += counters_cpu();
	amount = limit_amount(p, rule);
	stranger_draw(p, counts->arrived[RL_SHARE_STRANGER] + amount);
	if (!share_refuses_uncounted(
		    &p->facts.sender.draw,
		    &all->bins[stranger_bin(p, rule, RL_ROW_PATTERN) & (RL_BINS - 1)], s, &s->parts,
		    clock_tick()))
		return false;
	if ((header->uses & RL_USE_ALLOWS && prefix_may(p, header)) || !is_new_source(p))
		return false;
	counts->arrived[RL_SHARE_STRANGER] += amount;
	d->counter_id = rule->counter_id;
	return true;
}

#else

static __always_inline bool refused_by_pattern(struct decision *d,
					       const struct rl_policy_header *header)
{
	return false;
}

#endif
