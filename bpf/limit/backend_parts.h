/* SPDX-License-Identifier: GPL-2.0-only */
/* Backend parts: the one bucket of a rule of which classes of senders have parts. With `keep`, the
 * last of it is for one class; with `share`, each class and each sender in it has a pace, which
 * follows from what comes: algorithm/share.h. Only with EXTENDED, and there only where the policy
 * has such a limit.
 *
 * Such a limit is asked after all others of the packet, and the sender's own bucket, or the bins of
 * a stranger, are charged then: senders.h; but see pattern_refusal.h. Arrivals are counted by each
 * CPU in lines of its own. The first packet after the end of a step sums them up, as it is with
 * alarms (alarm.h): it takes next_ns for ~0, which only one CPU can. Others go on meanwhile by the
 * numbers of the step before.
 *
 * Races: two CPUs that count in one bin at once may lose one of the counts.
 */
#pragma once

#include "algorithm/share_step.h"
#include "limit/counters.h"
#include "limit/outcome.h"
#include "limit/pace.h"
#include "limit/senders.h"
#include "limit/state.h"
#include "match/sets.h"

#if EXTENDED

static __always_inline bool parts_are_of(const struct rl_rule *rule)
{
	return config.shares_limits && rule->backend == RL_BACKEND_PARTS;
}

/* Those of all CPUs. */
static __always_inline struct rl_share_counts *share_counts_of(__u32 index)
{
	return bpf_map_lookup_elem(map_there(&share_counts), &index);
}

/* The sum of all CPUs' counts; what: a word of rl_share_counts. */
__noinline __u64 share_counted(__u32 index, __u32 what)
{
	struct rl_share_counts *counts = config.shares_limits ? share_counts_of(index) : NULL;
	__u64 sum = 0;

	if (!counts)
		return 0;
	what &= 2 * RL_SHARE_COUNTS - 1;
	for (__u32 cpu = 0; cpu < config.counters_cpus; cpu++)
		sum += READ_ONCE(((__u64 *)&counts[cpu])[what]);
	return sum;
}

/* The state of another limit, or of none, becomes this one's; its own goes on with new numbers. */
__noinline int share_begin(struct rl_shares *all, const struct rl_rule *rule)
{
	struct rl_share *s;

	if (!all || !rule)
		return 0;
	s = &all->share[rule->parts.index & (RL_SHARES_MAX - 1)];
	s->parts = rule->parts;
	s->generation = rule->generation;
	if (s->limit_id == rule->limit_id)
		return 0;
	s->limit_id = rule->limit_id;
	s->began_ns = clock_tick();
	s->busy_ns = 0;
	share_open(s, &rule->parts);
	WRITE_ONCE(all->next_ns, 0);
	return 0;
}

/* A packet is to look at the steps at once, whether one ends or not. */
static __always_inline void shares_wake(struct rl_shares *all)
{
	__u64 next_ns = READ_ONCE(all->next_ns);

	if (next_ns != ~0ull) /* a packet is at it */
		__sync_val_compare_and_swap(&all->next_ns, next_ns, 0);
}

/* Looks at a step early, or ends it, or both. Apart, so that the verifier follows its branches
 * once. */
__noinline int share_turn(struct rl_shares *all, __u32 index, __u64 now_ns)
{
	__u64 counted[2 * RL_SHARE_COUNTS];
	struct rl_share *s;

	if (!all)
		return 0;
	s = &all->share[index & (RL_SHARES_MAX - 1)];
	for (__u32 i = 0; i < 2 * RL_SHARE_COUNTS; i++)
		counted[i] = share_counted(index, i);
	if (s->early == RL_SHARE_LOOK)
		share_look_early(s, &s->parts, counted, counted + RL_SHARE_COUNTS);
	if (!share_step_ends(s, &s->parts, now_ns))
		return 0;
	if (share_end_step(s, &s->parts, counted, counted + RL_SHARE_COUNTS, s->began_ns, now_ns))
		WRITE_ONCE(all->uneasy_ns, now_ns + SHARE_BUSY_NS);
	s->began_ns = now_ns;
	if (s->busy_ns > READ_ONCE(all->busy_ns))
		WRITE_ONCE(all->busy_ns, s->busy_ns);
	return 0;
}

