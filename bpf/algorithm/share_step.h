/* SPDX-License-Identifier: GPL-2.0-only */
/* The end of a step of a limit with `share`: what each class has room for, and its senders' pace,
 * by what came and what was admitted. See share.h. Pure; also compiled into tests.
 */
#pragma once

#include "algorithm/share.h"

/* senders: at least, << SHARE_SENDERS_SHIFT. Their bursts together are what the class has room for
 * in some steps: the depth does not follow the pace, which would swing then. It is small at first,
 * when all may send at once, and grows no faster than the class is refilled. */
static __always_inline void share_pace_set(struct rl_share_part *part, const struct rl_parts *n,
					   __u64 pace, __u64 senders)
{
	__u64 full = (__u64)n->packet << RL_SHARE_SHIFT;
	__u64 steps = SHARE_BURST_FIRST + part->turns / 16;
	__u64 burst = (part->room << SHARE_SENDERS_SHIFT) / senders * steps;

	burst = burst > SHARE_BURST_LEAST * full ? burst : SHARE_BURST_LEAST * full;
	burst = burst < SHARE_BURST * full ? burst : SHARE_BURST * full;
	part->depth = burst + pace;
	WRITE_ONCE(part->pace, pace);
}

/* Weighted water-filling: who asks for less than its part leaves the rest to the others. */
static __always_inline void share_fill(struct rl_share *s, const struct rl_parts *n)
{
	__u64 left = n->room, all = 0, weights = 100;
	__u32 filled = 0;

	for (int turn = 0; turn < RL_SHARE_CLASSES; turn++)
		for (int i = 0; i < RL_SHARE_CLASSES; i++) {
			__u64 demand = s->part[i].demand;

			if (filled & 1u << i || !weights || demand > left * n->weight[i] / weights)
				continue;
			filled |= 1u << i;
			left -= demand;
			weights -= n->weight[i];
			all += demand;
		}
	for (int i = 0; i < RL_SHARE_CLASSES; i++) {
		__u64 demand = s->part[i].demand, own = n->room * n->weight[i] / 100, room;

		if (weights && !(filled & 1u << i))
			room = left * n->weight[i] / weights;
		else
			room = weights ? demand : n->room - (all - demand);
		s->part[i].room = room > own ? room : own;
	}
}

/* Follows a rise at once, and noise slowly. */
static __always_inline __u64 share_average(__u64 average, __u64 value)
{
	return value > 2 * average ? value : average - average / 8 + value / 8;
}

/* The pace is the room over the senders that it holds, and these are what was admitted over the
 * last pace: averaged, for arrivals are noise, over fewer steps in the first ones of a flood and
 * where much of the room is left, and over more where a sender's packets are some steps apart. All
 * that sent are held at first, and never more of them: what they send at once would seem to be
 * many. */
static __always_inline __u64 share_held(struct rl_share_part *part, __u64 admitted, __u64 held,
					__u64 full)
{
	__u64 turns = part->turns, over = full / (part->pace + 1);

	if (share_is_open(part)) {
		part->turns = 0;
		return part->held - part->held / 8;
	}
	part->turns += turns < SHARE_TURNS;
	if (!turns)
		return ~0ull;
	if (held > 2 * part->held)
		return held;
	if (over > 16)
		over = 16;
	else if (over < 8)
		over = turns < SHARE_TURNS_FEW || admitted < part->room - part->room / 4 ? 4 : 8;
	return part->held - part->held / over + held / over;
}

/* As senders are held, but bins that fill for the first time seem to be many. */
static __always_inline __u64 share_bins_held(const struct rl_share_part *part, __u64 held,
					     __u64 most)
{
	if (part->held < most / 4)
		most = 4 * part->held;
	held = held < most ? held : most;
	if (share_is_open(part))
		held = 0;
	return part->held - part->held / 8 + held / 8;
}

/* senders: of which there may be two times as many, where they are bins or too many to count. */
static __always_inline void share_follow(struct rl_share_part *part, const struct rl_parts *n,
					 __u64 admitted, __u64 senders, bool bins)
{
	__u64 held = (admitted << SHARE_SENDERS_SHIFT) / (part->pace ? part->pace : 1);
	__u64 most = bins || senders > SHARE_SENDERS_SURE ? 2 * senders : senders;

	held = held < most ? held : most;
	held = bins ? share_bins_held(part, held, most)
		    : share_held(part, admitted, held, (__u64)n->packet << RL_SHARE_SHIFT);
	part->held = held < most ? held : most;
	if (part->held < 1 << SHARE_SENDERS_SHIFT)
		part->held = 1 << SHARE_SENDERS_SHIFT;
	share_pace_set(part, n, (part->room << SHARE_SENDERS_SHIFT) / part->held + 1, senders);
}

static __always_inline __u64 share_senders(const struct rl_share_part *part, int class)
{
	const __u64 one = 1 << SHARE_SENDERS_SHIFT;
	__u64 most = part->senders > part->senders_now ? part->senders : part->senders_now;

	if (class == RL_SHARE_STRANGER)
		return RL_BINS_PATTERN * one;
	return most > one ? most : one;
}

