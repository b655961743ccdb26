/* SPDX-License-Identifier: GPL-2.0-only */
/* Alarms: counts a packet for those whose rule holds, before anything is decided, and says which
 * are on (packet.facts.alarms), which rules with `while` ask for. When an alarm goes on and off:
 * algorithm/alarm.h. Only with EXTENDED, and there only where the policy has one.
 *
 * Each CPU counts in lines of its own. The first packet after the end of a tenth sums them up and
 * moves the alarms on, before it is counted itself: it takes next_ns for ~0, which only one CPU
 * can, and no other packet touches the states before it has written the next instant.
 *
 * A CPU looks once in a tick which are on: nothing changes within one, for a tenth is longer.
 *
 * Race: a packet that another CPU is at in that moment sees the alarms as they were, as do others
 * of that CPU until its next tick, and counts for the tenth that has ended or for the next one.
 */
#pragma once

#include "algorithm/alarm.h"
#include "algorithm/once.h"
#include "limit/counters.h"
#include "match/group.h"

#if EXTENDED

/* Those of all CPUs. */
static __always_inline struct rl_alarm_counts *alarm_counts_of(__u32 half)
{
	void *inner = bpf_map_lookup_elem(&alarm_counts, &half);

	return inner ? only(inner) : NULL;
}

/* The sum of all CPUs' counts of it. */
__noinline __u64 alarm_counted(__u32 half, __u32 alarm)
{
	struct rl_alarm_counts *counts = alarm_counts_of(half);
	__u64 sum = 0;

	if (!config.counts_alarms || !counts)
		return 0;
	alarm &= RL_ALARMS_MAX - 1;
	for (__u32 cpu = 0; cpu < config.counters_cpus; cpu++)
		sum += READ_ONCE(counts[cpu].count[alarm]);
	return sum;
}

/* Apart, so that the verifier follows its branches once. */
__noinline int alarm_move(struct rl_alarm *alarm, __u64 now_ns, __u64 counted)
{
	if (alarm)
		alarm_advance(&alarm->state, alarm, now_ns, counted);
	return 0;
}

/* Moves on those whose tenth has ended; next_ns is ~0. */
__noinline int alarms_move(struct rl_alarms *all, __u32 half, __u64 now_ns, __u32 guards)
{
	__u64 next_ns = ~0ull, uneasy_ns = 0;
	__u32 on = 0;

	if (!all)
		return 0;
	for (__u32 i = 0; i < RL_ALARMS_MAX && i < all->count; i++) {
		struct rl_alarm *alarm = &all->alarm[i];
		__u64 end_ns;

		if (!alarm->state.tenth_began_ns || now_ns >= alarm_next(&alarm->state, alarm))
			alarm_move(alarm, now_ns, alarm_counted(half, i));
		end_ns = alarm_next(&alarm->state, alarm);
		next_ns = end_ns < next_ns ? end_ns : next_ns;
		on |= (alarm->state.on & 1) << i;
		if (guards >> i & 1 && alarm_is_uneasy(&alarm->state) && end_ns > uneasy_ns)
			uneasy_ns = end_ns;
	}
	if (uneasy_ns)
		WRITE_ONCE(all->uneasy_ns, uneasy_ns);
	WRITE_ONCE(all->on, on);
	__sync_lock_test_and_set(&all->next_ns, next_ns); /* a full barrier */
	return 0;
}

static __always_inline __u32 alarms_now(__u32 half, __u32 guards)
{
	__u64 next_ns, now_ns = clock_tick();
	struct rl_alarms *all = alarms_of(half);

	if (!all)
		return 0;
	next_ns = READ_ONCE(all->next_ns);
	if (now_ns >= next_ns && __sync_bool_compare_and_swap(&all->next_ns, next_ns, ~0ull))
		alarms_move(all, half, now_ns, guards);
	return READ_ONCE(all->on);
}

/* Moves on the alarms of the policy and finds which are on. */
__noinline int alarms_look_anew(struct decision *d, const struct rl_policy_header *header)
{
	if (!d || !header)
		return 0;
	d->alarms_on = alarms_now(header->half, header->guards);
	d->alarms_ns = clock_tick();
	d->alarms_generation = header->generation;
	return 0;
}

static __always_inline void alarms_look(struct decision *d, const struct rl_policy_header *header)
{
	if (d->alarms_ns != clock_tick() || d->alarms_generation != header->generation)
		alarms_look_anew(d, header);
	d->p.facts.half = header->half;
	d->p.facts.ripens_ms = header->ripens_ms;
	d->p.facts.alarms = d->alarms_on;
}

/* Most alarms are of a protocol and its ports. */
static __always_inline bool alarm_holds(struct packet *p, const struct rl_rule *rule)
{
	const __u32 plain = RL_MATCH_PROTO | RL_MATCH_SPORT | RL_MATCH_DPORT;
	const struct rl_match *m = &rule->match;

	if (m->flags & ~plain || m->negated || rule->extra)
		return rule_holds(p, rule);
	if (m->flags & RL_MATCH_PROTO && p->proto != m->proto)
		return false;
	return !(m->flags & (RL_MATCH_SPORT | RL_MATCH_DPORT)) || ports_match(p, m, m->flags);
}

/* Counts the packet for those alarms whose rule holds and for which it was not counted: their bits
 * are d->alarmed. */
__noinline int alarms_count(struct decision *d, const struct rl_policy_header *header)
{
	struct rl_alarm_counts *counts;

	if (!config.counts_alarms || !d || !header)
		return 0;
	counts = alarm_counts_of(header->half);
	if (!counts)
		return 0;
	counts += counters_cpu();
	for (__u32 i = 0; i < RL_ALARMS_MAX && i < header->alarms.count; i++) {
		struct rl_rule *rule = rule_at(header->alarms.first + i);

		if (!rule || READ_ONCE(d->alarmed) & 1u << i || !alarm_holds(&d->p, rule))
			continue;
		d->alarmed |= 1u << i;
		counts->count[i] += rule->flags & RL_RULE_BYTES ? d->p.bytes : packet_count(&d->p);
	}
	return 0;
}

#endif