/* Ends the steps that are over; next_ns is ~0. */
__noinline int shares_turn(struct rl_shares *all, __u64 now_ns)
{
	__u64 next_ns = ~0ull;

	if (!all)
		return 0;
	for (__u32 i = 0; i < RL_SHARES_MAX; i++) {
		struct rl_share *s = &all->share[i];

		if (!s->limit_id || !s->parts.step_ns)
			continue;
		if (share_step_ends(s, &s->parts, now_ns) || s->early == RL_SHARE_LOOK)
			share_turn(all, i, now_ns);
		if (s->began_ns + s->parts.step_ns < next_ns)
			next_ns = s->began_ns + s->parts.step_ns;
	}
	__sync_lock_test_and_set(&all->next_ns, next_ns); /* a full barrier */
	return 0;
}

/* Before rules are asked: ends steps, and notes whether senders are to be asked for their class. */
static __always_inline void shares_look(struct packet *p)
{
	struct rl_shares *all = shares_there();
	__u64 now_ns = clock_tick(), next_ns;

	if (!all)
		return;
	p->facts.sender.limit_id = 0;
	next_ns = READ_ONCE(all->next_ns);
	if (now_ns >= next_ns && __sync_bool_compare_and_swap(&all->next_ns, next_ns, ~0ull))
		shares_turn(all, now_ns);
	p->facts.sender.busy = now_ns < READ_ONCE(all->busy_ns);
}

/* ---- the limit */

static __always_inline __u32 class_under(const struct packet *p, const struct rl_rule *rule,
					 const struct rl_share *s)
{
	if (clock_tick() >= READ_ONCE(s->busy_ns))
		return RL_SHARE_UNASKED;
	return rule->parts.classes ? sender_class(p) : RL_SHARE_KNOWN;
}

/* Is there room for the packet of an asked class? */
static __always_inline bool class_has_room(const struct packet *p, struct rl_shares *all,
					   struct rl_share *s, __u32 class, __u64 amount)
{
	struct rl_share_part *part = &s->part[class];

	if (share_has_room(s, part, &s->parts, amount, p->facts.sender.level, clock_tick()))
		return true;
	if (share_is_open(part) && s->early == RL_SHARE_UNLOOKED) {
		s->early = RL_SHARE_LOOK;
		shares_wake(all);
	}
	return false;
}

/* Is the packet in the sender's part? */
__noinline int share_admits(struct packet *p, const struct rl_rule *rule)
{
	struct rl_shares *all = shares_there();
	struct rl_share_counts *counts;
	struct rl_share *s;
	__u64 amount;
	int admits = 1;
	__u32 class;

	if (!p || !rule || !all)
		return 0;
	if (p->facts.sender.limit_id == rule->limit_id)
		return p->facts.sender.admitted;
	counts = share_counts_of(rule->parts.index);
	if (!counts)
		return 0;
	counts += counters_cpu();
	s = &all->share[rule->parts.index & (RL_SHARES_MAX - 1)];
	if (s->generation != rule->generation || s->limit_id != rule->limit_id)
		share_begin(all, rule);
	amount = limit_amount(p, rule);
	class = class_under(p, rule, s);
	p->facts.sender.level = 0;
	counts->arrived[class] += amount;
	if (class == RL_SHARE_STRANGER) {
		stranger_draw(p, counts->arrived[class]);
		admits = stranger_takes(p, rule, all);
	} else if (class < RL_SHARE_STRANGER)
		admits = sender_takes(p, rule, s, &s->part[class & 1]);
	if (admits) {
		counts->admitted[class] += amount;
		if (class < RL_SHARE_CLASSES)
			admits = class_has_room(p, all, s, class, amount);
	}
	p->facts.sender.limit_id = rule->limit_id;
	p->facts.sender.admitted = admits;
	return admits;
}