/* Nothing is short: all classes are open. */
static __always_inline void share_open(struct rl_share *s, const struct rl_parts *n)
{
	for (int i = 0; i < RL_SHARE_CLASSES; i++) {
		s->part[i].demand = 0;
		s->part[i].room = n->room;
		share_pace_set(&s->part[i], n, n->room, 1 << SHARE_SENDERS_SHIFT);
	}
}

/* Begins the count of senders anew. */
static __always_inline void share_seen_turn(struct rl_share *s, __u64 now_ns)
{
	if (now_ns - s->seen_ns < SHARE_SEEN_NS)
		return;
	s->seen_ns = now_ns;
	for (int i = 0; i < RL_SHARE_STRANGER; i++) {
		s->part[i].senders = s->part[i].senders_now;
		s->part[i].senders_now = 0;
		s->part[i].seen_count = 0;
		__builtin_memset(s->part[i].seen, 0, sizeof(s->part[i].seen));
	}
}

/* Counts of a limit that had the place before may be higher. */
static __always_inline __u64 share_since(__u64 counted, __u64 before)
{
	return counted > before ? counted - before : 0;
}

/* Has the step ended? Not if another CPU, whose tick is ahead, has just begun it. */
static __always_inline bool share_step_ends(const struct rl_share *s, const struct rl_parts *n,
					    __u64 now_ns)
{
	return (__s64)(now_ns - s->began_ns) >= (__s64)n->step_ns;
}

/* Before the step ends: of a class that was open, more has come already than it has room for, so
 * its senders are held from now on. A flood does not have a step to itself. */
static __always_inline void share_look_early(struct rl_share *s, const struct rl_parts *n,
					     const __u64 arrived[RL_SHARE_COUNTS],
					     const __u64 admitted[RL_SHARE_COUNTS])
{
	__u32 closes = 0;

	s->early = RL_SHARE_LOOKED;
	for (int i = 0; i < RL_SHARE_CLASSES; i++) {
		struct rl_share_part *part = &s->part[i];
		__u64 came = share_since(arrived[i], s->arrived[i]) << RL_SHARE_SHIFT;

		if (!share_is_open(part) || came <= part->room)
			continue;
		part->demand = came;
		s->admitted[i] = admitted[i]; /* what its senders are held to counts from now on */
		closes |= 1u << i;
	}
	if (closes)
		share_fill(s, n);
	for (int i = 0; i < RL_SHARE_CLASSES; i++)
		if (closes & 1u << i)
			share_follow(&s->part[i], n, s->part[i].demand,
				     share_senders(&s->part[i], i), i == RL_SHARE_STRANGER);
}

/* Ends the step, and those after it that have ended by now_ns. arrived, admitted: totals. Returns
 * whether known senders or strangers lost packets, which sources that are new now pay for. */
static __always_inline bool share_end_step(struct rl_share *s, const struct rl_parts *n,
					   const __u64 arrived[RL_SHARE_COUNTS],
					   const __u64 admitted[RL_SHARE_COUNTS], __u64 began_ns,
					   __u64 now_ns)
{
	__u64 steps = (now_ns - began_ns) / n->step_ns, total = 0, came, went;
	bool loses = false;

	steps = steps ? steps : 1;
	s->step += steps;
	s->early = RL_SHARE_UNLOOKED;
	for (int i = 0; i < RL_SHARE_COUNTS; i++)
		total += share_since(arrived[i], s->arrived[i]);
	if ((total << RL_SHARE_SHIFT) / steps > n->room - n->room / 8)
		s->busy_ns = now_ns + SHARE_BUSY_NS;
	for (int i = 0; i < RL_SHARE_CLASSES; i++) {
		came = (share_since(arrived[i], s->arrived[i]) << RL_SHARE_SHIFT) / steps;
		s->part[i].clock += s->part[i].pace * steps;
		s->part[i].demand =
			share_average(share_decayed(s->part[i].demand, steps - 1), came);
		share_refill(&s->part[i], steps);
	}
	if (now_ns >= s->busy_ns)
		share_open(s, n);
	else
		share_fill(s, n);
	for (int i = 0; i < RL_SHARE_CLASSES && now_ns < s->busy_ns; i++) {
		came = share_since(arrived[i], s->arrived[i]);
		went = share_since(admitted[i], s->admitted[i]);
		share_follow(&s->part[i], n, (went << RL_SHARE_SHIFT) / steps,
			     share_senders(&s->part[i], i), i == RL_SHARE_STRANGER);
		if (i != RL_SHARE_ESTABLISHED && n->classes && n->drops && came > went + came / 32)
			loses = true;
	}
	share_seen_turn(s, now_ns);
	__builtin_memcpy(s->arrived, arrived, sizeof(s->arrived));
	__builtin_memcpy(s->admitted, admitted, sizeof(s->admitted));
	return loses;
}