/* For a second from now on. Not written by each packet. */
static __always_inline void share_until(__u64 *until_ns, __u64 now_ns)
{
	if (READ_ONCE(*until_ns) < now_ns + SHARE_BUSY_NS / 2)
		WRITE_ONCE(*until_ns, now_ns + SHARE_BUSY_NS);
}

/* How much of the bucket is not for this packet. */
__noinline __u64 parts_reserve(struct packet *p, const struct rl_rule *rule)
{
	struct rl_shares *all = shares_there();
	__u64 now_ns = clock_tick();

	if (!p || !rule || !all)
		return 0;
	if (rule->parts.keep_for == RL_KEEP_KNOWN) {
		if (source_is_known(p))
			return 0;
		if (rule->parts.drops)
			share_until(&all->uneasy_ns, now_ns);
	}
	if (rule->parts.keep_for == RL_KEEP_ESTABLISHED) {
		/* From now on sockets are looked up: nothing was asked of this one. */
		share_until(&all->busy_ns, now_ns);
		if (p->proof < PROOF_STRANGER || p->proof == PROOF_ESTABLISHED)
			return 0;
	}
	if (config.walks_sets && rule->parts.keep_for >= RL_KEEP_SET) {
		const struct facts *fact = &p->facts;
		__u64 sets = config.goes_by_dest ? fact->dst_sets : fact->src_sets;

		if (sets >> (rule->parts.keep_for - RL_KEEP_SET) & 1)
			return 0;
	}
	return rule->parts.reserve;
}

static __always_inline bool parts_share(const struct rl_rule *rule)
{
	return rule->parts.step_ns;
}

/* Has the bucket room for it, besides what is kept from the packet? */
static __always_inline bool parts_has(struct packet *p, const struct rl_rule *rule, __u64 word,
				      __u64 now, __u64 amount)
{
	struct rl_gcra part = rule->gcra;
	__u64 next;

	if (!gcra_admits(&part, word, now, amount, &next))
		return false;
	if (!rule->parts.reserve || next - now <= part.capacity - rule->parts.reserve)
		return true;
	return !parts_reserve(p, rule);
}

__noinline int parts_bucket_admits(struct packet *p, const struct rl_rule *rule)
{
	struct rl_state *state;
	__u64 now;

	if (!p || !rule)
		return 0;
	state = shared_find(rule);
	if (!state)
		return 0;
	now = gcra_now(clock_of(p, rule));
	gcra_settle(&rule->gcra, &state->word, now);
	return parts_has(p, rule, READ_ONCE(state->word), now, limit_amount(p, rule));
}

static __always_inline bool parts_admits(struct packet *p, const struct rl_rule *rule)
{
	return (!parts_share(rule) || share_admits(p, rule)) && parts_bucket_admits(p, rule);
}

/* Counts a packet that passes the limit. */
__noinline int share_count(struct packet *p, const struct rl_rule *rule, __u64 amount)
{
	struct rl_shares *all = shares_there();
	struct rl_share_counts *counts;

	if (!p || !rule || !all)
		return 0;
	counts = share_counts_of(rule->parts.index);
	if (counts)
		counts[counters_cpu()].passed[class_under(
			p, rule, &all->share[rule->parts.index & (RL_SHARES_MAX - 1)])] += amount;
	return 0;
}

/* Charges the bucket. enum outcome. */
__noinline int parts_consume(struct packet *p, const struct rl_rule *rule)
{
	struct rl_state *state;
	__u64 amount;

	if (!p || !rule)
		return OUTCOME_NO_ROOM;
	state = shared_find(rule);
	amount = limit_amount(p, rule);
	if (!state || !bucket_consume(p, rule, &state->word, gcra_now(clock_of(p, rule)), amount))
		return OUTCOME_OVER;
	if (parts_share(rule))
		share_count(p, rule, amount);
	return OUTCOME_WITHIN;
}

#else

static __always_inline bool parts_are_of(const struct rl_rule *rule)
{
	return false;
}

static __always_inline bool parts_admits(struct packet *p, const struct rl_rule *rule)
{
	return false;
}

static __always_inline int parts_consume(struct packet *p, const struct rl_rule *rule)
{
	return OUTCOME_NO_ROOM;
}

#endif
